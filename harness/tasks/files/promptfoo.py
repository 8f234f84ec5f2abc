"""The tests of a promptfoo configuration, as rows of tasks (its format since version 0.100).

Prompts are templates; every prompt is asked with the variables of every test. Those assertions are
read that decide by text or JSON; one that runs code or asks a model is refused by name, since a
suite without it would be easier than the one that it claims to be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, inside, listing, mapping, read_foreign, read_yaml, string

Row = dict[str, Any]


def promptfoo_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """(number, fields of a task) of every prompt with every test.

    Raises:
        BadInput: if prompts or tests are none, or an assertion cannot be read.
    """
    from harness.tasks.bounded import workers

    document = mapping(read_yaml(path))
    usual = mapping(document.get("defaultTest"))
    prompts = [_template(path, prompt) for prompt in listing(document.get("prompts"))]
    listed = document.get("tests")
    entries = [listed] if isinstance(listed, str) else listing(listed)
    tests = [test for entry in entries for test in _tests(path, entry)]
    if not prompts or not tests:
        raise BadInput(f"{str(path)!r}: expected lists of prompts and of tests")
    number = 0
    for test in tests:
        variables = mapping(usual.get("vars")) | mapping(test.get("vars"))
        asserts = [*listing(usual.get("assert")), *listing(test.get("assert"))]
        checks = [_check(path, mapping(row)) for row in asserts]
        for position, prompt in enumerate(prompts, start=1):
            about = f"{path}: prompt {position}"
            text = workers("patterns").call("render", prompt, variables, about=about)
            number += 1
            meta: Row = {"vars": variables, "checks": checks, "stratum": f"prompt {position}"}
            if name := string(test.get("description")):
                meta["description"] = name
            yield number, {"prompt": text, "check": "all", "meta": meta}


def _template(path: Path, prompt: Any) -> str:
    """The text of a prompt, which may lie in a file below the configuration's folder."""
    text = string(prompt) or string(mapping(prompt).get("raw"))
    return read_foreign(_beside(path, text)).decode() if text.startswith("file://") else text


def _beside(path: Path, text: str) -> Path:
    """The file below the configuration's folder that a `file://` names."""
    file = inside(path.parent, path.parent / text.removeprefix("file://"))
    if file is None or not file.is_file():
        raise BadInput(f"{path}: expected a file below its folder, found none at {text!r}")
    return file


def _tests(path: Path, entry: Any) -> Iterator[Row]:
    """A test, or those of a table or YAML list that is named in its place.

    A column of a table is a variable; `__expected`, `__expected2`, ... are assertions such as
    `contains: red`, a bare text being `equals`, and `__description` names the test.
    """
    from harness.tasks.files.rows import read_table

    if not isinstance(entry, str):
        yield mapping(entry)
        return
    file = _beside(path, entry)
    if file.suffix != ".csv":
        yield from map(mapping, listing(read_yaml(file)))
        return
    for _, row in read_table(file):
        asserts: list[Row] = []
        for cell in (string(row[name]) for name in row if name.startswith("__expected")):
            kind, colon, value = cell.partition(":")
            typed = bool(colon) and kind.replace("-", "").isalpha()
            asserts.append({"type": kind, "value": value.strip()} if typed else
                           {"type": "equals", "value": cell})  # fmt: skip
        variables = {name: value for name, value in row.items() if not name.startswith("__")}
        yield {"vars": variables, "assert": asserts, "description": row.get("__description")}


def _check(path: Path, row: Row) -> Row:
    """An assertion as a part of the check `all`."""
    kind, value = string(row.get("type")), row.get("value")
    texts = [re.escape(str(text)) for text in listing(value) or [value]]
    all_texts, some = "".join(rf"(?=[\s\S]*{text})" for text in texts), "|".join(texts)
    patterns = {
        "contains": all_texts, "contains-all": all_texts, "contains-any": some, "regex": str(value),
        "icontains": f"(?i){all_texts}", "icontains-all": f"(?i){all_texts}",
        "icontains-any": f"(?i){some}", "starts-with": rf"\A(?:{some})",
    }  # fmt: skip
    if kind in patterns:
        check: Row = {"check": "regex", "answer": patterns[kind]}
    elif kind == "equals":
        check = {"check": "exact", "answer": value}
    elif kind == "is-json":
        check = {"check": "json_schema", "answer": value or {}}
    else:
        names = ", ".join(["equals", "is-json", *patterns])
        raise BadInput(f"{path}: assertion {kind!r} cannot be read; those that can: {names}")
    return check | ({"weight": row["weight"]} if "weight" in row else {})

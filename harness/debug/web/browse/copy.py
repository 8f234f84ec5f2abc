"""A static copy: the same page in one file, with all answers in it instead of a server.

The answers are deflated, in parts that the page inflates when they are asked for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from harness.core import BadInput, write_atomic
from harness.debug.web.browse.answers import Browsing
from harness.debug.web.browse.library import Library, clean_text

STATIC = Path(__file__).parent.parent / "static"
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const) (\w+)", re.MULTILINE)
_STYLE = re.compile(r'^<link rel="stylesheet" href="(\w+\.css)">\n', re.MULTILINE)
_SCRIPT = re.compile(r'^<script type="module" src="(\w+)\.js"></script>$', re.MULTILINE)
_HOMES = re.compile(r"(?<![\w.])/(?:home|Users)/[^/\s\"'<>:;,()\[\]{}|]+")

PART = 100
"""Answers that are deflated together."""
Answer = tuple[tuple[str, ...], Any]
"""A question with its parameters in the page's order, and what it is answered."""


def write_copy(library: Library, out: Path) -> None:
    """Write everything under the library's root as the HTML file `out`, fit to be shared.

    Secrets and the names of this machine's folders are taken out (:func:`shareable`). Answers are
    written one after the other: memory does not grow with the number of samples.

    Raises:
        BadInput: if there is nothing to show, or `out` cannot be written.
    """
    browsing = Browsing(library)
    runs = browsing.runs({})
    if not runs["rows"]:
        raise BadInput(f"expected runs or evolutions under {str(library.root)!r}, found none")
    write_atomic(out, _page(browsing, runs))


def _page(browsing: Browsing, runs: Any) -> Iterator[str]:
    """The file, in parts."""
    page = (STATIC / "runs.html").read_text("utf-8")
    style = "".join((STATIC / name).read_text("utf-8") for name in _STYLE.findall(page))
    script = _bundle(_SCRIPT.findall(page)[0])
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="content-security-policy" content="{policy}">\n'
    page = _SCRIPT.sub(lambda _: f"{head}<style>{style}</style>", _STYLE.sub("", page))
    before, body, after = page.partition("</body>")
    yield before
    clean = shareable(browsing.library.root)
    parts: dict[str, int] = {}
    answers = _answers(browsing, runs)
    for number, part in enumerate(iter(lambda: [*islice(answers, PART)], [])):
        parts |= {"\0".join(question): number for question, _ in part}
        yield _script_element({"\0".join(question): clean(answer) for question, answer in part})
    yield _script_element(parts)
    yield f"<script>{script}</script>\n{body}{after}"


def _script_element(value: Any) -> str:
    """A JSON value, deflated and in base64, as a script element that no browser runs."""
    packed = zlib.compress(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), 9)
    return f'<script type="text/plain" class="kept">{base64.b64encode(packed).decode()}</script>\n'


def shareable(root: Path) -> Callable[[Any], Any]:
    """A function that cleans every text of a JSON value.

    Secrets are taken out, and the folders that tell of this machine get short names: the folder
    that is shown (`.`), the working folder (`.`), the temporary folder (`TMP`), and homes (`~`).
    """
    folder_names = [
        (root.resolve(), "."), (Path.cwd(), "."), (Path(tempfile.gettempdir()).resolve(), "TMP"),
        (Path.home(), "~"),
    ]  # fmt: skip
    names = {str(path): name for path, name in reversed(folder_names) if len(path.parts) > 1}
    longest = sorted(names, key=len, reverse=True)
    folders = re.compile(
        rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest))})(?![\w-])" if longest else r"(?!)"
    )

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            text = clean_text(value)
            if "/" not in text and "\\" not in text:
                return text
            return _HOMES.sub("~", folders.sub(lambda match: names[match.group()], text))
        if isinstance(value, list):
            return [clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
        if isinstance(value, dict):
            return {name: clean(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
        return value

    return clean


def _answers(browsing: Browsing, runs: Any) -> Iterator[Answer]:
    """Every question that the page can ask."""
    yield ("about",), browsing.about(copy=True)
    yield ("runs",), runs
    for row in runs["rows"]:
        name, kind = row["name"], row["kind"]
        if "error" in row:
            continue
        if kind == "eval":
            yield from _of_run(browsing, name)
        elif kind == "evolution":
            yield from _of_evolution(browsing, name)
        else:
            yield ("matrix", name), browsing.matrix({"matrix": name})


def _of_run(browsing: Browsing, name: str) -> Iterator[Answer]:
    query = {"run": name}
    yield ("run", name), browsing.run(query)
    yield ("tasks", name), browsing.tasks(query)
    start: int | None = 0
    while start is not None:
        part = browsing.samples({**query, "from": str(start)})
        yield ("samples", name, str(start)), part
        start = part["next"]
    for item in browsing.library.run(name).items():
        yield ("item", name, item), browsing.item({**query, "item": item})


def _of_evolution(browsing: Browsing, name: str) -> Iterator[Answer]:
    query = {"evolution": name}
    evolution = browsing.evolution(query)
    yield ("evolution", name), evolution
    outside: set[str] = set()
    for number in range(len(evolution["edits"])):
        origin = browsing.lineage({**query, "edit": str(number)})
        outside |= {row["trajectory"] for row in origin["records"] if row["run"] is None}
        yield ("lineage", name, str(number)), origin
    for item in sorted(outside):
        try:
            yield ("item", name, item), browsing.item({**query, "item": item})
        except BadInput:
            continue  # kept nowhere; the copy says so when it is asked


def _bundle(entry: str) -> str:
    """The modules that `entry` needs as one script, each in a scope of its own."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        text = (STATIC / f"{name}.js").read_text("utf-8")
        for _, module in _IMPORT.findall(text):
            if module not in parts:
                add(module)
        exports = ", ".join(name for _, name in _EXPORT.findall(text))
        text = _EXPORT.sub(r"\1 \2", _IMPORT.sub(r"const { \1 } = of_\2;", text))
        parts[name] = f"const of_{name} = (() => {{\n{text}\nreturn {{ {exports} }};\n}})();\n"

    add(entry)
    return '"use strict";\n' + "".join(parts.values())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_page(folder: Path, out: Path) -> None:
    """Write the runs under a folder as one HTML file: the plugin `runs` of `harness.pages`."""
    write_copy(Library(folder), out)

"""A static copy: the same page in one file, with all answers in it instead of a server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, write_atomic
from harness.debug.web.browse.answers import Browsing
from harness.debug.web.browse.library import Library
from harness.debug.web.browse.sharing import shareable

STATIC = Path(__file__).parent.parent / "static"
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|const) (\w+)", re.MULTILINE)
_STYLE = re.compile(r'^<link rel="stylesheet" href="(\w+\.css)">\n', re.MULTILINE)
_SCRIPT = re.compile(r'^<script type="module" src="(\w+)\.js"></script>$', re.MULTILINE)


def write_copy(library: Library, out: Path) -> None:
    """Write everything under the library's root as the HTML file `out`, fit to be shared.

    Secrets and the names of this machine's folders are taken out (:func:`shareable`).

    Raises:
        BadInput: if there is nothing to show, or `out` cannot be written.
    """
    clean = shareable(library.root)
    kept = {"\0".join(key): clean(answer) for key, answer in _answers(Browsing(library))}
    if not kept["runs"]["rows"]:
        raise BadInput(f"expected runs or evolutions under {str(library.root)!r}, found none")
    page = (STATIC / "runs.html").read_text("utf-8")
    style = "".join((STATIC / name).read_text("utf-8") for name in _STYLE.findall(page))
    script = _bundle(_SCRIPT.findall(page)[0])
    data = json.dumps(kept, ensure_ascii=False).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="content-security-policy" content="{policy}">\n'
    page = _STYLE.sub("", page)
    page = _SCRIPT.sub(lambda _: f"{head}<style>{style}</style>", page)
    body = f'<script type="application/json" id="kept">{data}</script>\n<script>{script}</script>\n'
    write_atomic(out, page.replace("</body>", f"{body}</body>"))


def _answers(browsing: Browsing) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every question that the page can ask, its parameters in the page's order."""
    yield ("about",), browsing.about(copy=True)
    runs = browsing.runs({})
    yield ("runs",), runs
    for row in runs["rows"]:
        if "error" not in row:
            yield from _OF[row["kind"]](browsing, row["name"])


def _of_run(browsing: Browsing, name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
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


def _of_evolution(browsing: Browsing, name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    query = {"evolution": name}
    found = browsing.evolution(query)
    yield ("evolution", name), found
    elsewhere: set[str] = set()
    for number in range(len(found["edits"])):
        origin = browsing.lineage({**query, "edit": str(number)})
        elsewhere |= {one["trajectory"] for one in origin["records"] if one["run"] is None}
        yield ("lineage", name, str(number)), origin
    for item in sorted(elsewhere):
        try:
            yield ("item", name, item), browsing.item({**query, "item": item})
        except BadInput:
            continue  # kept nowhere; the copy says so when it is asked


def _of_matrix(browsing: Browsing, name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield ("matrix", name), browsing.matrix({"matrix": name})


_OF = {"eval": _of_run, "evolution": _of_evolution, "matrix": _of_matrix}


def _bundle(entry: str) -> str:
    """The modules that `entry` needs as one script, each in a scope of its own."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        text = (STATIC / f"{name}.js").read_text("utf-8")
        for _, needed in _IMPORT.findall(text):
            if needed not in parts:
                add(needed)
        given = ", ".join(name for _, name in _EXPORT.findall(text))
        text = _EXPORT.sub(r"\1 \2", _IMPORT.sub(r"const { \1 } = of_\2;", text))
        parts[name] = f"const of_{name} = (() => {{\n{text}\nreturn {{ {given} }};\n}})();\n"

    add(entry)
    return '"use strict";\n' + "".join(parts.values())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_page(folder: Path, out: Path) -> None:
    """Write the runs under a folder as one HTML file: the plugin `runs` of `harness.pages`."""
    write_copy(Library(folder), out)

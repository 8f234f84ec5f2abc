"""Tools that look at pictures: zoom, text with boxes, tables, charts, receipts, shapes.

They run in the sandbox, because a picture is a file from outside: the readers in `eyes` are copied
into the work folder for the call. They judge nothing with a model but the characters, so that a
model without eyes can work with pictures too.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from harness.core import BadInput, remove_tree
from harness.tools import Arguments, Bench, Tool, ToolArgumentError, observation, text_argument

FOLDER = ".harness_eyes"
_FILE: dict[str, JsonValue] = {"type": "string", "description": "Name of the picture file."}
_BOX: dict[str, JsonValue] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 4,
    "maxItems": 4,
    "description": "Left, top, right, bottom in pixels of the file; without it, the whole.",
}
_DESCRIPTIONS = {
    "zoom": "Cut a box out of a picture and enlarge it into a file of its own, which you will see.",
    "ocr": "Read the text in a picture: every line with its pixel box and how sure it is.",
    "table": "Read the text in a picture row by row: lines on one height, from left to right.",
    "chart": "Read the values of a chart of columns, rows or points, with the box of each.",
    "receipt": "Read company, date, address and total of a receipt.",
    "shapes": "Find coloured shapes: kind, colour, pixel box, and how many there are of each.",
}
VISION_TOOLS = tuple(_DESCRIPTIONS)
"""Names of the tools."""


def vision_tool(name: str, setting: str = "") -> Tool:
    """The tool of that name.

    Args:
        name: of :data:`VISION_TOOLS`.
        setting: none of these tools has any.

    Raises:
        BadInput: for a setting.
    """
    if setting:
        raise BadInput(f"the tool {name!r} has no settings, got '{name}:{setting}'")
    properties: dict[str, JsonValue] = {"file": _FILE}
    if name != "chart":
        properties["box"] = _BOX
    required: list[JsonValue] = ["file", "box"] if name == "zoom" else ["file"]

    async def run(arguments: Arguments, bench: Bench) -> str:
        file = text_argument(arguments, "file")
        path = (bench.workdir / file).resolve()
        if not path.is_file() or not path.is_relative_to(bench.workdir.resolve()):
            names = sorted(path.name for path in bench.workdir.iterdir() if path.is_file())
            raise ToolArgumentError(f"no file {file!r}; there are {', '.join(names)}")
        if bench.sandbox is None:
            raise BadInput("tools that look at pictures need a sandbox: see `harness doctor`")
        options = {key: value for key, value in arguments.items() if key in ("file", "box")}
        command = [sys.executable, "-c", _START, name, json.dumps(options)]
        try:
            result = await asyncio.to_thread(
                bench.sandbox.exec,
                command,
                workdir=bench.workdir,
                files=readers(),
                limits=bench.limits,
            )
        finally:
            remove_tree(bench.workdir / FOLDER)
        return observation(result)

    return Tool(
        name=name,
        description=_DESCRIPTIONS[name],
        parameters={"type": "object", "properties": properties, "required": required},
        run=run,
    )


_START = (
    f"import sys, runpy; sys.path.insert(0, {FOLDER!r}); sys.argv[0] = 'eyes'; "
    "runpy.run_module('eyes', run_name='__main__', alter_sys=True)"
)


@cache
def readers() -> dict[str, bytes]:
    """The readers as files of the work folder."""
    folder = Path(__file__).parent / "eyes"
    return {f"{FOLDER}/eyes/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}

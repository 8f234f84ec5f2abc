"""The output family: an agent leaves one file, a table or a JSON document, judged by its values.

| golden file | the agent leaves | passes where |
|---|---|---|
| `.csv` | `output.csv` | header and rows are equal; rows in their order if `meta["ordered"]` |
| `.json` | `output.json` | keys and values are equal; lists in their order |

Texts are compared without spaces around them, numbers within 0.005. A cell is a number if it is
written as one is: `7.50` is 7.5, `007` is a text. In JSON a number and its text are not equal.
"""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from harness.core import (
    BadInput,
    Score,
    Task,
    UnfitFile,
    failed,
    passed,
    plain,
    read_foreign,
    read_work_file,
    render,
)
from harness.core.documents import parse_json
from harness.tasks.families import copy_inputs, output_file

TOLERANCE = 0.005
SUFFIXES = (".csv", ".json")
MOST_BYTES = 10_000_000
"""Of an output file; golden ones have a few thousand."""
PREVIEW_LINES = 12
PREVIEW_CHARACTERS = 160
"""Of a line of an input file."""
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
Row = list[float | str]


class OutputFamily:
    """Judges `output.csv` or `output.json` against the golden file `task.answer`."""

    name = "output"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """Copy the inputs; return the task with the first lines of every input file.

        Raises:
            BadInput: if a file is missing, or the golden file is no table or JSON document.
        """
        _golden(task, base)
        copy_inputs(task, base, workdir)
        files: list[dict[str, object]] = []
        for name, source in task.files.items():
            lines = read_foreign(base / source).decode("utf-8", "replace").splitlines()
            head = [line[:PREVIEW_CHARACTERS].replace("```", "'''") for line in lines]
            files.append({"name": name, "lines": head[:PREVIEW_LINES], "count": len(lines)})
        name = output_file(task)
        return render(
            "output_task",
            instruction=task.prompt,
            files=files,
            output_name=name,
            table=name.endswith(".csv"),
        )

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Compare the values of the output file with those of the golden file.

        Raises:
            BadInput: if the golden file cannot be used.
        """
        gold, name = _golden(task, base), output_file(task)
        try:
            got = _read(name, read_work_file(workdir, name, MOST_BYTES))
        except FileNotFoundError:
            return failed(f"there is no output file {name!r} in the work folder")
        except UnfitFile as error:
            return failed(f"the output file cannot be judged: {error}")
        except (ValueError, RecursionError) as error:
            return failed(f"the output file {name!r} cannot be read: {error}"[:300])
        if name.endswith(".csv") and not task.meta.get("ordered"):
            got = _aligned(gold, got)
        fault = difference(gold, got, "row" if name.endswith(".csv") else "output")
        return passed() if fault is None else failed(fault)


def difference(gold: Any, got: Any, path: str) -> str | None:
    """The first difference between two JSON values, in words; None if they are equal.

    Args:
        gold: what is expected.
        got: what came.
        place: name of the values, for the message.
    """
    if isinstance(gold, dict) and isinstance(got, dict):
        expected, present = cast("dict[str, Any]", gold), cast("dict[str, Any]", got)
        for key in [*expected, *present]:
            if key not in present:
                return f"{path} lacks {key!r}"
            if key not in expected:
                return f"{path} has {key!r}, which is not expected"
        pairs = [(expected[key], present[key], f"{path}.{key}") for key in expected]
    elif isinstance(gold, list) and isinstance(got, list):
        golden_items, items = cast("list[Any]", gold), cast("list[Any]", got)
        pairs = [
            (*pair, f"{path}[{n}]") for n, pair in enumerate(zip(golden_items, items, strict=False))
        ]
        if len(golden_items) != len(items):
            pairs.append((len(golden_items), len(items), f"number of entries of {path}"))
    elif _same(gold, got):
        return None
    else:
        return f"{path}: expected {gold!r:.100}, got {got!r:.100}"
    return next(filter(None, (difference(*pair) for pair in pairs)), None)


def _same(gold: Any, got: Any) -> bool:
    numbers = [v for v in (gold, got) if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == 2:
        with suppress(OverflowError):
            return abs(float(gold) - float(got)) <= TOLERANCE + 1e-9
    if isinstance(gold, str) and isinstance(got, str):
        return plain(gold.strip()) == plain(got.strip())
    return type(gold) is type(got) and gold == got


def _aligned(gold: list[Row], got: list[Row]) -> list[Row]:
    """The rows of a table in the order of the golden one, as far as they are in it."""
    if len(gold) != len(got) or not gold:
        return got
    remaining = list(got[1:])
    aligned = got[:1]
    for row in gold[1:]:
        equal = (
            n for n, candidate in enumerate(remaining) if difference(row, candidate, "") is None
        )
        index = next(equal, None)
        if index is not None:
            aligned.append(remaining.pop(index))
        elif remaining:
            return [*aligned, *remaining]
    return aligned


def _read(name: str, data: bytes) -> Any:
    """The rows of a table, empty ones left out, or a JSON document.

    Raises:
        ValueError: if it is none.
        csv.Error: if a cell is longer than an output file may be.
        RecursionError: if JSON is nested too deeply.
    """
    text = data.decode("utf-8-sig")
    if name.endswith(".json"):
        return parse_json(text)
    # The limit is the process's: a verdict must not depend on which tables were read before.
    csv.field_size_limit(max(csv.field_size_limit(), MOST_BYTES))
    rows = csv.reader(io.StringIO(text, newline=""))
    return [
        [
            float(cell) if _NUMBER.fullmatch(cell) else cell
            for cell in (plain(cell.strip()) for cell in row)
        ]
        for row in rows
        if any(map(str.strip, row))
    ]


def _golden(task: Task, base: Path) -> Any:
    """The golden values of a task."""
    path = base / str(task.answer)
    if not isinstance(task.answer, str) or path.suffix not in SUFFIXES or not path.is_file():
        raise BadInput(
            f"task {task.id!r}: expected 'answer' to be the path of a golden file "
            f"({' or '.join(SUFFIXES)}), found {task.answer!r}"
        )
    try:
        return _read(path.name, read_foreign(path))
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise BadInput(f"task {task.id!r}: golden file {str(path)!r}: {error}") from error

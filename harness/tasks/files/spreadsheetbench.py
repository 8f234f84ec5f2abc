"""Reading SpreadsheetBench (verified-400, the set of 912, our dev rows) as tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from harness.core import BadInput, Task, read_json, read_rows
from harness.tasks.spreadsheet import input_name

#: Items whose official score says nothing about an agent, with the reason (found by comparing
#: gold with gold and input with gold over the verified 400 items).
KNOWN_BAD: dict[str, str] = {
    "130-9": "its sheet name holds commas, so the official scorer cannot read the answer position",
    "283-32": "its answer position is whole columns, which crash the official scorer",
    "42930": "its golden file carries another id (1_43930), so officially it can never pass",
    "13-1": "passes with the untouched input: the first sheet is judged, the answer is in another",
    "73-45": "passes with any output: the answer position 'BD2:308' holds no cell",
    "56225": "marked as excluded by the data set, which the official scorer ignores",
    "56274": "marked as excluded by the data set, which the official scorer ignores",
    "49300": "a no-break space in the answer position: the two official scorers disagree",
    "45944": "spaces between its ranges: the two official scorers disagree",
}

_KEPT = ("instruction_type", "answer_position", "answer_sheet", "data_position")


def load_spreadsheetbench(path: Path) -> list[Task]:
    """Read a SpreadsheetBench folder, its dataset.json, or rows with `_files`.

    Paths in the tasks are absolute. An item with several test cases (the set of 912) is one task:
    `files` has `input.xlsx`, `input_2.xlsx`, ..., `answer` a list of their golden workbooks, and
    `meta["cases"]` the pairs.

    Args:
        path: folder with dataset.json and spreadsheet/<id>/, or a .json or .jsonl file.

    Raises:
        BadInput: if the file is missing or malformed, or an item's workbooks are missing.
    """
    file = path / "dataset.json" if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"expected a SpreadsheetBench folder with dataset.json, or a .jsonl file, found "
            f"nothing at {str(file)!r}"
        )
    folder = file.parent.resolve()
    rows: Any = [row for _, row in read_rows(file)] if file.suffix == ".jsonl" else read_json(file)
    if not isinstance(rows, list):
        raise BadInput(f"{str(file)!r}: expected a list of items, found {type(rows).__name__}")
    items = cast("list[Any]", rows)
    return [_task(row, folder, f"{file}: item {number}") for number, row in enumerate(items)]


def _task(row: Any, folder: Path, where: str) -> Task:
    try:
        name, prompt = str(row["id"]), str(row["instruction"])
        position = str(row["answer_position"])
    except (KeyError, TypeError) as error:
        raise BadInput(
            f"{where}: expected an object with id, instruction and answer_position, "
            f"found {row!r:.200}"
        ) from error
    if "_files" in row:
        pairs = zip(row["_files"]["init"], row["_files"]["golden"], strict=True)
        workbooks = [(folder / first, folder / gold) for first, gold in pairs]
    else:
        workbooks = _pairs(row, name, folder)
    cases = [{"input": str(first), "golden": str(gold)} for first, gold in workbooks]
    if not cases:
        raise BadInput(
            f"{where} ({name!r}): found no pair of input and golden workbook under {str(folder)!r}"
        )
    for case in cases:
        for file in case.values():
            if not Path(file).is_file():
                raise BadInput(f"{where} ({name!r}): expected a workbook at {file!r}, found none")
    meta: dict[str, JsonValue] = {key: row[key] for key in _KEPT if row.get(key)}
    meta |= {"answer_position": position, "stratum": str(row.get("instruction_type", ""))}
    if len(cases) > 1:
        meta["cases"] = [{**case} for case in cases]
    if name in KNOWN_BAD:
        meta["known_bad"] = KNOWN_BAD[name]
    return Task(
        id=name,
        prompt=prompt,
        files={input_name(number): case["input"] for number, case in enumerate(cases, 1)},
        answer=cases[0]["golden"] if len(cases) == 1 else [case["golden"] for case in cases],
        check="spreadsheet",
        meta=meta,
    )


def _pairs(row: Any, name: str, folder: Path) -> list[tuple[Path, Path]]:
    """Pairs in the item's folder, by the three naming schemes that occur."""
    item_folder = folder / str(row.get("spreadsheet_path") or f"spreadsheet/{name}")
    if not item_folder.is_dir():
        item_folder = folder / "spreadsheet" / name
    pairs = [(item_folder / "initial.xlsx", item_folder / "golden.xlsx")]
    for number in range(1, 10):
        prefix = f"{number}_{name}_"
        pairs.append((item_folder / f"{prefix}input.xlsx", item_folder / f"{prefix}answer.xlsx"))
        pairs.append((item_folder / f"{prefix}init.xlsx", item_folder / f"{prefix}golden.xlsx"))
    complete = [(first, gold) for first, gold in pairs if first.is_file() and gold.is_file()]
    if not complete:  # 42930: the golden file carries another number
        inputs, goldens = (
            sorted(item_folder.glob("*_init.xlsx")),
            sorted(item_folder.glob("*_golden.xlsx")),
        )
        if len(inputs) == len(goldens) == 1:
            complete = [(inputs[0], goldens[0])]
    return complete

"""Tasks out of the files that people have: tables, lists, data sets and promptfoo's tests.

| reference | rows |
|---|---|
| `tasks.jsonl` | one a line |
| `tasks.csv`, `tasks.tsv` | one a line, with a header; as Excel writes them |
| `tasks.xlsx#SHEET` | one a row of that sheet, or the first, below a header |
| `tasks.json` | a list, or an object that holds one |
| `tasks.parquet` | its rows (`pip install pyarrow`) |
| `hf:OWNER/NAME[/CONFIG][:SPLIT]` | a data set of the hub or of a folder (`pip install datasets`) |
| `promptfooconfig.yaml` | every prompt with every test |

Columns with the usual names become the fields of a task (:data:`NAMES`), or those that the
reference names: `questions.csv?frage=prompt&soll=answer`. All others go to `meta`. A row without an
id gets one from its prompt, so that a row that is added moves no other.

Tasks of one group (a template, document or repository) pass and fail together. Intervals and tests
take groups for independent where tasks name one, and else the tasks.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

from pydantic import ValidationError

from harness.core import (
    STREAMED_BYTES,
    BadInput,
    Task,
    csv_rows,
    decoding,
    did_you_mean,
    digest,
    first_fault,
    listing,
    mapping,
    open_foreign,
    parse_json,
    read_json,
    read_rows,
    require,
    string,
    warn_once,
)

HUB = "hf:"
DEFAULT_CHECK = "default-check"
"""Stands among the columns for the check of tasks that name none."""
_CELL = re.compile(r"\{([^{}]+)\}")
"""A column's place in the text that `--map 'TEXT=prompt'` puts around it."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task_id", "_id", "key"),
    "prompt": ("prompt", "input", "question", "instruction", "query", "problem"),
    "answer": (
        "answer",
        "expected",
        "expected_output",
        "target",
        "ideal",
        "output",
        "label",
        "gold",
    ),
    "answers": (),
    "check": ("check", "scorer"),
    "files": ("files",),
    "meta": ("meta", "metadata"),
    "group": ("group",),
}
"""Field of a task -> names that its column usually has, the first that is there counts; `answers`
are several with a bar between them, any of which is right."""
FIELDS = {name: field for field, names in NAMES.items() for name in names}
"""The same, from any of the names to the field."""
WORKBOOKS = (".xlsx", ".xls", ".ods")
SUFFIXES = (".jsonl", ".csv", ".tsv", ".json", ".parquet", *WORKBOOKS)
MOST_ROWS = 2**20
"""Of a sheet, as Excel has it."""
Row = dict[str, Any]


def divided_reference(reference: str) -> tuple[str, dict[str, str]]:
    """A reference without the columns behind its question mark, and those: column -> field.

    Among them may be :data:`DEFAULT_CHECK`.

    Raises:
        BadInput: for a field that tasks do not have.
    """
    path, query_begins, query = reference.partition("?")
    if not query_begins or os.path.exists(reference):  # noqa: PTH110  # False for a name too long
        return reference, {}
    columns = dict(parse_qsl(query, keep_blank_values=True))
    for column, field in columns.items():
        if field not in {*NAMES, *FIELDS} and column != DEFAULT_CHECK:
            hint = f" (did you mean --map {field}={column}?)" if column in FIELDS else ""
            raise BadInput(
                f"column {column!r}: expected one of the fields {', '.join(NAMES)}, "
                f"got {field!r}{hint}"
            )
    return path, columns


def of_workbook(source: str) -> tuple[str, str]:
    """The file of a source, and the sheet of a workbook that it names, "" for none."""
    file, named, sheet = source.partition(".xlsx#")
    return (f"{file}.xlsx", sheet) if named else (source, "")


def read_tasks(source: str, columns: Mapping[str, str]) -> tuple[Task, ...]:
    """The tasks of a file or a data set.

    Args:
        source: path, or `hf:...`.
        columns: name of a column -> field of the task, where :data:`NAMES` do not say it.

    Raises:
        BadInput: if it cannot be read, a row fits no task (its place is named), or no column holds
            the prompts.
    """
    return tasks_of(rows_of(source), columns, f"{source}:")


def rows_of(source: str) -> Iterator[tuple[int, Row]]:
    """Yield the number of each row of a file or a data set, and its values.

    Raises:
        BadInput: if it cannot be read.
    """
    file, sheet = of_workbook(source)
    path = Path(file)
    if source.startswith(HUB):
        rows = _hub_rows(source)
    elif path.suffix in (".csv", ".tsv"):
        rows = read_table(path)
    elif path.suffix == ".parquet":
        parquet: Any = require("pyarrow.parquet", "Parquet files need pyarrow", "pyarrow")
        with decoding(path), open_foreign(path, STREAMED_BYTES) as data:
            rows = enumerate(map(without_gaps, parquet.read_table(data).to_pylist()), start=1)
    elif path.suffix == ".json":
        rows = _of_list(path)
    elif path.suffix == ".xlsx":
        rows = _of_workbook(path, sheet)
    elif path.suffix in WORKBOOKS:
        raise BadInput(f"{source}: a workbook: save its sheet as CSV (UTF-8)")
    elif path.suffix in (".yaml", ".yml"):
        from harness.tasks.files.promptfoo import promptfoo_rows

        rows = promptfoo_rows(path)
    else:
        rows = read_rows(path)
    yield from rows


def tasks_of(
    rows: Iterable[tuple[int, Row]], columns: Mapping[str, str], source: str
) -> tuple[Task, ...]:
    """The tasks that rows are.

    Args:
        rows: number of a row, and its values.
        columns: name of a column -> field of the task, where :data:`NAMES` do not say it.
        place: stands before the number in messages.

    Raises:
        BadInput: if a row fits no task, or no column holds the prompts.
    """
    used: Counter[str] = Counter()
    tasks: list[Task] = []
    check = columns.get(DEFAULT_CHECK)
    columns = {
        name: FIELDS.get(field, field) for name, field in columns.items() if name != DEFAULT_CHECK
    }
    around = {text: field for text, field in columns.items() if _CELL.search(text)}
    # A group's column stays in `meta`: naming it later changes no task.
    groups = {name: field for name, field in columns.items() if field == "group"}
    columns = {
        name: field for name, field in columns.items() if field != "group" and name not in around
    }
    missing, columns_there = {*columns, *_CELL.findall("".join(around))}, dict[str, None]()
    for number, record in rows:
        row = dict(record)
        columns_there |= dict.fromkeys(row)
        where, missing = f"{source}{number}", missing - row.keys()
        if apart := {name: row.pop(name) for name in groups if name in row and name not in FIELDS}:
            row["meta"] = {**mapping(row.get("meta")), **apart}
        row |= {
            field: _CELL.sub(lambda cell: str(record.get(cell[1], "")), text)  # noqa: B023
            for text, field in around.items()
        }
        is_task = not columns and not around and {"id", "prompt"} <= row.keys()
        fields = row if is_task else _fields(row, columns)
        if "prompt" not in fields and tasks:
            raise BadInput(
                f"{where}: no prompt in this row, only {', '.join(map(repr, row))}: fill it in, or "
                "take the row out"
            )
        if "prompt" not in fields:
            name = min(missing, default="")
            wrong = f"no column {name!r}{did_you_mean(name, row)} and " if name else ""
            raise BadInput(
                f"{where}: {wrong}no column for the prompt among {', '.join(map(repr, row))}: "
                "name it with --map COLUMN=prompt, in Python columns={'COLUMN': 'prompt'}, or "
                f"call it {', '.join(NAMES['prompt'])}"
            )
        if "id" not in fields:
            name = digest(fields["prompt"])[:8]
            used[name] += 1
            fields = {**fields, "id": name if used[name] == 1 else f"{name}-{used[name]}"}
        if check is not None and not fields.get("check"):
            fields = {**fields, "check": check}
        if unknown := fields.keys() - NAMES.keys():
            raise BadInput(
                f"{where}: unknown name {min(unknown)!r}: a row with 'id' and 'prompt' has "
                f"{', '.join(NAMES)} and no others; what else there is goes into its 'meta'"
            )
        try:
            tasks.append(Task.model_validate(fields))
        except ValidationError as error:
            got = str(error.errors()[0]["input"])[:60]
            raise BadInput(f"{where}: {first_fault(error, 'row')}, got {got!r}") from None
    if tasks and missing:
        names = ", ".join(map(repr, columns_there))
        name = f"{min(missing)!r}{did_you_mean(min(missing), columns_there)}"
        raise BadInput(f"{source}1: no column {name}, which --map names, among {names}")
    return in_groups(tasks, groups, source)


def without_gaps(row: Mapping[Any, Any]) -> Row:
    """A row of a table; programs write NaN, or a mark of their own, where there is no value."""

    def gap(value: Any) -> bool:
        return type(value).__name__ in ("NAType", "NaTType") or (
            isinstance(value, float) and value != value
        )

    return {str(name): None if gap(value) else value for name, value in row.items()}


def _fields(row: Row, columns: Mapping[str, str]) -> Row:
    """The fields of a task; what no field takes is its `meta`."""
    of_field = {field: column for column, field in columns.items() if column in row}
    usual = {name.strip().casefold(): name for name in row}
    among_others = not of_field and "prompt" in columns.values()  # as in a list of several kinds
    for field, names in NAMES.items():
        free = [usual[name] for name in names if name in usual and usual[name] not in columns]
        if free and field not in of_field and (among_others or field not in columns.values()):
            of_field[field] = free[0]
    values = {field: row[column] for field, column in of_field.items()}
    values = {field: value for field, value in values.items() if value is not None}
    mapped = {column for field, column in of_field.items() if field != "group"}
    unmapped = {name: value for name, value in row.items() if name not in mapped}
    values["meta"] = json.loads(json.dumps(unmapped | _object(of_field, values), default=str))
    if "prompt" in values:
        values["prompt"] = _text(values["prompt"])
    if isinstance(values.get("id"), float) and values["id"].is_integer():
        values["id"] = int(values["id"])
    if several := string(values.pop("answers", None)):
        values["answer"] = [text.strip() for text in several.split("|") if text.strip()]
    if isinstance(values.get("files"), str):
        values["files"] = [name.strip() for name in values["files"].split(";") if name.strip()]
    return values


def _object(of_field: Mapping[str, str], values: Row) -> Row:
    """The meta of a row: an object, or its JSON; another text keeps the name of its column."""
    meta = values.get("meta")
    if isinstance(meta, str):
        with suppress(ValueError, RecursionError):
            meta = parse_json(meta)
        if not isinstance(meta, dict):
            return {of_field["meta"]: meta}
    return mapping(meta)


def _text(prompt: Any) -> Any:
    """A prompt as text: chat messages of system and user one under the other."""
    if messages := [mapping(message) for message in listing(prompt)]:
        texts = [string(message.get("content")) for message in messages]
        if all(texts) and {message.get("role") for message in messages} <= {"system", "user"}:
            return "\n\n".join(texts)
    return str(prompt) if isinstance(prompt, int | float) else prompt  # another is named later


def read_table(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield (line number, row) of a file that :func:`harness.core.csv_rows` reads.

    Empty cells are left out.

    Raises:
        BadInput: if it cannot be read, or a row has another number of cells than the header.
    """
    rows = csv_rows(path)
    _, header = next(rows, (0, list[str]()))
    for number, cells in rows:
        while len(cells) > len(header) and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(header):
            raise BadInput(f"{path}:{number}: expected {len(header)} cells, as the header has")
        row = zip(header, cells, strict=True)
        yield number, {name: text for name, text in row if text != ""}


def _of_workbook(path: Path, sheet: str) -> Iterator[tuple[int, Row]]:
    """The rows of a sheet of a workbook, else of its first; the first row names the columns."""
    from harness.tasks.workbooks import UnreadableWorkbook, open_workbook

    try:
        with open_workbook(path) as book:
            first, *others = book.sheet_names
            there = f"{first!r}{''.join(f', {name!r}' for name in others)}"
            if sheet not in ("", first, *others):
                raise BadInput(f"{path}: no sheet {sheet!r}; there are {there}")
            if others and not sheet:
                text = (
                    f"sheet {first!r} is read, the first of {there}; {path.name}#SHEET is another"
                )
                warn_once(path.name, path.stat().st_size, text)
            table = book.head(sheet or first, MOST_ROWS)
    except UnreadableWorkbook as error:
        raise BadInput(str(error)) from error
    header = [str(name).strip() for name in table[0]] if table else []
    for number, cells in enumerate(table[1:], start=2):
        row = zip(header, cells, strict=False)
        if values := {name: value for name, value in row if value not in (None, "")}:
            yield number, values


def _of_list(path: Path) -> Iterator[tuple[int, Row]]:
    document = read_json(path)
    lists = [listing(value) for value in (document, *mapping(document).values()) if value]
    lists = [rows for rows in lists if rows]
    if len(lists) != 1:
        raise BadInput(f"{str(path)!r}: expected a list of tasks, or an object that holds one list")
    for number, row in enumerate(lists[0], start=1):
        if not isinstance(row, dict):
            raise BadInput(f"{path}:{number}: expected an object, got {row!r:.60}")
        yield number, cast("Row", row)


def of_hub(source: str) -> tuple[str, str, str]:
    """Name of a data set of the hub or its folder here, its configuration and split, if any."""
    name, _, split = source.removeprefix(HUB).partition(":")
    if Path(name).exists():
        return name, "", split
    owner, _, remainder = name.partition("/")
    remainder, _, config = remainder.partition("/")
    return f"{owner}/{remainder}" if remainder else owner, config, split


def file_of(source: str) -> Path:
    """The file or folder of a source, without the sheet, configuration or split that it names."""
    return Path(of_hub(source)[0] if source.startswith(HUB) else of_workbook(source)[0])


def _hub_rows(source: str) -> Iterator[tuple[int, Row]]:
    library: Any = require("datasets", "data sets of the hub need datasets", "datasets")
    name, config, split = of_hub(source)
    try:
        rows = library.load_dataset(name, config or None, split=split or "test")
    except Exception as error:  # of many libraries: network, formats, names
        raise BadInput(f"cannot load {source!r}: {type(error).__name__}: {error}") from error
    yield from enumerate((dict(row) for row in rows), start=1)


def in_groups(tasks: Sequence[Task], columns: Mapping[str, str], source: str) -> tuple[Task, ...]:
    """The tasks with their groups, if a column is mapped to them; it stands in `meta`.

    A task without a value there is a group of its own.

    Args:
        tasks: of a file.
        columns: name of a column -> field of a task.
        place: stands before messages.

    Raises:
        BadInput: if no task has a value in that column.
    """
    column = next((name for name, field in columns.items() if field == "group"), None)
    if column is None:
        return tuple(tasks)
    values = [task.group or task.meta.get(column) for task in tasks]
    if tasks and all(value is None for value in values):
        names = sorted({name for task in tasks for name in task.meta})
        raise BadInput(
            f"{source} no task has a column {column!r} to group by{did_you_mean(column, names)}; "
            f"there are {', '.join(map(repr, names)) or 'none besides the fields of a task'}"
        )
    return tuple(
        task if value is None else task.model_copy(update={"group": str(value)})
        for task, value in zip(tasks, values, strict=True)
    )

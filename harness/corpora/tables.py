"""Questions about tables, as tasks on workbooks: WikiTableQuestions and HiTab.

The paper on Trace2Skill tests skills on both "as spreadsheets" and never published how. This is our
way: the table becomes a workbook, the answer goes into a new sheet of it, and it is judged by the
rules of the set's own evaluator.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from harness.core import BadInput, Task, Value, digest, read_json, write_atomic
from harness.corpora.reading import write_tasks
from harness.corpora.records import Loader, Row, by_record, read_each, rows_of

TABLE_SHEET = "Table"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?")


class Merged(Value):
    """A merged region of cells, counted from 0, all bounds within it."""

    first_row: int = Field(ge=0)
    last_row: int = Field(ge=0)
    first_column: int = Field(ge=0)
    last_column: int = Field(ge=0)


class TableQuestion(Value):
    """A question about one table.

    Attributes:
        id: unique within its set.
        question: as it was asked.
        answers: the items of the answer.
        canonical: a number or date for each item, "" where there is none; empty for none at all.
        metric: how the answer is judged; `harness.tasks.tableqa` says what each one is.
        title: of the table, or "".
        cells: rows of texts, not all of one width.
        merged: merged regions.
    """

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answers: tuple[str, ...] = Field(min_length=1)
    canonical: tuple[str, ...] = ()
    metric: Literal["denotation", "ordered"]
    title: str = ""
    cells: tuple[tuple[str, ...], ...] = Field(min_length=1)
    merged: tuple[Merged, ...] = ()


def wikitablequestions(path: Path) -> Iterator[TableQuestion]:
    """WikiTableQuestions (Pasupat and Liang 2015).

    Args:
        path: a `.tsv` of the published `data/`, whose `csv/` lies beside that folder (canonical
            answers are taken from `tagged/data/` where that is there, too); or a `.jsonl` of the
            same fields with the table in `table_csv`.

    Raises:
        BadInput: if a file is missing, or a record has another form.
    """
    if path.suffix != ".tsv":
        return by_record(_wtq_row, "WikiTableQuestions")(path)
    root, canonical = path.parent.parent, dict[str, list[str]]()
    tagged = root / "tagged" / "data" / f"{path.stem}.tagged"
    if tagged.is_file():
        canonical = {row["id"]: _unescaped(row["targetCanon"]) for _, row in _tsv(tagged)}

    def read(row: Row) -> Iterator[TableQuestion]:
        table = root / row["context"]
        if not table.is_file():
            raise BadInput(f"expected the table of question {row['id']!r} at {str(table)!r}")
        lists = {
            "targetValue": _unescaped(row["targetValue"]),
            "targetCanon": canonical.get(row["id"]),
        }
        return _wtq_row({**row, **lists, "table_csv": table.read_text("utf-8")})

    return read_each(_tsv(path), read, "WikiTableQuestions")


def hitab(path: Path) -> Iterator[TableQuestion]:
    """HiTab (Cheng et al. 2022): tables with headers of several levels.

    Args:
        path: `data/NAME_samples.jsonl`; tables are looked for in `tables/raw/` and `tables/hmt/`
            beside it.

    Raises:
        BadInput: if a file is missing, or a record has another form.
    """

    def read(row: Row) -> Iterator[TableQuestion]:
        name = str(row["table_id"])
        candidates = [path.parent / "tables" / kind / f"{name}.json" for kind in ("raw", "hmt")]
        file = next((candidate for candidate in candidates if candidate.is_file()), None)
        if file is None or "/" in name:
            raise BadInput(f"expected the table {name!r} at {str(candidates[0])!r}, found none")
        table: dict[str, Any] = read_json(file)
        regions = table.get("merged_regions", ())
        yield TableQuestion(
            id=f"hitab-{row['id']}",
            question=row["question"],
            answers=tuple(map(_plain, row["answer"])),
            metric="ordered",
            title=str(table.get("title") or ""),
            cells=tuple(tuple(map(_plain, line)) for line in table["texts"]),
            merged=tuple(Merged.model_validate(region) for region in regions),
        )

    return read_each(rows_of(path), read, "HiTab")


def number_or_text(text: str) -> float | int | str:
    """A cell's value: a number where the text is one and nothing else."""
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _wtq_row(row: Row) -> Iterator[TableQuestion]:
    text = StringIO(row["table_csv"], newline="")
    reader = csv.reader(text, doublequote=False, escapechar="\\")  # as the published CSV has it
    yield TableQuestion(
        id=f"wtq-{row['id']}",
        question=row["utterance"],
        answers=tuple(row["targetValue"]),
        canonical=tuple(row.get("targetCanon") or ()),
        metric="denotation",
        cells=tuple(tuple(cell.strip() for cell in line) for line in reader if line),
    )


def _tsv(path: Path) -> Iterator[tuple[str, Row]]:
    if not path.is_file():
        raise BadInput(f"expected a .tsv of WikiTableQuestions, found nothing at {str(path)!r}")
    with path.open(encoding="utf-8", newline="\n") as handle:
        names = handle.readline().rstrip("\n").split("\t")
        for number, line in enumerate(handle, 2):
            yield f"{path}:{number}", dict(zip(names, line.rstrip("\n").split("\t"), strict=False))


def _unescaped(field: str) -> list[str]:
    """A list of the published files: items between bars; `\\n`, `\\p` and `\\\\` are escaped."""
    plain = {r"\n": "\n", r"\p": "|", r"\\": "\\"}
    return [re.sub(r"\\[np\\]", lambda match: plain[match[0]], item) for item in field.split("|")]


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()


TABLE_LOADERS: dict[str, Loader[TableQuestion]] = {
    "wikitablequestions": wikitablequestions,
    "hitab": hitab,
}


def write_table_questions(questions: Iterable[TableQuestion], out: Path, split: str) -> list[Task]:
    """Write `<split>.jsonl` and `tables/`; equal tables are written once.

    Args:
        questions: taken one by one.
        out: folder; files of the same names are replaced.
        split: name of the task file.

    Raises:
        BadInput: if the folder cannot be written.
    """
    tasks: list[Task] = []
    written: set[str] = set()
    for question in questions:
        cells: list[Any] = [list(row) for row in question.cells]
        regions = [region.model_dump(mode="json") for region in question.merged]
        name = f"tables/{digest([question.title, cells, regions])[:16]}.xlsx"
        if name not in written:
            write_atomic(out / name, workbook_of(question))
            written.add(name)
        meta: dict[str, JsonValue] = {"metric": question.metric}
        if question.canonical:
            meta["canonical"] = list(question.canonical)
        tasks.append(
            Task(
                id=question.id,
                prompt=question.question,
                files={"input.xlsx": name},
                answer=list(question.answers),
                check="tableqa",
                meta=meta,
            )
        )
    write_tasks(tasks, out, split)
    return tasks


def workbook_of(question: TableQuestion) -> bytes:
    """The table as an .xlsx file: a title over it where it has one; numbers are numbers."""
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook()
    sheet: Any = book.active
    sheet.title = TABLE_SHEET
    title = [(question.title,)] if question.title else []
    for row, cells in enumerate([*title, *question.cells], 1):
        for column, text in enumerate(cells, 1):
            if text:
                cell = sheet.cell(row, column)
                cell.value = number_or_text(ILLEGAL_CHARACTERS_RE.sub("", text))
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # "=…" is a text of the table, and no formula of ours
    first = len(title) + 1
    for region in question.merged:
        sheet.merge_cells(
            start_row=region.first_row + first, end_row=region.last_row + first,
            start_column=region.first_column + 1, end_column=region.last_column + 1,
        )  # fmt: skip
    content = BytesIO()
    book.save(content)
    return content.getvalue()

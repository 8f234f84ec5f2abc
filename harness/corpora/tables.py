"""Questions about tables, as tasks on workbooks: WikiTableQuestions and HiTab.

The paper on Trace2Skill tests skills on both "as spreadsheets" and never published how. This is our
way: the table becomes a workbook, the answer goes into a new sheet of it, and it is judged by the
rules of the set's own evaluator.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from harness.core import BadInput, Value
from harness.corpora.loaders.rows import Row, read_each, rows_of

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
        return read_each(rows_of(path), _wtq_row, "WikiTableQuestions")
    canonical = _tagged(path.parent.parent / "tagged" / "data" / f"{path.stem}.tagged")
    tables = path.parent.parent
    rows = ((where, {**row, "canonical": canonical}) for where, row in _tsv(path))
    return read_each(rows, lambda row: _wtq_file(row, tables), "WikiTableQuestions")


def hitab(path: Path) -> Iterator[TableQuestion]:
    """HiTab (Cheng et al. 2022): tables with headers of several levels.

    Args:
        path: `data/NAME_samples.jsonl`; tables are looked for in `tables/raw/` and `tables/hmt/`
            beside it.

    Raises:
        BadInput: if a file is missing, or a record has another form.
    """
    return read_each(rows_of(path), lambda row: _hitab(row, path.parent), "HiTab")


def number_or_text(text: str) -> float | int | str:
    """A cell's value: a number where the text is one and nothing else."""
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _wtq_row(row: Row) -> Iterator[TableQuestion]:
    yield TableQuestion(
        id=f"wtq-{row['id']}",
        question=row["utterance"],
        answers=tuple(row["targetValue"]),
        canonical=tuple(row.get("targetCanon") or ()),
        metric="denotation",
        cells=_cells(row["table_csv"]),
    )


def _wtq_file(row: Row, root: Path) -> Iterator[TableQuestion]:
    table = root / row["context"]
    if not table.is_file():
        raise BadInput(f"expected the table of question {row['id']!r} at {str(table)!r}")
    yield from _wtq_row(
        {
            **row,
            "targetValue": _unescaped(row["targetValue"]),
            "targetCanon": row["canonical"].get(row["id"]),
            "table_csv": table.read_text("utf-8"),
        }
    )


def _cells(text: str) -> tuple[tuple[str, ...], ...]:
    """Rows of the published CSV, whose quotes are escaped by backslashes."""
    reader = csv.reader(StringIO(text, newline=""), doublequote=False, escapechar="\\")
    return tuple(tuple(cell.strip() for cell in row) for row in reader if row)


def _tsv(path: Path) -> Iterator[tuple[str, Row]]:
    if not path.is_file():
        raise BadInput(f"expected a .tsv of WikiTableQuestions, found nothing at {str(path)!r}")
    with path.open(encoding="utf-8", newline="\n") as handle:
        names = handle.readline().rstrip("\n").split("\t")
        for number, line in enumerate(handle, 2):
            yield f"{path}:{number}", dict(zip(names, line.rstrip("\n").split("\t"), strict=False))


def _tagged(path: Path) -> dict[str, list[str]]:
    if not path.is_file():
        return {}
    return {row["id"]: _unescaped(row["targetCanon"]) for _, row in _tsv(path)}


def _unescaped(field: str) -> list[str]:
    """A list of the published files: items between bars; `\\n`, `\\p` and `\\\\` are escaped."""
    plain = {r"\n": "\n", r"\p": "|", r"\\": "\\"}
    return [re.sub(r"\\[np\\]", lambda found: plain[found[0]], one) for one in field.split("|")]


def _hitab(row: Row, folder: Path) -> Iterator[TableQuestion]:
    name = str(row["table_id"])
    places = [folder / "tables" / kind / f"{name}.json" for kind in ("raw", "hmt")]
    found = next((place for place in places if place.is_file()), None)
    if found is None or "/" in name:
        raise BadInput(f"expected the table {name!r} at {str(places[0])!r}, found none")
    table: dict[str, Any] = json.loads(found.read_text("utf-8"))
    answers = [_plain(answer) for answer in row["answer"]]
    yield TableQuestion(
        id=f"hitab-{row['id']}",
        question=row["question"],
        answers=tuple(answers),
        metric="ordered",
        title=str(table.get("title") or ""),
        cells=tuple(tuple(_plain(cell) for cell in line) for line in table["texts"]),
        merged=tuple(Merged.model_validate(one) for one in table.get("merged_regions", ())),
    )


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()

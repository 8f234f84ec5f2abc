"""The tableqa family: a question about a table in a workbook; the answer goes into a sheet.

| metric | pass |
|---|---|
| `denotation` | the items denote what the gold's do (WikiTableQuestions, Pasupat and Liang 2015) |
| `ordered` | the gold's items in their order, numbers within 1e-5 (HiTab, Cheng et al. 2022) |

An item is a number, a date or a text, as its canonical form says; gold items may bring one that a
date parser found, an answer's items are read as they stand. Two items match if their texts are
equal once normalised, or if they are numbers no more than 1e-6 apart, or the same date. Answer and
gold match if they have equally many different items and each of the gold's finds a match. These are
the rules of the evaluator of WikiTableQuestions.
"""

from __future__ import annotations

import math
import re
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from harness.core import (
    BadInput,
    Score,
    Task,
    UnfitFile,
    failed,
    passed,
    plain,
    read_work_file,
    render,
)
from harness.tasks.answers import accepted_answers, named_metric
from harness.tasks.families import copy_inputs, output_file
from harness.tasks.ranges import CellRange
from harness.tasks.workbooks import UnreadableWorkbook, open_workbook

INPUT_NAME = "input.xlsx"
METRICS = ("denotation", "ordered")
OUTPUT_NAME = "output.xlsx"
ANSWER_SHEET = "Answer"
MOST_ITEMS = 1000
MOST_CHARACTERS = 2000
"""Of an item; no gold item is nearly as long, and the expressions below take longer than that."""
_MARKS = "\u2022\u2666\u2020\u2021*#+"
_DETAILS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')

Date = tuple[int | None, int | None, int | None]
"""Year, month and day; None is unknown."""
TOLERANCE = 1e-5


class TableFamily:
    """Judges column A of the sheet `Answer` in `output.xlsx`, an item a cell.

    A task whose meta has `form: reply` is judged by the lines of the final answer instead.
    """

    name = "tableqa"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.Family.prepare`."""
        _gold_items(task)
        if INPUT_NAME not in task.files:
            raise BadInput(f"task {task.id!r}: expected the file {INPUT_NAME!r}, found none")
        copy_inputs(task, base, workdir)
        return render(
            "table_task",
            question=task.prompt,
            input_name=INPUT_NAME,
            output_name=output_file(task),
            sheet=ANSWER_SHEET,
            ordered=_metric(task) == "ordered",
        )

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the items that were written."""
        if not output_file(task):
            items = [line.strip() for line in (answer or "").splitlines() if line.strip()]
            return judge_items(task, items) if items else failed("there is no final answer")
        try:
            items = written_items(workdir / OUTPUT_NAME)
        except BadInput as error:
            return failed(str(error))
        return judge_items(task, items)


def judge_items(task: Task, items: list[str]) -> Score:
    """Judge the items of an answer by the task's metric.

    Raises:
        BadInput: if the task has no such metric, or canonical forms that do not fit its answer.
    """
    gold, forms = _gold_items(task)
    if _metric(task) == "ordered":
        ok = same_list(gold, items)
    else:
        expected = [item_of(text, form) for text, form in zip(gold, forms, strict=True)]
        ok = same_denotation(expected, [item_of(text) for text in items])
    if ok:
        return passed(items=len(items))
    return failed(f"expected {gold!r:.300}, got {items!r:.300}", items=len(items))


def _metric(task: Task) -> str:
    return named_metric(task, METRICS, METRICS[0])


def _gold_items(task: Task) -> tuple[list[str], list[str]]:
    """The answer's items and their canonical forms, which only `denotation` looks at."""
    gold = accepted_answers(task)
    forms = task.meta.get("canonical") if _metric(task) == "denotation" else None
    forms = forms or [""] * len(gold)
    if not isinstance(forms, list) or len(forms) != len(gold):
        raise BadInput(
            f"task {task.id!r}: expected meta 'canonical' with {len(gold)} items, "
            f"found {forms!r:.200}"
        )
    return gold, [str(form) for form in forms]


def written_items(path: Path) -> list[str]:
    """The items in column A of the sheet `Answer`, from A1 on, empty cells left out.

    Raises:
        BadInput: if there is no such file, sheet or item; it says what is missing.
    """
    try:
        data = read_work_file(path.parent, path.name)
    except FileNotFoundError:
        raise BadInput(f"there is no output file {path.name!r} in the work folder") from None
    except UnfitFile as error:
        raise BadInput(f"the output file cannot be judged: {error}") from error
    with tempfile.TemporaryDirectory(prefix="judged-") as folder:
        copy = Path(folder, path.name)
        copy.write_bytes(data)
        return _column(copy)


def _column(path: Path) -> list[str]:
    column = CellRange(
        sheet=ANSWER_SHEET, min_row=1, max_row=MOST_ITEMS, min_column=1, max_column=1
    )
    try:
        with open_workbook(path) as book:
            if ANSWER_SHEET not in book.sheet_names:
                raise BadInput(f"there is no sheet {ANSWER_SHEET!r} in {path.name!r}")
            cells = book.read(ANSWER_SHEET, [column]).cells
    except UnreadableWorkbook as error:
        raise BadInput(f"{path.name!r} cannot be read: {error}") from error
    items = [text for _, value in sorted(cells.items()) if (text := _text(value))]
    if not items:
        raise BadInput(
            f"column A of the sheet {ANSWER_SHEET!r} has no value (a formula counts by its stored "
            "value)"
        )
    return items


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date):
        return f"{value:%Y-%m-%d}"
    return str(value).strip()


@dataclass(frozen=True)
class Item:
    """One item of an answer.

    Attributes:
        text: normalised.
        number: if it is one.
        date: if it is one.
    """

    text: str
    number: float | None = None
    date: Date | None = None

    @property
    def value(self) -> object:
        """Identity of an item: two items with the same value are one."""
        return self.number if self.number is not None else self.date or self.text

    def matches(self, item: Item) -> bool:
        """Return True if they are equal by text, number or date."""
        if self.text == item.text:
            return True
        if self.number is not None and item.number is not None:
            return abs(self.number - item.number) < 1e-6
        return self.date is not None and self.date == item.date


def normalised(text: str) -> str:
    """Without accents, citations, details in brackets, outer quotes, a full stop; lower case."""
    text = "".join(
        sign
        for sign in unicodedata.normalize("NFKD", plain(text).replace("`", "'"))
        if unicodedata.category(sign) != "Mn"
    )
    before = None
    while text != before:
        before = text
        text = uncited(text.strip())
        text = _DETAILS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return " ".join(text.removesuffix(".").split()).lower()


def uncited(text: str) -> str:
    """Without the citations at its end: `[1]`, `[note]`, and marks such as `*`.

    Its first sign begins a citation only as `[1]`: a text may be in brackets as a whole. By hand,
    because the evaluator's expression takes exponential time on `[1][1][1]…[1`.
    """
    while True:
        shorter = text.rstrip(_MARKS)
        if shorter.endswith("]"):
            begin = shorter.find("[", shorter.rfind("]", 0, len(shorter) - 1) + 1)
            if begin == 0 and not shorter[1:-1].isdecimal():
                begin = shorter.find("[", 1)
            shorter = shorter[:begin] if begin >= 0 else shorter
        if shorter == text:
            return text
        text = shorter


def item_of(text: str, canonical: str = "") -> Item:
    """An item from its text.

    Args:
        text: as it stands.
        canonical: a number, or a date as `yyyy-mm-dd` with `xx` for what is unknown; default
            what the text says itself.
    """
    text = plain(text[:MOST_CHARACTERS])
    form = (canonical or text).strip()
    number, day = _number(form), _date(form)
    if number is None and day is not None and day[1] is None and day[2] is None:
        number, day = float(day[0] or 0), None  # a year alone is a number
    if number is not None:
        nearest = round(number)
        number, day = float(nearest) if abs(number - nearest) < 1e-6 else number, None
    return Item(normalised(text), number, day)


def same_denotation(gold: Sequence[Item], answer: Sequence[Item]) -> bool:
    """Return True if an answer denotes what the gold items denote."""
    expected = {item.value: item for item in gold}.values()
    answered = {item.value: item for item in answer}.values()
    return len(expected) == len(answered) and all(
        any(item.matches(candidate) for candidate in answered) for item in expected
    )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> Date | None:
    parts = text.lower().split("-")
    if len(parts) != 3:
        return None
    try:
        year = None if parts[0] in ("xx", "xxxx") else int(parts[0])
        month, day = (None if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    sound = (month is None or 1 <= month <= 12) and (day is None or 1 <= day <= 31)
    return (year, month, day) if sound and (year, month, day) != (None, None, None) else None


def same_list(gold: Sequence[str], answer: Sequence[str]) -> bool:
    """Return True if an answer has the gold's items in order; numbers within 1e-5, texts equal."""
    return len(gold) == len(answer) and all(
        # Of one type, so that a text is never equal to a number.
        abs(expected - got) < TOLERANCE
        if isinstance(expected, float) and isinstance(got, float)
        else expected == got
        for expected, got in zip(map(_read, gold), map(_read, answer), strict=True)
    )


def _read(text: str) -> float | str:
    """A number, without bracket, percent, dollar signs and thousands commas; else the text."""
    text = plain(text.strip()[:MOST_CHARACTERS]).lower()
    bare = text.removeprefix("(")
    if bare.endswith(("%", ")")):
        bare = bare[:-1]
    try:
        number = float(bare.replace(",", "").replace("$", ""))
    except ValueError:
        return normalised(text)
    return number if math.isfinite(number) else normalised(text)

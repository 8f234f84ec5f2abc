"""The ledger corpus: counted, reproducible, solvable from the input alone, never for free."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from harness.core import BadInput, Task, digest_file, digest_tree, read_models
from harness.corpora import Split, generate
from lab.corpora.ledger import LEDGER

Grid = list[list[Any]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Task]]:
    """One task of every stratum."""
    out = tmp_path_factory.mktemp("ledger")
    return out, LEDGER.write_split("test", out, limit=33)


def _open(path: Path) -> Workbook:
    return load_workbook(path, data_only=False)


def _cells(book: Workbook, position: str) -> Grid | None:
    """Values of `'Sheet'!A1:B2`; None if there is no such sheet."""
    name, span = position.rsplit("!", 1)
    name = name.strip("'")
    if name not in book.sheetnames:
        return None
    return [[cell.value for cell in row] for row in book[name][span]]


def _table(book: Workbook, name: str, columns: int) -> Grid:
    """Header and rows, wherever the table lies: the header is the first row without gaps."""
    sheet: Worksheet = book[name]
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    for at, row in enumerate(rows):
        filled = [c for c, value in enumerate(row) if value is not None]
        if len(filled) == columns and filled[-1] - filled[0] == columns - 1:
            return [r[filled[0] : filled[0] + columns] for r in rows[at:]]
    raise AssertionError(f"no table of {columns} columns in {name}")


def _number(value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if value.startswith("="):
        quantity, price = value[1:].split("*")
        return int(quantity) * float(price)
    text = value.replace("EUR", "").replace(",", "").strip()
    return -float(text[1:-1]) if text.startswith("(") else float(text)


def _date(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    for style in ("%Y-%m-%d", "%d %B %Y", "%d.%m.%Y", "%d/%m/%y"):
        try:
            return datetime.strptime(value.strip(), style)
        except ValueError:
            continue
    raise AssertionError(value)


def _lookup(book: Workbook) -> Grid:
    prices = {row[0]: row[2] for row in _table(book, "Catalogue", 3)[1:]}
    rows = _table(book, "Orders", 4)[1:]
    return [[prices.get(row[1].strip().upper(), "unknown")] for row in rows]


def _split(book: Workbook) -> Grid:
    names = [row[1].split(",") for row in _table(book, "Staff", 4)[1:]]
    return [[first.strip(), last.strip()] for last, first in names]


def _merge(book: Workbook) -> Grid:
    found: Grid = []
    for street, code, city, _ in _table(book, "Addresses", 4)[1:]:
        place = f"{str(code).zfill(5)} {city.strip()}"
        found.append([f"{street}, {place}" if street else place])
    return found


def _flag(book: Workbook) -> Grid:
    today = book["Settings"]["B1"].value
    found: Grid = []
    for _, due, _, paid, _ in _table(book, "Invoices", 5)[1:]:
        late = "late" if due < today else "open"
        found.append(["paid" if (paid or "").strip().lower().startswith("y") else late])
    return found


def _running(book: Workbook) -> Grid:
    balance = {row[0]: row[1] for row in _table(book, "Opening", 2)[1:]}
    found: Grid = []
    for _, account, money_in, money_out, _ in _table(book, "Journal", 5)[1:]:
        balance[account] += (money_in or 0) - (money_out or 0)
        found.append([balance[account]])
    return found


def _deduplicate(book: Workbook) -> Grid:
    header, *rows = _table(book, "Contacts", 3)
    first: dict[str, list[Any]] = {}
    for row in rows:
        first.setdefault(row[1].strip().lower(), row)
    return [header, *first.values()]


def _aggregate(book: Workbook) -> Grid:
    totals: Counter[str] = Counter()
    for _, region, _, amount in _table(book, "Sales", 4)[1:]:
        totals[region.strip()] += _number(amount)  # pyright: ignore[reportArgumentType]  # a Counter adds floats too
    rows = [[region, totals[region]] for region in sorted(totals)]
    return [["Region", "Total"], *rows, ["Total", sum(totals.values())]]


def _sort(book: Workbook) -> Grid:
    rows = _table(book, "Payroll", 3)[1:]
    total = [row for row in rows if row[0] == "Total"]
    people = [row for row in rows if row[0] != "Total"]
    return sorted(people, key=lambda row: (row[1], -row[2])) + total


def _unmerge(book: Workbook) -> Grid:
    found: Grid = []
    for row in _table(book, "Stock", 3)[1:]:
        found.append([row[0] or found[-1][0]])
    return found


SOLVERS: dict[str, Callable[[Workbook], Grid]] = {
    "lookup": _lookup,
    "dates": lambda book: [[_date(row[1])] for row in _table(book, "Receipts", 3)[1:]],
    "split": _split,
    "merge": _merge,
    "flag": _flag,
    "running": _running,
    "numbers": lambda book: [[_number(row[2])] for row in _table(book, "Sales", 3)[1:]],
    "deduplicate": _deduplicate,
    "aggregate": _aggregate,
    "sort": _sort,
    "unmerge": _unmerge,
}


def _plain(value: Any) -> Any:
    """A value as the official comparison sees it."""
    if isinstance(value, str):
        try:
            return round(float(value), 2)
        except ValueError:
            return value or None
    if isinstance(value, int | float):
        return round(float(value), 2)
    if isinstance(value, datetime):
        return round((value - datetime(1899, 12, 30)) / timedelta(days=1))
    return value


def _same(left: Grid | None, right: Grid | None) -> bool:
    if left is None or right is None:
        return False
    return [[_plain(v) for v in row] for row in left] == [[_plain(v) for v in row] for row in right]


def test_counts_and_strata() -> None:
    assert {split: LEDGER.split_size(split) for split in LEDGER.per_stratum} == {
        "train": 132,
        "selection": 231,
        "test": 363,
    }
    assert len(LEDGER.kinds) == 11


def test_every_stratum_once(corpus: tuple[Path, list[Task]]) -> None:
    out, tasks = corpus
    assert read_models(out / "test.jsonl", Task) == tasks
    strata = Counter(str(task.meta["stratum"]) for task in tasks)
    assert len(strata) == 33
    assert set(strata.values()) == {1}
    levels = {str(task.meta["instruction_type"]) for task in tasks}
    assert levels == {"Cell-Level Manipulation", "Sheet-Level Manipulation"}


def test_gold_follows_from_the_input_and_the_instruction(corpus: tuple[Path, list[Task]]) -> None:
    out, tasks = corpus
    for task in tasks:
        position = str(task.meta["answer_position"])
        gold = _cells(_open(out / str(task.answer)), position)
        solved = SOLVERS[str(task.meta["kind"])](_open(out / task.files["input.xlsx"]))
        assert _same(gold, solved), task.id


def test_untouched_input_fails_every_task(corpus: tuple[Path, list[Task]]) -> None:
    out, tasks = corpus
    for task in tasks:
        position = str(task.meta["answer_position"])
        gold = _cells(_open(out / str(task.answer)), position)
        assert not _same(gold, _cells(_open(out / task.files["input.xlsx"]), position)), task.id


def test_gold_is_out_of_reach(corpus: tuple[Path, list[Task]]) -> None:
    out, tasks = corpus
    for task in tasks:
        assert list(task.files) == ["input.xlsx"]
        assert task.files["input.xlsx"].startswith("inputs/")
        assert str(task.answer).startswith("golden/")
        assert "golden" not in task.prompt
        book = _open(out / task.files["input.xlsx"])
        assert len(book.sheetnames) >= 3
        if task.meta["instruction_type"] == "Sheet-Level Manipulation":
            continue
        column = _cells(_open(out / str(task.answer)), str(task.meta["answer_position"])) or []
        for name in book.sheetnames:  # no sheet holds the answer column already
            columns: list[Any] = list(zip(*book[name].iter_rows(values_only=True), strict=True))
            answer = [row[0] for row in column]
            assert not any(_holds(list(found), answer) for found in columns), task.id


def _holds(column: list[Any], answer: list[Any]) -> bool:
    return any(column[at : at + len(answer)] == answer for at in range(len(column)))


def test_workbooks_are_dirty_where_they_should_be(corpus: tuple[Path, list[Task]]) -> None:
    out, tasks = corpus
    texts: list[str] = []
    formulas = merged = 0
    for task in tasks:
        book = _open(out / task.files["input.xlsx"])
        for sheet in book.worksheets:
            merged += len(sheet.merged_cells.ranges)
            values = [v for row in sheet.iter_rows(values_only=True) for v in row]
            texts += [v for v in values if isinstance(v, str)]
            formulas += sum(isinstance(v, str) and v.startswith("=") for v in values)
    assert formulas > 40
    assert merged > 40
    assert any(text != text.strip() for text in texts)
    assert any(re.fullmatch(r"\d{1,3},\d{3}\.\d\d", text) for text in texts)
    assert any(re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", text) for text in texts)


def test_the_same_bytes_again(corpus: tuple[Path, list[Task]], tmp_path: Path) -> None:
    out, _ = corpus
    LEDGER.write_split("test", tmp_path, limit=33)
    assert digest_tree(tmp_path) == digest_tree(out)


def test_the_sample_is_the_start_of_train(repository: Path, tmp_path: Path) -> None:
    generate("ledger", tmp_path, "train", limit=12)
    assert digest_tree(tmp_path) == digest_tree(repository / "corpora" / "ledger" / "sample")


def test_another_seed_is_another_corpus(tmp_path: Path) -> None:
    first = LEDGER.write_split("train", tmp_path / "a", limit=2)[0]
    second = replace(LEDGER, seed=7).write_split("train", tmp_path / "b", limit=2)[0]
    name = first.files["input.xlsx"]
    assert first.id == second.id
    assert digest_file(tmp_path / "a" / name) != digest_file(tmp_path / "b" / name)


def test_bad_limit_and_split(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 1"):
        LEDGER.write_split("train", tmp_path, limit=0)
    with pytest.raises(BadInput, match="train, selection, test, all"):
        generate("ledger", tmp_path, "dev")


@pytest.mark.full
@pytest.mark.parametrize("split", ["train", "selection", "test"])
def test_whole_split(split: Split, tmp_path: Path) -> None:
    tasks = LEDGER.write_split(split, tmp_path)
    assert len(tasks) == len({task.id for task in tasks}) == LEDGER.split_size(split)
    strata = sorted(str(task.meta["stratum"]) for task in tasks)
    assert {len(list(group)) for _, group in groupby(strata)} == {LEDGER.per_stratum[split]}
    inputs = {digest_file(tmp_path / task.files["input.xlsx"]) for task in tasks}
    assert len(inputs) == len(tasks)
    for task in tasks:
        position = str(task.meta["answer_position"])
        gold = _cells(_open(tmp_path / str(task.answer)), position)
        book = _open(tmp_path / task.files["input.xlsx"])
        assert not _same(gold, _cells(book, position)), task.id
        assert _same(gold, SOLVERS[str(task.meta["kind"])](book)), task.id

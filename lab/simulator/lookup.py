"""Answers found in the prompt by rules: table look-up, counts, sums, and spans of a passage."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
_STOP = frozenset(
    _WORD.findall(
        "a an and are as at by did do does for from has have how in into is it its many much of on "
        "or say says that the their there this to was were what when where which who whom whose "
        "with answer question row table column value"
    )
)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?%?")
_NAME = re.compile(r"[A-Z][\w'-]*(?:(?: (?:of|the|de|and|&))? [A-Z][\w'-]*)*")
_DAY = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}} (?:{_MONTH})(?: \d{{4}})?|(?:{_MONTH}) \d{{1,2}}(?:, \d{{4}})?"
    rf"|{_DAY}|(?:{_MONTH})(?: \d{{4}})?|\b1\d{{3}}\b|\b20\d\d\b"
)


@dataclass(frozen=True)
class Table:
    """A table found in text: header names and rows of cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def content_words(text: str) -> set[str]:
    """Lower-case words without function words, plural marks cut off."""
    lowered = (word.lower() for word in _WORD.findall(text))
    return {word.rstrip("s") or word for word in lowered if word not in _STOP}


def look_up(question: str, material: str) -> str:
    """The answer to `question` in `material`: a cell, a count or sum, or a span of the text."""
    for table in find_tables(material):
        answer = _from_table(question, table)
        if answer is not None:
            return answer
    return _from_passage(question, material)


def find_tables(text: str) -> list[Table]:
    """Markdown and comma-separated tables: consecutive lines of the same number of cells."""
    tables: list[Table] = []
    block: list[tuple[str, ...]] = []
    for line in [*text.splitlines(), ""]:
        cells = _cells(line)
        if cells and (not block or len(cells) == len(block[0])):
            block.append(cells)
            continue
        if len(block) >= 3:
            tables.append(Table(block[0], tuple(block[1:])))
        block = [cells] if cells else []
    return tables


def _cells(line: str) -> tuple[str, ...]:
    line = line.strip()
    if line.startswith("|") and line.count("|") >= 3:
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        return () if all(set(cell) <= set(":- ") for cell in cells) else cells
    for mark in ("\t", ","):
        cells = tuple(cell.strip() for cell in line.split(mark))
        if len(cells) >= 2 and all(cells) and all(len(cell) < 40 for cell in cells):
            return cells
    return ()


def _from_table(question: str, table: Table) -> str | None:
    lowered = question.lower()
    words = content_words(question)
    matching = [
        row
        for row in table.rows
        if any(len(cell) > 1 and re.search(_whole(cell.lower()), lowered) for cell in row)
    ]
    if re.search(r"\bhow many\b|\bnumber of\b|\bcount\b", lowered):
        return str(len(matching or table.rows))
    if re.search(r"\btotal\b|\bsum\b|\baltogether\b|\baverage\b", lowered):
        column = _numeric_column(table, words)
        if column is None:
            return None
        values = [_number(row[column]) or 0.0 for row in matching or table.rows]
        total = sum(values) / len(values) if "average" in lowered else sum(values)
        return f"{round(total, 2):g}"
    extreme = re.search(
        r"\b(largest|highest|most|greatest|smallest|lowest|least|latest)\b", lowered
    )
    if extreme:
        return _extreme(table, lowered, extreme[1] in ("smallest", "lowest", "least"))
    if not matching:
        return None
    row = matching[0]
    candidates = {
        index for index, cell in enumerate(row) if not re.search(_whole(cell.lower()), lowered)
    }
    scores = {index: len(content_words(table.header[index]) & words) for index in candidates}
    return row[max(scores, key=lambda index: scores[index])] if scores else None


def _whole(text: str) -> str:
    return rf"(?<!\w){re.escape(text)}(?!\w)"


def _number(cell: str) -> float | None:
    match = _NUMBER.search(cell)
    return float(match[0].replace(",", "").rstrip("%")) if match else None


def _numeric_column(table: Table, words: set[str]) -> int | None:
    numeric = [
        index
        for index in range(len(table.header))
        if all(_number(row[index]) is not None for row in table.rows)
        and not counts_rows([row[index] for row in table.rows])
    ]
    mentioned = [index for index in numeric if content_words(table.header[index]) & words]
    return (mentioned or numeric[-1:] or [None])[0]


def counts_rows(cells: list[str]) -> bool:
    """Return True if a column only numbers its rows."""
    if len(cells) < 2 or not all(cell.isdecimal() for cell in cells):
        return False
    return [int(cell) - int(cells[0]) for cell in cells] == list(range(len(cells)))


def _extreme(table: Table, question: str, smallest: bool) -> str | None:
    by = _numeric_column(table, content_words(question))
    if by is None:
        return None
    sign = -1 if smallest else 1
    row = max(table.rows, key=lambda row: sign * (_number(row[by]) or 0.0))
    columns = [index for index in range(len(table.header)) if index != by]
    position = {index: question.find(table.header[index].lower()) for index in columns}
    first = min(columns, key=lambda index: (position[index] < 0, position[index], index))
    return row[first]


def _from_passage(question: str, passage: str) -> str:
    words = content_words(question)
    sentences = re.split(r"(?<=[.!?])\s+|\n+", passage)

    def spans(sentence: str) -> list[str]:
        matches = [span for pattern in _patterns(question) for span in pattern.findall(sentence)]
        return [
            span for span in matches if content_words(span) and not content_words(span) <= words
        ]

    def fit(sentence: str) -> float:
        return len(content_words(sentence) & words) + (0.5 if spans(sentence) else 0.0)

    best = max(sentences, key=fit, default="")
    if fresh := spans(best):
        return max(fresh, key=len) if _patterns(question) == (_NAME,) else fresh[0]
    matches = [m for m in _WORD.finditer(best) if content_words(m[0]) & words]
    ending = best[matches[-1].end() :] if matches else best
    return ending.strip(" .,;:!?") or best.strip(" .")


def _patterns(question: str) -> tuple[re.Pattern[str], ...]:
    lowered = question.lower()
    if re.search(r"\bhow (many|much|long|far|old)\b|percent|what number", lowered):
        return (_NUMBER,)
    if re.search(r"\bwhen\b|\b(which|what) (day|date|month|year)\b|day of the week", lowered):
        return (_DATE, _NUMBER)
    return (_NAME,)

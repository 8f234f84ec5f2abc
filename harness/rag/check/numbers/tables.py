"""Tables in a text: every value with its labels, its scale and its place.

Rows are lines of cells divided by `|` or a tab, as Markdown, our own parsers and most exports
write them. The scale that a corner or heading states ("$ in millions") belongs to every cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from harness.rag.check.numbers.reading import read
from harness.rag.check.numbers.types import Period, Quantity
from harness.rag.check.numbers.units import CODES, SYMBOLS

_RULE = re.compile(r"[\s|:+=-]*")
_IN = re.compile(
    r"\b(?:in|of|\w+ in|expressed in|stated in)\s+(?P<money>[A-Z]{0,3}[$€£¥]|[A-Za-z]+\s)?\s*"
    r"(?P<scale>hundreds|thousands|millions|billions|trillions|thousand|million|billion)\b"
    r"|(?P<sign>\b[A-Z]{2,3}|[$€£¥])\s?['\u2019]?\s?(?P<letter>[mk]|bn|mn|million|thousand|billion|['\u2019]?000s?)\b"
    r"|[(\s,](?P<zeros>['\u2019]?000s?)\b|^(?P<alone>[Tt]housands|[Mm]illions|\$?[Mm])$",
    re.IGNORECASE,
)
_POWER = {"h": 100, "t": 1000, "k": 1000, "m": 10**6, "b": 10**9}
_SYMBOL = re.compile("|".join(re.escape(one) for one in sorted(SYMBOLS, key=len, reverse=True)))
_UNSCALED = re.compile(
    r"per (?:\w+ ){0,2}(?:share|unit)|%|percent|number of|\bratio\b|\bcents?\b|\bpence\b"
)
_EMPTY = frozenset(("", "-", "\u2013", "\u2014", "n/a", "nm", "n.m.", "na", "*", "\u2014%", "-%"))


@dataclass(frozen=True)
class Cell:
    """One value of a table.

    Attributes:
        value: with the table's scale and currency where the cell has none of its own.
        plain: as it stands in the cell.
        start: first character in the document.
        end: character behind the last one.
        row: label of its row.
        column: labels above it, from the top, joined by a space.
        section: label of the rows it belongs to, or "".
        table: number of its table in the document.
        at: (row, column) in the table.
    """

    value: Quantity
    plain: Quantity
    start: int
    end: int
    row: str
    column: str
    section: str
    table: int
    at: tuple[int, int]


@dataclass(frozen=True)
class _Raw:
    text: str
    start: int


def cells(text: str) -> list[Cell]:
    """Values of all tables of `text`, in order."""
    found: list[Cell] = []
    for number, (rows, lead) in enumerate(_tables(text)):
        found.extend(_cells(rows, lead, number))
    return found


def table_spans(text: str) -> list[tuple[int, int]]:
    """Where the tables stand."""
    spans: list[tuple[int, int]] = []
    for rows, _ in _tables(text):
        last = rows[-1][-1]
        spans.append((rows[0][0].start, last.start + len(last.text)))
    return spans


def _tables(text: str) -> Iterator[tuple[list[list[_Raw]], str]]:
    """(rows, line above) of every table: two or more lines of cells in a row."""
    lines: list[tuple[str, int]] = []
    above, lead, start = "", "", 0
    for line in [*text.split("\n"), ""]:
        if "|" in line or "\t" in line:
            lead = lead if lines else above
            lines.append((line, start))
        else:
            rows = _rows(lines)
            if len(rows) > 1:
                yield rows, lead
            lines, above = [], line if line.strip() else above
        start += len(line) + 1


def _rows(lines: list[tuple[str, int]]) -> list[list[_Raw]]:
    """Cells of each line; rules are left out, and the outer marks of Markdown."""
    kept = [(line, start) for line, start in lines if not (_RULE.fullmatch(line) and "--" in line)]
    edged = all(line.strip()[:1] == line.strip()[-1:] == "|" for line, _ in kept)
    return [_split(line, start)[1:-1] if edged else _split(line, start) for line, start in kept]


def _split(line: str, start: int) -> list[_Raw]:
    mark = "\t" if "\t" in line else "|"
    found: list[_Raw] = []
    for part in line.split(mark):
        inner = part.strip()
        found.append(_Raw(inner, start + (part.index(inner) if inner else 0)))
        start += len(part) + 1
    return found


def _cells(rows: list[list[_Raw]], lead: str, number: int) -> Iterator[Cell]:
    depth = _header_depth(rows)
    heads = _column_heads(rows[:depth])
    corner = " ".join(raw.text for row in rows[:depth] for raw in row)
    general = _scale_of(corner) or _scale_of(lead)
    if general and not general[1]:
        general = general[0], _currency(" ".join(raw.text for row in rows for raw in row[1:]))
    section = ""
    for at, row in enumerate(rows[depth:], start=depth):
        label = row[0].text
        if not any(_is_filled(raw) for raw in row[1:]):
            section = label
            general = _scale_of(label) or general
            continue
        for column, raw in enumerate(row[1:], start=1):
            head = heads.get(column, "")
            value = _value(raw.text)
            if value is None:
                continue
            hint = _scale_of(label) or _scale_of(head) or general
            scaled = _scaled(value, hint, f"{label} {head}", head, corner)
            yield Cell(
                scaled, value, raw.start, raw.start + len(raw.text), label, head, section, number,
                (at, column),
            )  # fmt: skip


def _is_filled(raw: _Raw) -> bool:
    return raw.text.lower() not in ("", "$", "\u20ac", "\u00a3")


def _value(text: str) -> Quantity | None:
    if text.lower() in _EMPTY or ":" in text:
        return None  # nothing, or a ratio or clock time
    joined = re.sub(r"([$\u20ac\u00a3\u00a5])(\s+)(?=[\d(])", lambda m: m[2] + m[1], text)
    spaced = re.sub(r"(?<=[\d)])(\s+)%", lambda m: "%" + m[1], joined)
    numbers = [one for one in read(spaced) if isinstance(one, Quantity)]
    if not numbers:  # a cell may hold a number that looks like a year
        bare = re.fullmatch(r"\d{4}", text)
        return Quantity(Fraction(int(text)), Fraction(1), end=4, text=text) if bare else None
    first = numbers[0]
    return replace(first, text=text)


def _header_depth(rows: list[list[_Raw]]) -> int:
    """Rows at the top whose cells name columns: years, periods, words, currencies."""
    named = False
    for depth, row in enumerate(rows):
        others = [raw.text for raw in row[1:] if _is_filled(raw)]
        datum = any(_is_datum(text) for text in others) and not (depth == 0 and _all_years(others))
        if datum or (named and not others and not _scale_of(row[0].text)):
            return max(depth, 1)
        named = named or bool(others)
        if depth >= 6:
            break
    return 1


def _all_years(texts: list[str]) -> bool:
    return all(re.fullmatch(r"\d{4}", text) for text in texts)


def _is_datum(text: str) -> bool:
    if text.lower() in _EMPTY - {""}:
        return True
    found = read(text)
    if not found or any(isinstance(one, Period) for one in found):
        return False
    covered = sum(one.end - one.start for one in found)
    return covered * 2 >= len(text.strip())


def _column_heads(rows: list[list[_Raw]]) -> dict[int, str]:
    """Labels of each column; a label above empty cells spans them."""
    width = max((len(row) for row in rows), default=0)
    parts: dict[int, list[str]] = {column: [] for column in range(1, width)}
    for level, row in enumerate(rows):
        last = ""
        for column in range(1, width):
            text = row[column].text if column < len(row) else ""
            spans = not text and level < len(rows) - 1
            last = text or (last if spans else "")
            if text or (last and spans):
                parts[column].append(last)
    return {column: " ".join(texts) for column, texts in parts.items()}


def _scale_of(text: str) -> tuple[int, str] | None:
    """(factor, currency or "") that a label states."""
    match = _IN.search(text)
    if match is None:
        return None
    word = match["scale"] or match["letter"] or match["zeros"] or match["alone"]
    letter = word.lstrip("'\u2019$").lower()[0]
    factor = 1000 if letter == "0" else _POWER[letter]
    return factor, _currency(text)


def _currency(text: str) -> str:
    symbol = _SYMBOL.search(text)
    if symbol:
        return SYMBOLS[symbol[0]]
    if re.search(r"\bdollars?\b", text, re.IGNORECASE):
        return "USD"
    return next((word for word in re.findall(r"\b[A-Z]{3}\b", text) if word in CODES), "")


def _scaled(
    value: Quantity, hint: tuple[int, str] | None, labels: str, head: str, corner: str
) -> Quantity:
    """The cell's value with what its labels say of unit and scale."""
    labels = labels.lower()
    if value.unit == "" and ("%" in labels or "percent" in labels):
        return replace(value, unit="%")
    if value.unit not in ("", *CODES):
        return value
    currency = value.unit or (hint[1] if hint else "") or _currency(f"{head} {corner}")
    if hint is None or _UNSCALED.search(labels):
        return value
    return replace(value, value=value.value * hint[0], step=value.step * hint[0], unit=currency)

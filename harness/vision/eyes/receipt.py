"""Key fields of a receipt by rules over its lines: date, total, company, address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .ocr import Line

_DATE = re.compile(
    r"(?<!\d)(?:\d{1,2}([/.-])\d{1,2}\1(?:20)?\d{2}(?!\d)|20\d{2}([/.-])\d{1,2}\2\d{1,2}(?!\d))"
)
_WORDED = re.compile(
    r"(?<!\d)(\d{1,2})[ .-]?(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[A-Z]*[ .-]?"
    r"((?:20)?\d{2})",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?:RM|\$)?\d{1,3}(?:,?\d{3})*[.]\s?\d{2}(?!\d)", re.IGNORECASE)
_NO_TOTAL = re.compile(
    r"sub|qty|quant|item|gst\b(?!\s*incl)|tax|excl|disc|saving|point|change|before", re.IGNORECASE
)
_INCLUSIVE = re.compile(r"incl", re.IGNORECASE)
# What stands before a total, the best first.
_LABELS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"round\w*\s*d?\s*total|total\s*round",
        r"grand\s*total|net+\s*total|total\s*(?:payable|due|amount|amt)|amount\s*due|total.*incl",
        r"\btotal\b",
        r"sub\s*-?total",
        r"\bcash\b|visa|master",
    )
)
_COMPANY = re.compile(r"sdn|bhd|enterprise|trading|restaurant|store|mart|ltd|\binc\b|s/b",
                      re.IGNORECASE)  # fmt: skip
_ADDRESS = re.compile(
    r"\bno\b|lot|jalan|jln|taman|(?<!\d)\d{5}(?!\d)|street|road|floor|lorong", re.IGNORECASE
)
_AFTER_ADDRESS = re.compile(r"tel|fax|gst|tax|invoice|receipt|reg|date|www|@", re.IGNORECASE)


class Receipt(NamedTuple):
    """The fields, each as printed; None where none was found."""

    company: str | None
    date: str | None
    address: str | None
    total: str | None


def read_receipt(lines: Sequence[Line]) -> Receipt:
    """The key fields of a receipt.

    Args:
        lines: its text from top to bottom.
    """
    # A line near the top that names a kind of company, else the first line with letters.
    top = [line.text for line in lines if re.search(r"[^\W\d_]", line.text)][:6]
    company = next((text for text in top if _COMPANY.search(text)), top[0] if top else None)
    return Receipt(company, _date(lines), _address(lines), _total(lines))


def _date(lines: Sequence[Line]) -> str | None:
    """The first date; one on a line that says "date" goes first."""
    labels = [line for line in lines if "date" in line.text.lower()]
    rows = [line for label in labels for line in lines if _one_row(label, line)]
    for line in (*rows, *lines):
        if match := _DATE.search(line.text):
            return match[0]
        if match := _WORDED.search(line.text):
            return f"{match[1]} {match[2].upper()} {match[3]}"
    return None


def _total(lines: Sequence[Line]) -> str | None:
    """The last amount on the row of the best label, the label's own text first."""
    for number, pattern in enumerate(_LABELS):
        for label in lines:
            partial = _NO_TOTAL.search(label.text) and not _INCLUSIVE.search(label.text)
            if not pattern.search(label.text) or (number < 3 and partial):
                continue
            row = [line for line in lines if _one_row(label, line) and line.left >= label.left]
            for line in (label, *sorted(row, key=lambda line: -line.right)):
                if amounts := _AMOUNT.findall(line.text):
                    return amounts[-1].replace(" ", "")
    amounts = [amount for line in lines for amount in _AMOUNT.findall(line.text)]
    return max(amounts, key=lambda amount: float(re.sub(r"[^\d.]", "", amount)), default=None)


def _one_row(label: Line, line: Line) -> bool:
    return abs(label.y - line.y) < 0.6 * max(label.bottom - label.top, 8)


def _address(lines: Sequence[Line]) -> str | None:
    """The lines from the first that looks like an address to what comes after one."""
    parts: list[str] = []
    for line in lines[:14]:
        address = _ADDRESS.search(line.text)
        if address or (parts and not _AFTER_ADDRESS.search(line.text)):
            parts.append(line.text)
        elif parts:
            break
    return " ".join(parts[:4]) or None

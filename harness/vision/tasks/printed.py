"""Answers that are copied from a picture: texts as printed, numbers as numbers, nothing between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

_MONEY = re.compile(r"^[$€£]\s*|\s*[$€£]$")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")


def printed_match(prediction: str, answers: Sequence[str]) -> bool:
    """Whether the prediction is an accepted answer.

    Capitals, runs of spaces, quotes, a full stop at the end and marks of currency do not count;
    12.4 is 12.40, and 1,200 is 1200.

    Args:
        prediction: what was said.
        answers: accepted answers.
    """
    said = _plain(prediction)
    return any(said == (wanted := _plain(answer)) or _same(said, wanted) for answer in answers)


def _plain(text: str) -> str:
    bare = " ".join(text.split()).strip("\"'`*").removesuffix(".")
    return _MONEY.sub("", bare).casefold()


def _same(said: str, wanted: str) -> bool:
    left, right = _number(said), _number(wanted)
    return left is not None and left == right


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(_GROUPED.sub("", text))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None

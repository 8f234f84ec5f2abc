"""The execution accuracy of HiTab (Cheng et al. 2022): an ordered list of numbers and texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.tasks.tableqa.denotation import MOST_CHARACTERS, normalised

TOLERANCE = 1e-5


def same_list(gold: Sequence[str], answer: Sequence[str]) -> bool:
    """Whether an answer has the gold's items in their order; numbers within 1e-5, texts equal."""
    return len(gold) == len(answer) and all(
        _same(_read(wanted), _read(found)) for wanted, found in zip(gold, answer, strict=True)
    )


def _read(text: str) -> float | str:
    """A number, without bracket, percent, dollar signs and thousands commas; else the text."""
    text = text.strip()[:MOST_CHARACTERS].lower()
    bare = text.removeprefix("(")
    if bare.endswith(("%", ")")):
        bare = bare[:-1]
    try:
        number = float(bare.replace(",", "").replace("$", ""))
    except ValueError:
        return normalised(text)
    return number if math.isfinite(number) else normalised(text)


def _same(wanted: float | str, found: float | str) -> bool:
    if isinstance(wanted, float) and isinstance(found, float):
        return abs(wanted - found) < TOLERANCE
    return type(wanted) is type(found) and wanted == found

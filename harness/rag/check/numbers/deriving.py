"""Values that a document does not state but that follow from those it does.

A sum, difference, ratio, growth, mean or share is recomputed exactly from cells of one row or one
column; the wording of the claim decides which of them it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations

from harness.rag.check.numbers.comparing import agreement
from harness.rag.check.numbers.tables import Cell
from harness.rag.check.numbers.types import Agreement, Quantity

_CUES = {
    "growth": r"increas|decreas|grew|grow|ris|rose|fell|fall|declin|drop|chang|up\b|down\b|gain|"
    r"higher|lower|jump|climb|shrank|reduc|improv",
    "difference": r"increas|decreas|grew|rise|rising|rose|fell|fall|declin|drop|chang|up\b|down\b|"
    r"gain|higher|lower|more|less|fewer|differ|gap|exceed|between|reduc|improv",
    "sum": r"total|sum|combined|together|altogether|both|cumulative|overall|aggregate",
    "mean": r"average|mean|\bper (?:year|month|quarter|day)",
    "ratio": r"ratio|times|twice|double|triple|as (?:much|many|large|high)|fold|per\b",
    "share": r"share|percent of|% of|proportion|portion|account(?:s|ed|ing)? for|made up|"
    r"represent|constitut|percentage",
}
_CUE = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _CUES.items()}
MOST = 12
"""Cells that are combined; more would fit anything."""


@dataclass(frozen=True)
class Derivation:
    """How a value follows.

    Attributes:
        operation: sum, difference, ratio, growth, mean or share.
        formula: with the values as they stand in the document.
        cells: what it is computed from.
    """

    operation: str
    formula: str
    cells: tuple[Cell, ...]


def derive(claim: Quantity, sentence: str, cited: Sequence[Cell]) -> Derivation | None:
    """The first computation over `cited` that gives the claimed value; None if there is none.

    Args:
        claim: the claimed value.
        sentence: whose wording decides which computations are meant.
        cited: cells that the sentence speaks of, the likeliest first.
    """
    if claim.high is not None:
        return None
    meant = [name for name, cue in _CUE.items() if cue.search(sentence)]
    for found, value in _candidates(meant, cited[:MOST]):
        if _agrees(claim, value, found):
            return found
    return None


def _agrees(claim: Quantity, value: Quantity, found: Derivation) -> bool:
    """By the claim's digits; a change that is worded (fell by 5) may be written without sign."""
    if value.unit == "%" and claim.unit != "%":
        return False  # a bare 0.6 is too little to be a share or a growth
    exact = replace(value, step=Fraction(0))
    if agreement(claim, exact) is Agreement.SAME:
        return True
    unsigned = found.operation in ("growth", "difference") and not claim.signed
    mirrored = replace(exact, value=abs(exact.value))
    return unsigned and agreement(claim, mirrored) is Agreement.SAME


def _candidates(meant: list[str], cited: Sequence[Cell]) -> Iterator[tuple[Derivation, Quantity]]:
    for one, other in permutations(cited, 2):
        if one.table == other.table and _in_line(one, other):
            yield from _pairs(meant, one, other)
    if "sum" in meant or "mean" in meant:
        for size in range(2, min(5, len(cited)) + 1):
            for group in combinations(cited, size):
                yield from _groups(meant, group)


def _in_line(one: Cell, other: Cell) -> bool:
    return one.at[0] == other.at[0] or one.at[1] == other.at[1]


def _pairs(meant: list[str], one: Cell, other: Cell) -> Iterator[tuple[Derivation, Quantity]]:
    """Computations with two cells of one row or column and one unit."""
    first, second = one.value, other.value
    if first.unit != second.unit:
        return
    a, b, both = one.plain.text, other.plain.text, (one, other)
    if "difference" in meant:
        unit = "pp" if first.unit == "%" else first.unit
        value = Quantity(first.value - second.value, Fraction(0), unit)
        yield Derivation("difference", f"{a} - {b}", both), value
    if second.value == 0:
        return
    ratio = first.value / second.value
    if "growth" in meant and one.at[0] == other.at[0]:
        value = Quantity((ratio - 1) * 100 * _sign(second.value), Fraction(0), "%")
        yield Derivation("growth", f"({a} - {b}) / {b}", both), value
    if "share" in meant:
        yield Derivation("share", f"{a} / {b}", both), Quantity(ratio * 100, Fraction(0), "%")
    if "ratio" in meant:
        yield Derivation("ratio", f"{a} / {b}", both), Quantity(ratio, Fraction(0), "")
        yield Derivation("ratio", f"{a} / {b}", both), Quantity(ratio, Fraction(0), "times")


def _sign(value: Fraction) -> int:
    return -1 if value < 0 else 1


def _groups(meant: list[str], group: tuple[Cell, ...]) -> Iterator[tuple[Derivation, Quantity]]:
    """Sums and means of cells of one row, or of one column."""
    if len({cell.value.unit for cell in group} | {""}) > 2 or not _one_line(group):
        return
    total = sum((cell.value.value for cell in group), Fraction(0))
    unit = next((cell.value.unit for cell in group if cell.value.unit), "")
    written = " + ".join(cell.plain.text for cell in group)
    if "sum" in meant:
        yield Derivation("sum", written, group), Quantity(total, Fraction(0), unit)
    if "mean" in meant:
        value = Quantity(total / len(group), Fraction(0), unit)
        yield Derivation("mean", f"({written}) / {len(group)}", group), value


def _one_line(group: tuple[Cell, ...]) -> bool:
    same_table = len({cell.table for cell in group}) == 1
    rows, columns = {cell.at[0] for cell in group}, {cell.at[1] for cell in group}
    return same_table and (len(rows) == 1 or len(columns) == 1)

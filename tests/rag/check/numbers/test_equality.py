"""Equality of values in every form that people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.rag.check.numbers import equal

HERE = Path(__file__).parent


def pairs(name: str) -> list[tuple[str, str, str, bool]]:
    """(kind, one, other, whether they are the same) of each line of a file of cases."""
    found: list[tuple[str, str, str, bool]] = []
    kind = ""
    for line in (HERE / name).read_text().splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line.strip() and not line.startswith("#"):
            same = " = " in line
            one, other = line.split(" = " if same else " ! ", 1)
            found.append((kind, one, other, same))
    return found


MARCH, OWN = pairs("equality_march.txt"), pairs("equality_own.txt")


def test_enough_cases() -> None:
    assert len(MARCH) == 22
    assert len({frozenset((one, other)) for _, one, other, _ in OWN}) >= 300


@pytest.mark.parametrize(("kind", "one", "other", "same"), MARCH + OWN)
def test_same_value(kind: str, one: str, other: str, same: bool) -> None:
    assert equal(one, other) is same, kind
    assert equal(other, one) is same, kind

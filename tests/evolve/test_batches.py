"""Merge batches are those of the reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evolve import batches


def test_the_reference_cases() -> None:
    assert [len(one) for one in batches(range(70), 32)] == [35, 35]
    for size, levels in ((5, [65, 13, 3, 1]), (32, [10, 1])):
        count = 323
        for patches in levels:
            count = len(batches(range(count), size))
            assert count == patches


def test_a_small_remainder_is_dealt_round_robin() -> None:
    assert batches(range(9), 4) == [[0, 1, 2, 3, 8], [4, 5, 6, 7]]
    assert batches(range(10), 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_of_one_would_never_end() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        batches(range(4), 1)


@given(st.integers(0, 400), st.integers(2, 50))
def test_every_item_is_in_exactly_one_batch(count: int, size: int) -> None:
    dealt = batches(range(count), size)
    assert sorted(item for batch in dealt for item in batch) == list(range(count))
    assert all(batch for batch in dealt)
    assert count < 2 or len(dealt) < count

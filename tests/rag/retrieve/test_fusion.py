"""Fusion of rankings, and conditions on metadata."""

from __future__ import annotations

import pytest

from harness.core import BadInput
from harness.rag.retrieve import Condition, parse_condition
from harness.rag.retrieve.search import all_hold, reciprocal_rank, weighted

DENSE = [("a", 0.9), ("b", 0.8), ("c", 0.1)]
LEXICAL = [("c", 12.0), ("b", 11.0), ("d", 2.0)]


def test_reciprocal_rank_sums_over_the_rankings() -> None:
    found = reciprocal_rank({"dense": DENSE, "lexical": LEXICAL})
    expected = {"c": 1 / 63 + 1 / 61, "b": 2 / 62, "a": 1 / 61, "d": 1 / 63}
    assert dict(found) == pytest.approx(expected)
    assert [key for key, _ in found] == ["c", "b", "a", "d"]


def test_weighted_scales_each_ranking_to_one() -> None:
    found = dict(weighted({"dense": DENSE, "lexical": LEXICAL}, {"dense": 3.0, "lexical": 1.0}))
    assert found == pytest.approx({"a": 0.75, "b": 0.75 * 0.875 + 0.25 * 0.9, "c": 0.25, "d": 0})
    only = weighted({"dense": [("a", 0.3)], "lexical": []}, {"dense": 1.0, "lexical": 1.0})
    assert only == [("a", 0.5)]


FACTS = {"year": 2021, "language": "en", "tags": ["pump", "seal"], "source": "docs/a/b.md"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("year=2021", True),
        ("year>=2022", False),
        ("year<2022", True),
        ("year != 2021", False),
        ("language=en", True),
        ("language>5", False),
        ("tags=seal", True),
        ('language=["de", "en"]', True),
        ("author=Kim", False),
        ("author!=Kim", True),
        ("source~docs/*", True),
        ("source~other/*", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert parse_condition(text).holds(FACTS) is holds


def test_all_conditions_must_hold() -> None:
    known = Condition("year", "=", 2021)
    assert all_hold([known], FACTS)
    assert not all_hold([known, Condition("year", "=", 2020)], FACTS)
    with pytest.raises(BadInput, match="year>=2020, language=en or source~docs"):
        parse_condition("recent")

"""The published averages of table 1 follow from the published cells (facts of the paper)."""

from __future__ import annotations

import pytest

from harness.core import BadInput
from harness.evals import trace2skill_average
from harness.evals.papers import IN_DOMAIN, OUT_OF_DOMAIN

# (skill, Vrf Soft Hard WikiTQ HiTab of the 122B user, then of the 35B user, published Avg)
TABLE_1 = (
    ("No skill", (27.67, 28.9, 17.57, 21.5, 14.42, 19.0, 18.0, 4.6, 13.33, 19.12), 18.19),
    (
        "Human-written (S0 Deep)",
        (48.33, 36.3, 17.03, 74.68, 41.31, 9.67, 13.03, 3.37, 9.02, 5.3),
        26.93,
    ),
    (
        "Parametric (S0 Create)",
        (26.17, 36.6, 17.5, 23.73, 17.36, 20.17, 13.7, 3.87, 20.14, 13.94),
        19.23,
    ),
    (
        "122B Deep +Error",
        (65.83, 46.6, 27.43, 76.3, 43.45, 36.67, 22.47, 6.23, 18.28, 14.85),
        36.21,
    ),
    (
        "122B Deep +Success",
        (66.33, 44.9, 25.73, 64.33, 40.36, 29.33, 19.87, 4.7, 21.11, 27.63),
        35.08,
    ),
    (
        "122B Deep +Combined",
        (69.83, 47.17, 29.53, 79.24, 44.28, 30.83, 21.87, 5.17, 15.66, 17.24),
        36.59,
    ),
    (
        "122B Create +Error",
        (49.0, 40.37, 23.37, 31.62, 15.66, 28.83, 23.23, 7.87, 22.2, 23.58),
        26.02,
    ),
    (
        "122B Create +Success",
        (41.5, 35.67, 21.83, 47.43, 37.25, 33.0, 25.27, 10.0, 50.5, 42.84),
        36.19,
    ),
    (
        "122B Create +Combined",
        (40.17, 35.97, 21.03, 56.05, 40.47, 35.67, 28.2, 11.1, 49.84, 41.65),
        37.85,
    ),
    ("35B Deep +Error", (65.0, 44.8, 25.17, 68.32, 38.93, 27.0, 22.2, 8.2, 11.73, 13.38), 32.58),
    ("35B Deep +Success", (50.5, 39.03, 20.33, 76.14, 43.01, 22.0, 18.9, 4.6, 52.25, 40.0), 39.37),
    (
        "35B Deep +Combined",
        (55.0, 40.17, 21.2, 77.33, 43.75, 29.67, 18.8, 5.73, 51.22, 41.76),
        40.97,
    ),
    ("35B Create +Error", (27.17, 28.9, 18.53, 81.38, 45.61, 24.0, 21.0, 6.53, 32.8, 31.75), 34.45),
    (
        "35B Create +Success",
        (31.5, 32.03, 19.93, 32.82, 19.7, 25.83, 19.5, 6.5, 23.45, 32.88),
        24.88,
    ),
    (
        "35B Create +Combined",
        (34.5, 30.77, 19.5, 54.55, 34.29, 24.5, 23.43, 8.6, 38.14, 39.16),
        32.54,
    ),
)
NAMES: tuple[str, ...] = (*IN_DOMAIN, *OUT_OF_DOMAIN)


@pytest.mark.parametrize(("skill", "cells", "published"), TABLE_1, ids=[row[0] for row in TABLE_1])
def test_the_published_average(skill: str, cells: tuple[float, ...], published: float) -> None:
    users: dict[str, dict[str, float]] = {
        "122B": dict(zip(NAMES, cells[:5], strict=True)),
        "35B": dict(zip(NAMES, cells[5:], strict=True)),
    }
    assert trace2skill_average(users) == pytest.approx(published, abs=0.0101)


def test_every_row_is_there() -> None:
    assert len(TABLE_1) == 15


def test_a_missing_benchmark_is_named() -> None:
    with pytest.raises(BadInput, match="lacks HiTab"):
        trace2skill_average({"a": dict.fromkeys(NAMES[:-1], 1.0)})

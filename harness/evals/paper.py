"""Summary figures of the papers, by their formulas."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from harness.core import BadInput

IN_DOMAIN = ("Vrf", "Soft", "Hard")
OUT_OF_DOMAIN = ("WikiTQ", "HiTab")


def trace2skill_average(users: Mapping[str, Mapping[str, float]]) -> float:
    """The `Avg` of Trace2Skill (arXiv 2603.25158v2, table 1), in points.

    Avg = (ID + OOD) / 2, where ID is the mean of Vrf, Soft and Hard over all user models and OOD
    that of WikiTQ and HiTab: both halves weigh the same although they have six and four cells.

    Args:
        users: user model -> score of each of the five benchmarks, in points.

    Raises:
        BadInput: if there is no user model, or one lacks a benchmark.
    """
    if not users:
        raise BadInput("expected the scores of at least one user model, got none")
    for user, scores in users.items():
        if missing := [name for name in (*IN_DOMAIN, *OUT_OF_DOMAIN) if name not in scores]:
            raise BadInput(f"user model {user!r} lacks {', '.join(missing)}")
    halves = (
        fmean(scores[name] for scores in users.values() for name in names)
        for names in (IN_DOMAIN, OUT_OF_DOMAIN)
    )
    return fmean(halves)

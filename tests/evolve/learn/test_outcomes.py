"""Outcomes of the written sessions of both clients, and the claims that they rest on."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.evolve.learn.outcomes import infer_outcome
from harness.evolve.learn.spans import Spans
from harness.evolve.learn.types import Outcome
from harness.trajectories import open_trajectories
from tests.evolve.learn.cases import TUNING, Case
from tests.evolve.learn.clients import write_claude, write_codex


def written(case: Case, home: Path) -> Path:
    """The session of a case on disk."""
    if case.client == "claude":
        return write_claude(home, case.name, case.events)
    return write_codex(home, case.name, case.events, form=int(case.client[-1]))


def outcome_of(path: Path) -> Outcome:
    (trajectory,) = open_trajectories(path)
    return infer_outcome(trajectory, Spans(path))


@pytest.mark.parametrize("case", TUNING, ids=[case.name for case in TUNING])
def test_the_outcome_is_what_a_reader_says(case: Case, tmp_path: Path) -> None:
    assert outcome_of(written(case, tmp_path)).verdict == case.expected

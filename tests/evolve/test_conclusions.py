"""Analysts' conclusions that the run contradicts edit no skill, where that is asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.core import Trajectory
from harness.evolve import EvolveSettings
from harness.evolve.analysts.records import record_of
from harness.evolve.analysts.single import checked, contradicted
from harness.evolve.types import AnalystRecord, AnalystType, Reading
from tests.evolve.conftest import trajectory

RUN = trajectory(
    "France", "fail", "The sheet has 412 rows in 2019. I wrote 411 rows and saved out.xlsx."
)


def record(root_cause: str) -> AnalystRecord:
    items = [{"title": "Rows", "lesson": "Count the rows again.", "generalization": ""}]
    row: dict[str, Any] = {"root_cause": root_cause, "memory_items": items}
    return record_of(row, RUN.trajectory_id, "France")


def read(root_cause: str) -> Reading:
    async def reader(one: Trajectory, kind: AnalystType) -> Reading:
        return Reading(record=record(root_cause))

    return asyncio.run(checked(reader)(RUN, "error"))


@pytest.mark.wing("rag")
def test_a_conclusion_that_the_run_bears_out_passes() -> None:
    found = read("The sheet has 412 rows in 2019, and the agent wrote 411 rows.")
    assert (found.record is not None, found.losses) == (True, ())


@pytest.mark.wing("rag")
def test_a_conclusion_that_the_run_contradicts_is_a_loss() -> None:
    found = read("The sheet has 512 rows in 2019.")
    assert found.record is None
    (loss,) = found.losses
    assert loss.stage == "analysts"
    assert "512" in loss.reason


@pytest.mark.wing("rag")
def test_saying_more_than_the_run_shows_is_no_contradiction() -> None:
    assert contradicted(record("The agent was careless and never looked at the header."), "x") == ""
    assert contradicted(record(""), "The sheet has 412 rows.") == ""


def test_the_option_is_off_and_does_not_change_what_earlier_evolutions_are() -> None:
    off = EvolveSettings.model_validate({"out": "out", "create": "x"})
    on = off.model_copy(update={"check_conclusions": True})
    assert off.check_conclusions is False
    assert "check_conclusions" not in off.fingerprint()
    assert on.fingerprint()["check_conclusions"] is True

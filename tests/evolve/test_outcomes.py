"""Rules are judged by the failed and the passed runs to which they apply."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from harness.core import Step, Trajectory
from harness.evolve import AnalystRecord, AnalystType, EvolveOptions, MemoryItem, evolve
from harness.evolve.types import Reading
from harness.skills import load_skill
from tests.evolve.conftest import trajectory, write_trajectories

HABIT = "I open the sheet and read its 12 rows."
SKIPPED, LESSON = "I pass over the hidden rows.", "Count the hidden rows, too."
LATE, CORRELATE = "I sort at the very end.", "Sort all rows by date."
ADDED, REFUND = "Money is added like all other money.", "Subtract money that was refunded."
LOOK = "Read the sheet with care."


def evolved(
    tmp_path: Path, runs: list[Trajectory], taught: dict[str, str]
) -> tuple[str, list[dict[str, str]]]:
    """SKILL.md, and what was left out.

    Args:
        tmp_path: to write to.
        runs: failed and passed.
        taught: line of a failed run -> the lesson that its analyst draws from it.
    """

    async def read(run: Trajectory, kind: AnalystType) -> Reading:
        items = tuple(
            MemoryItem(title="Rule", lesson=lesson, evidence=(line,))
            for line, lesson in taught.items()
            if line in run.answer
        )
        record = AnalystRecord(
            kind=kind, trajectory_id=run.trajectory_id, task_id=run.task_id, items=items
        )
        return Reading(record=record if items else None)

    folder = write_trajectories(tmp_path / "runs", runs)
    options = EvolveOptions(
        out=tmp_path / "out", create="sheets", trajectories=folder, signal="error"
    )
    result = asyncio.run(evolve(options, read=read))
    discarded = json.loads((tmp_path / "out" / "discarded.json").read_text())
    return load_skill(result.skill).text, discarded


def made(name: str, outcome: str, count: int, *lines: str, prompt: str = "") -> list[Trajectory]:
    return [
        trajectory(f"{name}{n}", outcome, "\n".join(lines), prompt or f"Sum up sheet {n}.")
        for n in range(count)
    ]


def test_a_true_cause_stays_though_it_is_harmless_where_it_does_not_apply(tmp_path: Path) -> None:
    """Only where money was refunded is it wrong to add all of it; most runs have no refund."""
    refund = "Sum up the sheet. It holds money that was refunded."
    runs = [
        *made("r", "fail", 6, ADDED, prompt=refund),
        *made("s", "fail", 30, SKIPPED),
        *made("p", "pass", 40, ADDED),
        *made("q", "pass", 6, "I subtract it.", prompt=refund),
    ]
    skill, _ = evolved(tmp_path, runs, {ADDED: REFUND, SKIPPED: LESSON})
    assert REFUND in skill and LESSON in skill


def test_a_habit_of_all_runs_is_no_rule(tmp_path: Path) -> None:
    runs = [*made("f", "fail", 9, HABIT, SKIPPED), *made("p", "pass", 9, HABIT)]
    skill, discarded = evolved(tmp_path, runs, {HABIT: LOOK, SKIPPED: LESSON})
    assert LESSON in skill and LOOK not in skill
    (row,) = [row for row in discarded if LOOK in row["content"]]
    assert "in 9 of 9 failed and 9 of 9 passed" in row["reason"]


def test_a_spurious_correlate_is_explained_by_the_cause_that_it_comes_with(tmp_path: Path) -> None:
    runs = [
        *made("a", "fail", 8, SKIPPED, LATE),
        *made("b", "fail", 4, SKIPPED),
        *made("p", "pass", 3, LATE),
        *made("q", "pass", 20, "I add up."),
    ]
    skill, discarded = evolved(tmp_path, runs, {SKIPPED: LESSON, LATE: CORRELATE})
    assert LESSON in skill and CORRELATE not in skill
    assert any(
        "spurious correlate" in row["reason"] and CORRELATE in row["content"] for row in discarded
    )


def test_a_rare_cause_stays(tmp_path: Path) -> None:
    runs = [
        *made("a", "fail", 12, SKIPPED),
        *made("b", "fail", 2, LATE),
        *made("q", "pass", 20, "I add up."),
    ]
    skill, _ = evolved(tmp_path, runs, {SKIPPED: LESSON, LATE: CORRELATE})
    assert LESSON in skill and CORRELATE in skill


PROMPT = """Sort the calls of a zoo. Labels: Z1, Z2 and vet_now.
Z1 is for tickets, Z2 for lost property.
Answer with one label only."""
VET, HURT = "When a visitor reports a hurt animal, choose vet_now.", "It is about an animal, so Z2."
BUS, COACH = "Choose Z1 for coaches that ask for parking.", "It is no ticket, so Z2."


def told(runs: list[Trajectory], prompt: str = PROMPT) -> list[Trajectory]:
    """The runs with a system prompt in front."""
    first = Step(step_id=1, source="system", message=prompt)
    return [
        run.model_copy(
            update={
                "steps": (
                    first,
                    *(s.model_copy(update={"step_id": s.step_id + 1}) for s in run.steps),
                )
            }
        )
        for run in runs
    ]


def quoting(
    tmp_path: Path, runs: list[Trajectory], taught: dict[str, tuple[str, str]]
) -> tuple[str, list[dict[str, str]]]:
    """As :func:`evolved`, of lines -> (lesson, what its analyst quotes in place of the line)."""

    async def read(run: Trajectory, kind: AnalystType) -> Reading:
        items = tuple(
            MemoryItem(title="Rule", lesson=lesson, evidence=(quote,))
            for line, (lesson, quote) in taught.items()
            if line in run.answer
        )
        record = AnalystRecord(
            kind=kind, trajectory_id=run.trajectory_id, task_id=run.task_id, items=items
        )
        return Reading(record=record if items else None)

    folder = write_trajectories(tmp_path / "runs", runs)
    options = EvolveOptions(out=tmp_path / "out", create="zoo", trajectories=folder, signal="error")
    result = asyncio.run(evolve(options, read=read))
    discarded = json.loads((tmp_path / "out" / "discarded.json").read_text())
    return load_skill(result.skill).text, discarded


def test_what_the_system_prompt_says_is_evidence_neither_for_a_rule_nor_against_it(
    tmp_path: Path,
) -> None:
    """Every run holds the prompt; so a quote of it stands in all failed and in all passed ones."""
    runs = told(
        [
            *made("h", "fail", 6, HURT),
            *made("c", "fail", 5, COACH),
            *made("p", "pass", 9, "A lost hat, so Z2."),
        ]
    )
    labels = "Labels: Z1, Z2 and vet_now."
    skill, discarded = quoting(tmp_path, runs, {HURT: (VET, labels), COACH: (BUS, labels)})
    assert VET in skill and BUS in skill
    assert not discarded


def test_what_stands_in_every_first_message_is_an_instruction_too(tmp_path: Path) -> None:
    asked = "Call {}: {}. Reply with Z1, Z2 or vet_now and nothing else."
    runs = [
        trajectory(f"{outcome}{n}", outcome, answer, asked.format(n, "hello"))
        for outcome, answer, count in (("fail", HURT, 6), ("pass", "A lost hat, so Z2.", 6))
        for n in range(count)
    ]
    quote = "Reply with Z1, Z2 or vet_now and nothing else."
    skill, discarded = quoting(tmp_path, runs, {HURT: (VET, quote)})
    assert VET in skill and not discarded


def test_a_decision_that_is_right_elsewhere_speaks_against_no_rule(tmp_path: Path) -> None:
    """The agent files all animals under Z2: wrong for hurt ones, right for the others."""
    runs = told(
        [
            *made("h", "fail", 5, HURT, prompt="A goose bleeds."),
            *made("c", "fail", 9, COACH, prompt="A coach waits."),
            *made("p", "pass", 8, HURT, prompt="A goose honks."),
            *made("q", "pass", 6, "A lost hat, so Z2.", prompt="A hat lies here."),
        ]
    )
    skill, _ = evolved(tmp_path, runs, {HURT: VET, COACH: BUS})
    assert VET in skill and BUS in skill


def test_a_code_of_the_instructions_is_no_cell_of_one_task(tmp_path: Path) -> None:
    runs = [
        *made("h", "fail", 4, HURT),
        *made("c", "fail", 4, COACH),
        *made("p", "pass", 4, "A lost hat, so Z2."),
    ]
    taught = {HURT: VET, COACH: BUS}
    skill, _ = evolved(tmp_path / "named", told(runs), taught)
    assert VET in skill and BUS in skill
    skill, discarded = evolved(tmp_path / "not", told(runs, "Answer with a label."), taught)
    assert VET in skill and BUS not in skill
    assert any("particulars" in row["reason"] for row in discarded)

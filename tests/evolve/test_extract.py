"""Long trajectories in one prompt: what explains the outcome survives, wherever it stood."""

from __future__ import annotations

import random

import pytest

from harness.core import AgentInfo, Step, ToolCall, Trajectory
from harness.core.trajectory import Observation, ObservationResult
from harness.evolve.analysts.transcript import extract, transcript, unsupported

pytestmark = pytest.mark.wing("rag")

NOUNS = ("ledger", "harbour", "valve", "orchard", "signal", "barrel", "window", "canal", "engine")
VERBS = ("holds", "passes", "records", "follows", "covers", "returns")


def filler(seed: int, lines: int) -> list[str]:
    """Lines about nothing that the task asks for."""
    rng = random.Random(seed)
    return [
        f"The {rng.choice(NOUNS)} {rng.choice(VERBS)} the {rng.choice(NOUNS)} in row "
        f"{rng.randrange(10**6)} of volume {rng.randrange(900)}."
        for _ in range(lines)
    ]


def trajectory(observations: list[str]) -> Trajectory:
    """One step an observation; the agent comments on each, and answers at the end."""
    steps = [Step(step_id=1, source="user", message="What did the Ashford depot owe in March?")]
    for number, text in enumerate(observations, start=2):
        call = ToolCall(tool_call_id=f"c{number}", function_name="bash", arguments={"code": "ls"})
        seen = Observation(results=(ObservationResult(source_call_id=f"c{number}", content=text),))
        steps.append(
            Step(
                step_id=number, source="agent", message=f"Thought number {number}.",
                tool_calls=(call,), observation=seen,
            )
        )  # fmt: skip
    last = len(steps) + 1
    steps.append(Step(step_id=last, source="agent", message="The answer is 4,180 crowns."))
    return Trajectory(
        trajectory_id="long",
        agent=AgentInfo(name="a", version="1"),
        steps=tuple(steps),
        extra={"harness": {"task_id": "t", "outcome": "fail", "answer": "4,180 crowns"}},
    )


NEEDED = (
    "KeyError: 'depot_id' while the debts were joined",
    "Ashford depot, March: owed 4,810 crowns",
    "WARNING: 17 rows were skipped because their date could not be read",
)


@pytest.mark.parametrize("place", [0.03, 0.27, 0.5, 0.74, 0.97])
@pytest.mark.parametrize("needed", NEEDED)
def test_the_cause_survives_wherever_it_stood(place: float, needed: str) -> None:
    lines = filler(int(100 * place), 6000)
    lines.insert(int(place * len(lines)), needed)
    cut = [lines[at : at + 1500] for at in range(0, len(lines), 1500)]
    long = trajectory(["\n".join(part) for part in cut])
    text = extract(long, 20_000)
    assert len(transcript(long)) > 300_000
    assert len(text) < 22_000
    assert needed in text


def test_what_the_agent_did_is_whole_and_every_span_is_verbatim() -> None:
    long = trajectory(["\n".join(filler(seed, 900)) for seed in range(8)])
    text = extract(long, 20_000)
    whole = transcript(long)
    for step in long.steps[1:]:
        assert f"[{step.step_id}] AGENT" in text
        assert str(step.message) in text
    pieces = [one for one in text.split("\n") if one and "characters left out" not in one]
    assert unsupported([one for one in pieces if len(one) >= 8], whole) == []


def test_what_was_shown_before_is_named_by_its_step() -> None:
    page = "\n".join(filler(1, 300))
    text = extract(trajectory([page, "short", page, page]), 30_000)
    assert text.count("[the same as in step 2]") == 2


def test_a_short_transcript_is_left_alone() -> None:
    short = trajectory(["\n".join(filler(1, 3))])
    assert extract(short, 20_000) == transcript(short)


def test_one_endless_message_of_the_agent_is_compressed_too() -> None:
    base = trajectory(["ok"])
    talk = Step(step_id=4, source="agent", message="\n".join([*filler(2, 5000), NEEDED[0]]))
    text = extract(base.model_copy(update={"steps": (*base.steps, talk)}), 20_000)
    assert len(text) < 22_000
    assert NEEDED[0] in text

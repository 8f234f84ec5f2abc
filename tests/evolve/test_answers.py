"""What expected answers say of the lessons of agents that choose among a few."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core import AgentInfo, Step, Trajectory
from harness.evolve import EvolveOptions, evolve
from harness.evolve.merge.answers import Answer, Answers, last_named, named_answers
from harness.evolve.merge.lessons import Lesson
from harness.skills import load_skill
from harness.trajectories import TrajectoryStore

LABELS = ("accept", "ask_again", "low_risk", "risk")
RUNS = (
    ("a1", "accept", "risk", "the roof is made of straw"),
    ("a2", "accept", "risk", "straw on the roof of our barn"),
    ("b1", "accept", "accept", "the roof is made of slate"),
    ("b2", "accept", "accept", "a brick house with slate"),
    ("c1", "risk", "low_risk", "a shed far from all houses"),
    ("d1", "ask_again", "ask_again", "how old is it, and how tall"),
    ("d2", "low_risk", "low_risk", "a garage of stone"),
    ("d3", "ask_again", "ask_again", "the form is empty"),
)


def answers(*rows: tuple[str, str, str, str]) -> Answers:
    return Answers.of(
        [
            Answer(run, f"label: {given}", right, frozenset(t.split()))
            for run, given, right, t in rows
        ]
    )


def lesson(text: str, *sources: str) -> Lesson:
    return Lesson(title="", text=text, sources=sources)


@pytest.mark.parametrize(
    ("text", "asked", "refused"),
    [
        ("Choose risk when the roof is of straw.", {"risk"}, set[str]()),
        ("Make thatched houses `low_risk` rather than accept.", {"low_risk"}, {"accept"}),
        ("Do not accept a house without an age.", set[str](), {"accept"}),
        ("A low risk needs no visit.", {"low_risk"}, set[str]()),
        ("Ask again if the height is missing.", {"ask_again"}, set[str]()),
        ("For thatched roofs the label is risk.", {"risk"}, set[str]()),
        ("Accepting is wrong for straw.", {"accept"}, set[str]()),
        ("Read the form twice.", set[str](), set[str]()),
    ],
)
def test_answers_are_named_to_the_letter_or_by_their_words(
    text: str, asked: set[str], refused: set[str]
) -> None:
    assert named_answers(text, LABELS) == (asked, refused)


def test_a_reply_gives_the_last_answer_that_it_names() -> None:
    assert last_named("Not accept: a LOW_RISK, so low_risk.", LABELS) == "low_risk"
    assert last_named("risky business", LABELS) == ""


def test_agents_that_do_not_choose_among_a_few_have_no_answers() -> None:
    assert answers(*RUNS).labels == LABELS
    assert answers(*((run, run, run, text) for run, *_, text in RUNS)) == Answers()
    points = {"accept": "4", "risk": "2.5", "low_risk": "0", "ask_again": "1"}
    graded = (
        (run, points.get(given, given), points.get(right, right), text)
        for run, given, right, text in RUNS
    )
    assert answers(*graded) == Answers()  # a scale: "two points off" names no answer
    invented = answers(*((run, "no idea", right, text) for run, _, right, text in RUNS))
    assert invented == Answers(labels=LABELS)
    assert answers(*((run, given, "", text) for run, given, _, text in RUNS)) == Answers()


def test_a_lesson_is_about_the_confusion_of_its_runs() -> None:
    known = answers(*RUNS)
    confusion = "answered accept, not risk"
    assert known.confusion(lesson("Choose risk for thatched houses.", "a1", "a2")) == confusion
    assert known.confusion(lesson("Straw burns.", "a1")) == confusion
    assert known.confusion(lesson("Read the form twice.", "a1")) == ""
    assert known.confusion(lesson("Choose risk for thatched houses.", "a1", "c1")) == ""
    assert known.confusion(lesson("Accept slate.", "b1")) == ""


def test_the_runs_that_taught_a_lesson_speak_against_it() -> None:
    known = answers(*RUNS)

    def objection(text: str, source: str, *quotes: str) -> str:
        return known.objection(lesson(text, source), quotes)

    assert "'risk' was right" in objection("Accept straw.", "a1")
    assert "'risk' was right" in objection("Never choose risk for straw.", "a1")
    assert "'risk' was right" in objection("Large houses are low_risk.", "a2")
    assert objection("Do not accept straw.", "a1") == objection("Choose risk.", "a1") == ""
    assert "'accept' was right" in objection("Choose risk for slate.", "b1")
    assert "about no answer" in objection("Be careful.", "a1")
    assert objection("Measure the height first.", "a1", "I guess the height.") == ""
    assert objection("Be careful.", "b1") == objection("Be careful.", "of another run") == ""


def test_what_tells_a_confusion_has_neither_answers_nor_what_other_tasks_say() -> None:
    known = answers(*RUNS)
    words = set(known.document(lesson("Choose risk for thatch.", "a1")).split())
    assert {"thatch.", "straw"} <= words and words.isdisjoint({"risk", "slate"})


WORDINGS = (
    "Thatch is a risk.",
    "Choose risk for straw.",
    "Where the cover burns easily, the label is risk.",
)


def test_three_wordings_of_one_cause_are_one_rule_and_its_opposite_none(tmp_path: Path) -> None:
    prompts = [
        *((f"roof of straw, house {n}", "accept", "risk") for n in range(4)),
        *((f"walls of brick, house {n}", "accept", "accept") for n in range(6)),
        *((f"cellar under water, house {n}", "risk", "risk") for n in range(3)),
    ]
    rows: list[str] = []
    with TrajectoryStore(tmp_path / "runs") as store:
        for n, (prompt, given, right) in enumerate(prompts):
            facts: dict[str, JsonValue] = {
                "task_id": f"t{n}", "outcome": "pass" if given == right else "fail",
                "answer": f"label: {given}", "task": {"prompt": prompt, "expected": right},
            }  # fmt: skip
            steps = (
                Step(step_id=1, source="user", message=prompt),
                Step(step_id=2, source="agent", message=f"It looks sound.\nlabel: {given}"),
            )
            store.append(
                Trajectory(
                    trajectory_id=f"t{n}", agent=AgentInfo(name="house", version="1"), steps=steps,
                    extra={"harness": facts},
                )
            )  # fmt: skip
            if given != right:
                text = [*WORDINGS, "Accept straw as every other cover."][n]
                item = {"title": "", "lesson": text, "evidence": ["It looks sound."]}
                row = {"task_id": f"t{n}", "analyst_type": "error", "memory_items": [item]}
                rows.append(json.dumps(row))
    patches = tmp_path / "records.jsonl"
    patches.write_text("\n".join(rows))
    options = EvolveOptions(
        out=tmp_path / "out", create="house", trajectories=tmp_path / "runs", patches=patches,
        merge="deterministic",
    )  # fmt: skip
    result = asyncio.run(evolve(options))
    text = load_skill(Path(result.skill)).text
    assert sum(wording in text for wording in WORDINGS) == 1
    assert "Accept straw" not in text
    discarded = json.loads((tmp_path / "out" / "discarded.json").read_text())
    assert any("'risk' was right" in json.dumps(row) for row in discarded)


def test_the_right_answer_of_an_object_is_its_first_text() -> None:
    task: dict[str, JsonValue] = {"expected": json.dumps({"team": "Escalation", "urgent": True})}
    run = Trajectory(
        trajectory_id="r",
        agent=AgentInfo(name="a", version="1"),
        steps=(Step(step_id=1, source="agent", message="x"),),
        extra={"harness": {"task": task}},
    )
    assert Answer.of(run, 100).right == "Escalation"


def test_answers_that_differ_in_case_and_space_are_one() -> None:
    known = answers(
        *((run, given, right.upper() if run in "a2 d2" else right + " ", text)
          for run, given, right, text in RUNS)
    )  # fmt: skip
    assert known.labels == answers(*RUNS).labels
    assert known.objection(lesson("Choose risk for straw.", "a2"), ()) == ""
    assert known.of_runs["d2"].confusion == ""

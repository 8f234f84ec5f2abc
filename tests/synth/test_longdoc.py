"""SPELL: growing context, distractors, memory, ungrounded questions out, readable replies only."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.core.rundir import RunReader, RunWriter
from harness.synth.proposers.longdoc import KINDS, MEMORY, NEW, LongDocProposer
from harness.synth.session import run_factory
from harness.synth.types import Proposal, Record
from harness.synth.validators import SpellRules, Spoken
from tests.synth.cases import asked, documents, factory, materials, run

TEXTS = [
    f"The warden of Gate {n} is called Person{n}. It was built in {1800 + n}." for n in range(40)
]


def questioner(messages: list[Any], sampling: Any) -> str:
    """Asks of the last document that it sees; a multiple choice where it is to be one."""
    numbers = re.findall(r"warden of Gate (\d+)", messages[-1]["content"])
    last = numbers[-1]
    asked = f"Who is the warden of the gate with the number {last}, seed {sampling.seed}?"
    if "four choices" in messages[-1]["content"]:
        choices = {letter: f"Person{n}" for letter, n in zip("ABCD", numbers[-4:], strict=True)}
        return json.dumps({"question": asked, "choices": choices, "answer": "D"})
    if "is computed" in messages[-1]["content"]:
        asked = f"In which year was the gate with the number {last} built, seed {sampling.seed}?"
        return json.dumps({"question": asked, "answer": 1800 + int(last)})
    return f"```json\n{json.dumps({'question': asked, 'answer': f'Person{last}'})}\n```"


def checker(messages: list[Any], sampling: Any) -> str:
    """Reads the passages; without them it knows the wardens of gates below 10."""
    prompt = messages[-1]["content"]
    found = re.search(r"gate with the number (\d+)", prompt)
    assert found is not None
    number = found[1]
    built = "In which year" in prompt
    pattern = rf"Gate {number} is called (\w+)\. It was built in (\d+)"
    match = re.search(pattern, prompt)
    answer = match[2 if built else 1] if match else None
    if answer is None and "\nEmpty\n" in prompt and int(number) < 10:
        answer = str(1800 + int(number)) if built else f"Person{number}"
    letters: list[str] = re.findall(rf"^([A-D])\. {answer}$", prompt, re.MULTILINE)
    return f"Answer: {letters[0] if letters else answer or 'none'}"


def test_each_round_adds_documents_to_all_that_were_seen(tmp_path: Path) -> None:
    stuff = materials(documents(tmp_path / "docs", *TEXTS), tmp_path / "out")
    proposer = LongDocProposer(stuff)
    assert proposer.width == 2
    for cluster in range(proposer.width):
        turns = [proposer.turn(cluster + proposer.width * step) for step in range(4)]
        for before, after in pairwise(turns):
            assert set(before.seen) < set(after.seen)
            assert len(after.seen) == len(before.seen) + NEW
        assert set(turns[0].seen) < set(turns[0].cluster)  # the agent gets distractors, too
    clusters = [set(proposer.turn(number).cluster) for number in range(2)]
    assert not clusters[0] & clusters[1]
    assert proposer.turn(8) == proposer.turn(0)  # read to the end, a cluster begins anew


def test_rounds_ground_and_remember(tmp_path: Path) -> None:
    stuff = materials(documents(tmp_path / "docs", *TEXTS), tmp_path / "out", questioner, checker)
    proposer = LongDocProposer(stuff)
    with RunWriter(tmp_path / "out", {"kind": "synth"}) as writer:
        run(run_factory(factory(stuff, proposer, writer, want=100, most=24)))
        rows = [Record.model_validate(row["record"]) for row in RunReader(tmp_path / "out").items()]
    assert len(rows) == 24
    by_kind = {str(row.proposal.meta["task"]) for row in rows}
    assert by_kind == set(KINDS)
    for row in rows:
        match = re.search(r"number (\d+)", row.proposal.question)
        assert match is not None
        if row.by == "duplicate":
            continue
        if int(match[1]) < 10:
            assert (row.decision, row.by, row.reward) == ("rejected", "grounded", -0.5)
        else:
            assert row.decision == "accepted", row
    prompts = asked(stuff.proposer).prompts
    counts = [prompt.count("\n- Who") + prompt.count("\n- In which") for prompt in prompts]
    assert max(counts) == MEMORY
    assert min(counts) == 0


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("no object", "no JSON object"),
        ('{"question": "", "answer": "x"}', "no question"),
        ('{"question": "Who?", "answer": ""}', "no answer"),
        (json.dumps({"question": "Who?", "answer": "word " * 20}), "fewer than 20"),
        ('["question"]', "no JSON object"),
    ],
)
def test_what_is_not_the_format(tmp_path: Path, reply: str, reason: str) -> None:
    stuff = materials(
        documents(tmp_path / "docs", *TEXTS), tmp_path / "out", lambda messages, sampling: reply
    )
    proposal = run(LongDocProposer(stuff).propose(0, []))
    assert reason in run(SpellRules(stuff).fault(proposal, []))


@pytest.mark.parametrize(
    ("choices", "answer", "reason"),
    [
        ({"A": "x", "B": "y", "C": "z"}, "A", ""),
        ({"A": "x", "B": "y"}, "A", "three choices"),
        ({"A": "x", "B": "The X", "C": "z"}, "A", "the same"),
        ({"A": "x", "B": "y", "C": "z"}, "E", "none of the choices"),
    ],
)
def test_multiple_choices(
    tmp_path: Path, choices: dict[str, str], answer: str, reason: str
) -> None:
    stuff = materials(tmp_path, tmp_path)
    row = Proposal(
        id="p", question="Who?", answers=(answer,), reply='{"question": 1}',
        meta={"task": "doc_mc", "choices": {**choices}},
    )  # fmt: skip
    fault = run(SpellRules(stuff).fault(row, []))
    assert reason in fault
    assert bool(reason) == bool(fault)


def test_a_question_that_holds_its_answer(tmp_path: Path) -> None:
    spoken = Spoken(materials(tmp_path, tmp_path))
    row = Proposal(id="p", question="Is it the 'North  Alder'?", answers=("north alder",))
    assert run(spoken.fault(row, [])) == "the question holds its answer"
    row = row.model_copy(update={"question": "Is it North Alderton?"})
    assert run(spoken.fault(row, [])) == ""

"""Paraphrases: kept where the answer stays, rejected or invalid wherever that is not certain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.core.rundir import RunReader, RunWriter
from harness.models import Message, Sampling
from harness.synth.paraphrase import Paraphrased, SameTask, protected
from harness.synth.session import run_factory
from harness.synth.tables.proposer import TableProposer
from harness.synth.types import Materials, Proposal, Record, Unjudged
from lab.worlds.models import Decide
from tests.synth.cases import asked, down, factory, materials, run, silent
from tests.synth.test_tables import write

PLAIN = "Keep the rows whose team is 'R team' and whose points are 12.5 or more."
GOOD = "Only rows of the team 'R team' with points of 12.5 and above should be left, whatever else."


def reworded(question: str) -> Proposal:
    return Proposal(id="t", question=question, meta={"plain": PLAIN, "names": ["team", "points"]})


def fault(tmp_path: Path, question: str, check: Decide, votes: int = 3) -> tuple[str, Materials]:
    stuff = materials(tmp_path, tmp_path, check=check, votes=votes)
    return run(SameTask(stuff).fault(reworded(question), [])), stuff


def yes(messages: list[Message], sampling: Sampling | None) -> str:
    return "Both do. [[YES]]"


def test_what_must_stay() -> None:
    assert protected(reworded(GOOD)) == ["team", "points", "R team", "12.5"]


def test_a_paraphrase_that_asks_for_the_same_is_kept(tmp_path: Path) -> None:
    text, stuff = fault(tmp_path, GOOD, yes)
    assert text == ""
    prompts = asked(stuff.checker).prompts
    assert len(prompts) == 6
    assert prompts[0].index(PLAIN) < prompts[0].index(GOOD)
    assert prompts[3].index(GOOD) < prompts[3].index(PLAIN)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (GOOD.replace("12.5", "12"), r"lost \['12.5'\] and added \['12'\]"),
        (GOOD.replace("R team", "r-team"), "lost"),
        (GOOD.replace("points", "goals"), "lost"),
        (f"{GOOD} Take 3 of them.", "added"),
        ("", "lost"),
    ],
)
def test_a_lost_or_new_value_is_rejected_without_a_call(
    tmp_path: Path, question: str, message: str
) -> None:
    text, stuff = fault(tmp_path, question, yes)
    assert asked(stuff.checker).prompts == []
    assert re.search(message, text)


def test_the_order_of_the_wordings_must_not_matter(tmp_path: Path) -> None:
    def first_only(messages: list[Message], sampling: Sampling | None) -> str:
        prompt = str(messages[-1]["content"])
        return "[[YES]]" if prompt.index(PLAIN) < prompt.index(GOOD) else "[[NO]]"

    assert "asks for something else" in fault(tmp_path, GOOD, first_only)[0]


@pytest.mark.parametrize(("check", "votes"), [(down, 3), (silent, 3), (yes, 0)])
def test_what_is_not_judged_is_no_pass(tmp_path: Path, check: Decide, votes: int) -> None:
    with pytest.raises(Unjudged):
        fault(tmp_path, GOOD, check, votes)


def table_factory(folder: Path, propose: Decide, check: Decide) -> list[Record]:
    """Make eight reworded tasks on a table."""
    stuff = materials(write(folder / "players.csv"), folder / "out", propose, check)
    proposer = Paraphrased(TableProposer(stuff), stuff)
    with RunWriter(folder / "out", {"kind": "synth"}) as writer:
        run(run_factory(factory(stuff, proposer, writer, want=8, most=8)))
    return [Record.model_validate(row["record"]) for row in RunReader(folder / "out").items()]


def wording(messages: list[Message], sampling: Sampling | None) -> str:
    """A model that says the same with a polite word in front, and in two lines."""
    question = (
        str(messages[-1]["content"]).partition("<question>\n")[2].partition("\n</question>")[0]
    )
    return f"Would you kindly do this:\n{question}"


def careless(messages: list[Message], sampling: Sampling | None) -> str:
    return (
        wording(messages, sampling).replace("YYYY-MM-DD", "DD-MM-YYYY").replace("earlier", "later")
    )


def test_reworded_tasks_pass_the_checks_of_their_kind(tmp_path: Path) -> None:
    rows = table_factory(tmp_path, wording, yes)
    assert {row.decision for row in rows} == {"accepted"}
    for row in rows:
        assert row.proposal.question == f"Would you kindly do this: {row.proposal.meta['plain']}"


def test_a_changed_order_is_for_the_checker_to_see(tmp_path: Path) -> None:
    def strict(messages: list[Message], sampling: Sampling | None) -> str:
        return "[[NO]]" if "an later one" in str(messages[-1]["content"]) else "[[YES]]"

    rows = table_factory(tmp_path, careless, strict)
    by = {str(row.proposal.meta["manipulation"]): row for row in rows}
    assert [by[kind].by for kind in ("read_dates", "remove_copies")] == ["same", "same"]
    assert "lost ['YYYY-MM-DD']" in by["read_dates"].reason
    assert "asks for something else" in by["remove_copies"].reason
    assert sum(row.decision == "accepted" for row in rows) == 6


@pytest.mark.parametrize(("propose", "check"), [(wording, silent), (wording, down)])
def test_nothing_unjudged_is_accepted(tmp_path: Path, propose: Decide, check: Decide) -> None:
    rows = table_factory(tmp_path, propose, check)
    assert {row.decision for row in rows} == {"invalid"}

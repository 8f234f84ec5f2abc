"""Proxy-GRM: golden rewards, what proxies see, and what an outage is worth: nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.judges.proxy import accuracy_reward, reward, rubric_of, transfer, well_formed
from examples.judges.refine import LabelledPair
from harness.core import Unreachable
from harness.judge import Question
from tests.judge.cases import FunctionModel, chooser, run

REPLY = "<rubric>- prefer the longer answer</rubric><eval>the first one is</eval><answer>1</answer>"
PAIRS = [
    LabelledPair(question=Question(prompt=f"p{n}"), a="x" * (n + 1), b="x" * (4 - n), label=label)
    for n, label in enumerate(("B", "B", "A", "A"))
]


@pytest.mark.shared
def test_golden_rewards(shared: Path) -> None:
    gold = json.loads((shared / "golden/golden.json").read_text())["proxygrm"]
    assert [accuracy_reward(reply, gold["gt"]) for reply in gold["sol"]] == gold["acc"]
    assert [well_formed(reply) for reply in gold["sol"]] == gold["fmt"]


def test_an_outage_is_not_rewarded() -> None:
    assert reward(1.0, None, True) is None
    assert reward(1.0, -1.0, True) == 0.5
    assert reward(1.0, 1.0, False) == 2.0


def test_the_rubric_is_cut_out() -> None:
    assert rubric_of(REPLY) == "- prefer the longer answer"
    assert rubric_of("- no tags") == "- no tags"
    assert accuracy_reward("<answer>1</answer><answer>2</answer>", "<answer>1</answer>") == -1.0


def test_proxies_see_the_rubric_alone() -> None:
    model = chooser(lambda first, second: len(first) - len(second))
    good = run(transfer(REPLY, PAIRS, [model, model]))
    assert (good.accuracy, good.kept, good.agreement) == (1.0, True, 1.0)
    assert all("<eval>" not in prompt for prompt in model.prompts)
    assert all("<answer>" not in prompt for prompt in model.prompts)
    assert all("the first one is" not in prompt for prompt in model.prompts)
    assert all("prefer the longer answer" in prompt for prompt in model.prompts)


def test_an_empty_rubric_is_worth_a_coin() -> None:
    always_first = chooser(lambda first, second: 1)  # what a proxy without a rubric falls back to
    empty = run(transfer("", PAIRS, [always_first]))
    assert (empty.accuracy, empty.kept, empty.agreement) == (0.5, False, 0.0)


def test_proxies_that_are_not_reached_decide_nothing() -> None:
    down = FunctionModel(lambda prompt, members: Unreachable("down"))
    lost = run(transfer(REPLY, PAIRS, [down]))
    assert (lost.accuracy, lost.valid, lost.invalid, lost.kept) == (None, 0, 4, False)


@pytest.mark.parametrize(
    "reply",
    [
        "<answer>1</answer>- prefer the longer answer</rubric>",
        "<rubric>- prefer the longer answer <ANSWER >1</ANSWER></rubric>",
        "- prefer the longer answer\n<Eval >the first one is</Eval>",
    ],
)
def test_no_form_of_a_reply_shows_its_verdict_to_proxies(reply: str) -> None:
    model = chooser(lambda first, second: 1)
    run(transfer(reply, PAIRS, [model]))
    assert all(
        mark not in prompt.lower() for prompt in model.prompts for mark in ("<eval", "<answer")
    )


def test_an_empty_rubric_is_not_kept_by_a_proxy_that_knows_better() -> None:
    model = chooser(lambda first, second: len(first) - len(second))
    assert not run(transfer("# Heading", PAIRS, [model])).kept


def test_a_tie_that_is_labelled_so_is_right() -> None:
    pairs = [LabelledPair(question=Question(prompt="p"), a="x", b="y", label="tie")]
    tie = run(transfer("- r", pairs, [chooser(lambda first, second: 0)]))
    assert tie.accuracy == 1.0

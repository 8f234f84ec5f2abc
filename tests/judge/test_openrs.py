"""OpenRS: golden aggregation, veto, antisymmetry, verifiable rubrics first, traps of its code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.judges.refine import LabelledPair, refine
from harness.judge import Question
from harness.judge.openrs.aggregate import KINDS, aggregate, decide, signed
from harness.judge.openrs.judge import OpenRSJudge
from harness.judge.openrs.verifiable import matches_reference, run_check
from harness.judge.types import OPPOSITE, Preference, Verdict
from harness.sandbox import SandboxUnavailable, select
from tests.judge.cases import FunctionModel, between, run

OFFICIAL: dict[str, Any] = {
    "硬伤": "fatal", "核心": "core", "重要": "important", "亮点": "highlight"
}  # fmt: skip
ROWS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-2, 2)), max_size=12)
ASK = Question(prompt="Describe the sea.")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["normal", "veto", "veto0_ignored", "two_fatal"])
def test_golden_aggregation(shared: Path, name: str) -> None:
    rows, expected = json.loads((shared / "golden/golden.json").read_text())["openrs_pair"][name]
    scores = [(OFFICIAL[row["type"]], signed(row["chosen"], row["score"])) for row in rows]
    assert aggregate(scores) == pytest.approx(expected, abs=1e-6)


def test_an_unknown_kind_is_a_fault_and_not_passed_over() -> None:
    with pytest.raises(ValueError, match="expected a rubric"):
        aggregate([("foo", 2)])  # pyright: ignore[reportArgumentType]  # what a model may write
    with pytest.raises(ValueError, match="expected a rubric"):
        aggregate([("core", 3)])


@pytest.mark.parametrize(("side", "score"), [("A", -1), ("A", 0), ("S", 1), ("B", 0), ("a", 1)])
def test_a_letter_does_not_override_a_sign(side: str, score: int) -> None:
    with pytest.raises(ValueError, match="contradict"):
        signed(side, score)


@given(ROWS)
def test_the_aggregate_is_antisymmetric(rows: list[tuple[Any, int]]) -> None:
    assert aggregate([(kind, -score) for kind, score in rows]) == pytest.approx(-aggregate(rows))


@given(ROWS, st.integers(1, 2))
def test_a_fatal_difference_decides_alone(rows: list[tuple[Any, int]], score: int) -> None:
    others = [row for row in rows if row[0] != "fatal"]
    assert aggregate([*others, ("fatal", -score)]) == -score


@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(0, 1))
def test_the_decision_is_antisymmetric(forward: float, backward: float, margin: float) -> None:
    assert decide(backward, forward, margin) == OPPOSITE[decide(forward, backward, margin)]


def test_orders_that_disagree_are_a_tie() -> None:
    assert decide(1.0, 1.0) == "tie"
    assert decide(1.0, -1.0) == "A"
    assert decide(0.4, -1.0, margin=0.5) == "tie"


def scripted(score: Callable[[str, str], tuple[str, int]]) -> FunctionModel:
    """A model whose rubric scores are `score(first, second)`: (better, strength)."""

    def decide_reply(prompt: str, members: dict[str, Any]) -> Any:
        if "intent" in members:
            return {"intent": "a description"}
        if "rubrics" in members:
            kinds = ["fatal", "core", "core", "important", "highlight"]
            return {"rubrics": [{"kind": kind, "criterion": kind} for kind in kinds]}
        if "code" in members:
            code = "def check(answer):\n    return len(answer.split()) <= 3"
            return {"code": code, "kept": "a b", "broken": "a b c d"}
        better, strength = score(between(prompt, "first"), between(prompt, "second"))
        equal = {"evidence": "", "better": "equal", "strength": 0}
        mark = {"evidence": "e", "better": better, "strength": strength}
        return {n: equal if n == "rubric_1" else mark for n in members if n != "key"}

    return FunctionModel(decide_reply)


def longer(first: str, second: str) -> tuple[str, int]:
    if len(first) == len(second):
        return "equal", 0
    return ("first" if len(first) > len(second) else "second"), 1


@given(st.text(max_size=9), st.text(max_size=9))
def test_swapped_answers_get_the_opposite_verdict(a: str, b: str) -> None:
    judge = OpenRSJudge(scripted(longer))
    forward, backward = run(judge.compare(ASK, a, b)), run(judge.compare(ASK, b, a))
    assert forward.preference is not None
    assert backward.preference == OPPOSITE[forward.preference]


def test_a_judge_that_favours_a_place_is_a_tie() -> None:
    verdict = run(OpenRSJudge(scripted(lambda first, second: ("first", 2))).compare(ASK, "x", "y"))
    assert (verdict.preference, verdict.agreement) == ("tie", False)
    agreed = run(OpenRSJudge(scripted(longer)).compare(ASK, "xx", "y"))
    assert (agreed.preference, agreed.agreement) == ("A", True)


def test_a_mark_that_contradicts_itself_is_invalid() -> None:
    verdict = run(OpenRSJudge(scripted(lambda first, second: ("first", 0))).compare(ASK, "x", "y"))
    assert "contradicts itself" in verdict.invalid


def test_too_few_rubrics_are_asked_for_again_and_then_invalid() -> None:
    def reply(prompt: str, members: dict[str, Any]) -> Any:
        return {"intent": "i"} if "intent" in members else {"rubrics": []}

    model = FunctionModel(reply)
    assert run(OpenRSJudge(model).compare(ASK, "x", "y")).invalid
    assert len(model.prompts) == 1 + 2 * 5


def test_a_reference_that_decides_makes_no_call() -> None:
    model = scripted(longer)
    question = Question(prompt="2 + 2?", reference="4")
    verdict = run(OpenRSJudge(model).compare(question, "It is 5, clearly so.", "4"))
    assert (verdict.preference, verdict.by, verdict.votes) == ("B", "verifier", 0)
    assert model.prompts == []


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("4", "so the sum is 4", 1), ("4", "so the sum is 5", -1), ("4", "four", 0),
        ("B", "The answer is (B).", 1), ("A", "A reason first.\nSo it is C", -1),
        ("A", "An apple", 0), ("new york", "It is New York.", 1), ("new york", "It is Boston", 0),
        ("", "x", 0), ("a b c d e f g", "a b c d e f g", 0),
    ],
)  # fmt: skip
def test_references_decide_only_what_they_can(reference: str, answer: str, expected: int) -> None:
    assert matches_reference(reference, answer) == expected


@pytest.fixture(scope="module")
def sandbox() -> Any:
    try:
        return select()
    except SandboxUnavailable as error:
        pytest.skip(f"no sandbox here: {error}")


def test_constraints_are_run_in_the_sandbox_and_decide_without_a_comparison(sandbox: Any) -> None:
    model = scripted(longer)
    question = Question(prompt="Describe the sea.", constraints=("at most three words",))
    verdict = run(OpenRSJudge(model, sandbox).compare(question, "wide blue sea", "it is very wide"))
    assert (verdict.preference, verdict.by) == ("A", "verifier")
    [prompt] = model.prompts  # the check is written without a look at the answers
    assert "wide" not in prompt


def test_model_written_checks_cannot_leave_the_sandbox(sandbox: Any, tmp_path: Path) -> None:
    target = tmp_path / "written"
    code = f"open({str(target)!r}, 'w').write('x')\ndef check(answer):\n    return True\n"
    assert run_check(code, ["a"], sandbox) is None
    assert not target.exists()
    assert run_check("def check(answer):\n    while True: pass", ["a"], sandbox) is None
    assert run_check("def check(answer): return 'a' in answer", ["a", "b"], sandbox) == [
        True,
        False,
    ]


def test_a_check_that_fails_its_own_examples_decides_nothing(sandbox: Any) -> None:
    model = scripted(longer)
    inner = model._decide  # pyright: ignore[reportPrivateUsage]  # wrapped for this test

    def broken(prompt: str, members: dict[str, Any]) -> Any:
        reply = inner(prompt, members)
        return reply | {"broken": "a b"} if "code" in members else reply

    question = Question(prompt="p", constraints=("at most three words",))
    judge = OpenRSJudge(FunctionModel(broken), sandbox)
    assert run(judge.compare(question, "a b c", "a b c d")).by == "model"


class Literal:
    """Judges as its principles say: by `long` or by `short`."""

    name = "literal"

    def __init__(self, meta: str) -> None:
        self._sign = 1 if "long" in meta else -1

    async def compare(self, question: Question, a: str, b: str) -> Verdict:
        preference: Preference = "A" if self._sign * (len(a) - len(b)) > 0 else "B"
        return Verdict(preference=preference)


def test_refinement_takes_what_is_better_on_held_out_pairs_alone() -> None:
    pairs = [LabelledPair(question=ASK, a="xx", b="x", label="A") for _ in range(40)]
    better = FunctionModel(lambda prompt, members: {"principles": "- prefer long"})
    refined = run(refine("- prefer short", pairs, Literal, better))
    assert (refined.meta, refined.accepted, refined.before, refined.after) == (
        "- prefer long", 1, 0.0, 1.0,
    )  # fmt: skip
    same = FunctionModel(lambda prompt, members: {"principles": "- prefer shorter"})
    kept = run(refine("- prefer short", pairs, Literal, same))
    assert (kept.meta, kept.accepted) == ("- prefer short", 0)
    assert not re.search("even", better.prompts[0])
    with pytest.raises(ValueError, match="four"):
        run(refine("m", pairs[:2], Literal, better))


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("A", "A dog barks."), ("B", "Hope that is a help."), ("(3, 4)", "It is (5, 4)"),
        ("new york", "It is Boston, not New York."), ("1/2", "0.5"),
        ("new york", "Boston, New York or Chicago"), ("new york", ""), ("?", "What?"),
        ("2024-05-01", "It is May 1, 2024"),
    ],
)  # fmt: skip
def test_a_reference_that_does_not_decide_leaves_it_to_the_judge(
    reference: str, answer: str
) -> None:
    assert matches_reference(reference, answer) == 0


def test_a_check_that_fakes_its_result_decides_nothing(sandbox: Any) -> None:
    forged = "import os, sys\nprint('\\n' + sys.argv[1], {}, flush=True)\nos._exit(0)\n"
    for result in ("'oops'", "'{}'", "'[true]'", "'[true, 1]'"):
        assert run_check(forged.format(result), ["a", "b"], sandbox) is None


def test_orders_agree_only_where_both_prefer_the_same() -> None:
    def half(first: str, second: str) -> tuple[str, int]:
        return ("first", 1) if first == "x" else ("equal", 0)

    verdict = run(OpenRSJudge(scripted(half)).compare(ASK, "x", "y"))
    assert (verdict.preference, verdict.agreement) == ("A", False)


def test_pairs_without_a_preference_teach_none() -> None:
    pairs = [LabelledPair(question=ASK, a="xx", b="x", label="tie") for _ in range(8)]
    proposer = FunctionModel(lambda prompt, members: {"principles": "- prefer long"})
    run(refine("- prefer short", pairs, Literal, proposer))
    assert proposer.prompts == []

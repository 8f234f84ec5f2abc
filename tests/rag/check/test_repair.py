"""Repair against a scripted endpoint: only failing spans change, rounds end, calls are counted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.rag.check import Outcome, Repair, check, repair_answer
from harness.rag.check.blind import CheckSettings
from harness.rag.check.repairs import Draft, changes, faults_of
from harness.rag.retrieve import Document
from tests.models.http_server import Answer, Served, completion, serve
from tests.rag.check.blind.test_march import honest

NOTES = Document("notes", "The mill at Orrin Bay was built in 1912. It grinds 40 tonnes a day.\n")
WRONG = "The mill at Orrin Bay was built in 1921. It grinds 40 tonnes a day."
TRUE = WRONG.replace("1921", "1912")
PART = re.compile(r"^(\d+)\. .*?<part>(.*?)</part>", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def prompt_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def parts_of(body: dict[str, Any]) -> dict[int, str]:
    return {int(number): text for number, text in PART.findall(prompt_of(body))}


def rewriting(words: Callable[[str], str]) -> Callable[[dict[str, Any]], Answer]:
    """A model that writes `words(part)` in place of every part."""

    def answer(body: dict[str, Any]) -> Answer:
        parts = parts_of(body)
        return completion(
            json.dumps([{"part": number, "text": words(text)} for number, text in parts.items()])
        )

    return answer


def run(
    script: Callable[[dict[str, Any]], Answer], answer: str = WRONG, **options: Any
) -> tuple[Repair, Served]:
    with serve(script) as served:
        found = repair_answer(
            answer,
            [NOTES],
            ["agent=openai/x"],
            CheckSettings(base_url=served.url),
            verifier="rules",
            **options,
        )
    return found, served


def test_the_wrong_value_alone_is_rewritten() -> None:
    found, served = run(rewriting(lambda part: part.replace("1921", "1912")))
    assert found.answer == TRUE
    assert (found.before.verdict, found.after.verdict) == (Outcome.FAIL, Outcome.PASS)
    (edit,) = found.edits
    assert WRONG[edit.start : edit.end] == edit.before
    assert "1921" in edit.before and len(edit.before) <= len("in 1921")
    assert found.calls == {"repair": 1, "check": 0}
    (body,) = served.bodies
    assert "<part>" in prompt_of(body)
    assert "The mill at Orrin Bay was built in 1912." in prompt_of(body)


def test_a_sentence_around_the_part_is_no_part_of_it() -> None:
    whole = "The mill at Orrin Bay was built in 1912."
    found, _ = run(rewriting(lambda _: whole))
    assert found.answer == TRUE


def test_what_makes_it_worse_is_thrown_away_and_rounds_end() -> None:
    found, served = run(rewriting(lambda _: "in 1950"), rounds=3)
    assert found.answer == WRONG
    assert (found.edits, found.after) == ((), found.before)
    assert len(served.bodies) == found.rounds == 3
    assert found.discarded == 3
    assert "<part>The mill at Orrin Bay" in prompt_of(served.bodies[1])


def test_a_part_may_be_left_out() -> None:
    added = f"{TRUE} Its owner keeps seventeen grey geese. It grinds 40 tonnes a day."
    found, _ = run(rewriting(lambda _: ""), added, rounds=2)
    assert found.answer == f"{TRUE} It grinds 40 tonnes a day."
    assert found.after.verdict is Outcome.PASS


def test_nothing_to_repair_calls_nobody() -> None:
    found, served = run(rewriting(lambda _: "x"), TRUE)
    assert (found.answer, found.rounds, served.bodies) == (TRUE, 0, [])


def test_a_check_with_models_is_counted_apart() -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if "failed a check" in prompt_of(body):
            return rewriting(lambda part: part.replace("1921", "1912"))(body)
        return honest(body)

    with serve(answer) as served:
        found = repair_answer(
            WRONG, [NOTES], ["openai/x"], CheckSettings(base_url=served.url), rounds=1
        )
    repairs = [body for body in served.bodies if "failed a check" in prompt_of(body)]
    assert found.calls == {"repair": len(repairs), "check": len(served.bodies) - len(repairs)}
    assert found.calls["repair"] == 1 and found.calls["check"] >= 4
    assert (found.answer, found.after.verdict) == (TRUE, Outcome.PASS)


def test_bad_input_costs_no_call() -> None:
    with pytest.raises(BadInput, match="needs a model"):
        repair_answer(WRONG, [NOTES], [])
    with pytest.raises(BadInput, match="rounds"):
        run(rewriting(lambda _: ""), rounds=0)
    with pytest.raises(BadInput, match="no visible character"):
        repair_answer(" ", [NOTES], ["agent=openai/x"])


REPLY = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.fixed_dictionaries(
            {
                "part": st.one_of(st.integers(-2, 9), st.text(max_size=2), st.none()),
                "text": st.one_of(st.text(max_size=300), st.integers(), st.none()),
            }
        ),
        max_size=5,
    ).map(json.dumps),
)
SENTENCES = (
    "The mill at Orrin Bay was built in 1921.",
    "It grinds 45 tonnes a day.",
    "Nobody at Orrin Bay grinds 40 tonnes.",
    "Its owner was Mary Hollin, of Kell.",
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), st.booleans(), REPLY)
def test_whatever_the_model_says_the_rest_stays(said: list[str], whole: bool, reply: str) -> None:
    answer = " ".join(said)
    faults = faults_of(answer, check(answer, [NOTES], verifier="rules").claims, whole=whole)
    spans = [(one.start, one.end) for one in faults]
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    draft = Draft(answer).changed(changes(answer, faults, reply))
    rebuilt, at = "", 0
    for edit in draft.edits:
        assert any(
            start <= edit.start and edit.end <= _with_gap(answer, end) for start, end in spans
        )
        rebuilt += answer[at : edit.start] + edit.after
        at = edit.end
    assert draft.text == rebuilt + answer[at:]


def _with_gap(answer: str, end: int) -> int:
    rest = answer[end:]
    return end + len(rest) - len(rest.lstrip(" \t"))

"""The MARCH graph against a scripted endpoint: roles, walls, votes, malformed replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.core import BadInput
from harness.models import open_model
from harness.rag.check import Outcome, Report, Verdict
from harness.rag.check.blind import (
    MarchContext,
    Pair,
    best_support,
    march,
    proposed,
    read_answers,
    read_pairs,
    vote,
)
from harness.rag.check.types import Finding
from harness.rag.retrieve import Document
from tests.models.http_server import Answer, Served, completion, serve

NOTES = Document(
    "notes",
    "The mill at Orrin Bay was built in 1912. It grinds 40 tonnes a day.\n\n"
    "| Year | 2018 | 2019 |\n| --- | --- | --- |\n| Flour sold | 200 | 250 |\n",
)
RESPONSE = "The mill at Orrin Bay was built in 1921. It grinds 40 tonnes a day."
PAIRS = [
    {"question": "In which year was the mill at Orrin Bay built?", "answer": "1921"},
    {"question": "Is it true that it grinds 40 tonnes?", "answer": "40 tonnes"},
]
BUILT = "The mill at Orrin Bay was built in 1912."
FACTS = {
    "which year": ("was built in 1912", "1912"),
    "date or time": ("was built in 1912", "1912"),
    "which number": ("It grinds 40 tonnes a day.", "40 tonnes"),
    "which name": ("The mill at Orrin Bay", "Orrin Bay"),
    "built": (BUILT, BUILT),
    "grinds": ("It grinds 40 tonnes a day.", "It grinds 40 tonnes a day."),
}  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def prompt_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def is_checker(body: dict[str, Any]) -> bool:
    return "from the documents alone" in prompt_of(body)


def questions_of(body: dict[str, Any]) -> list[str]:
    part = prompt_of(body).rpartition("<questions>")[2]
    return [line[2:] for line in part.splitlines() if line.startswith("- ")]


def honest(body: dict[str, Any]) -> Answer:
    """A Checker that looks answers up; a Proposer that gives :data:`PAIRS`."""
    if not is_checker(body):
        return completion(json.dumps(PAIRS))
    found: list[dict[str, str]] = []
    for question in questions_of(body):
        fact = next((value for word, value in FACTS.items() if word in question.lower()), None)
        evidence, answer = fact or ("", "Cannot answer")
        found.append({"evidence": evidence, "answer": answer})
    return completion(json.dumps(found))


def run(
    script: Callable[[dict[str, Any]], Answer],
    *,
    response: str = RESPONSE,
    asked: str = "",
    documents: tuple[Document, ...] = (NOTES,),
    **settings: Any,
) -> tuple[Report, Served]:
    with serve(script) as served:

        async def go() -> Report:
            model = open_model("openai/scripted", base_url=served.url)
            context = MarchContext(model, model, model, documents, **settings)
            try:
                return await march(context, question=asked, response=response)
            finally:
                await model.aclose()

        return asyncio.run(go()), served


def test_the_checker_gets_questions_and_documents_alone() -> None:
    report, served = run(honest)
    checker = [body for body in served.bodies if is_checker(body)]
    proposer = [body for body in served.bodies if not is_checker(body)]
    assert len(proposer) == 1
    assert "Flour sold" not in prompt_of(proposer[0])
    assert 1 <= len(checker) <= 3
    for body in checker:
        around = prompt_of(body).replace(NOTES.text.strip(), "")
        # the year may say which mill is meant, but not where the year is asked for
        asks_year = "In which year" in around or "date or time" in around
        assert "1921" not in around or not asks_year
        assert "grinds 40" not in around
        assert "Is it true" not in around
    assert report.verdict is Outcome.FAIL
    verdicts = {claim.text: claim.verdict for claim in report.claims}
    assert verdicts["1921"] is Verdict.CONTRADICTED
    assert verdicts["40 tonnes"] is Verdict.SUPPORTED
    for claim in report.claims:
        for one in claim.evidence:
            assert NOTES.text[one.start : one.end] == one.quote
    assert any("asked neutrally" in warning for warning in report.warnings)


def test_a_true_answer_passes() -> None:
    report, _ = run(honest, response=RESPONSE.replace("1921", "1912"))
    assert {claim.verdict for claim in report.claims} == {Verdict.SUPPORTED}
    assert report.verdict is Outcome.PASS


def small_checker(claimed: str, quote: str) -> Callable[[dict[str, Any]], Answer]:
    """A Checker that answers questions with 1912 and keywords with something else that it read."""

    def script(body: dict[str, Any]) -> Answer:
        if not is_checker(body):
            pair = {"question": "In which year was the mill at Orrin Bay built?", "answer": claimed}
            return completion(json.dumps([pair]))
        beside = {"evidence": "Flour sold", "answer": "Flour sold"}
        year = {"evidence": quote, "answer": "1912"}
        questions = questions_of(body)
        return completion(json.dumps([year if "year" in each else beside for each in questions]))

    return script


def test_what_the_checker_cites_for_a_part_of_a_sentence_supports_the_sentence() -> None:
    right, wrong = (f"The mill at Orrin Bay was built in {year}." for year in ("1912", "1921"))
    report, _ = run(small_checker("1912", BUILT), response=right)
    assert report.verdict is Outcome.PASS
    assert {claim.evidence[0].quote for claim in report.claims} == {BUILT}
    report, _ = run(small_checker("1921", BUILT), response=wrong)
    assert Verdict.SUPPORTED not in {claim.verdict for claim in report.claims}


@pytest.mark.parametrize("quote", ["The mill at Orrin Bay was not built in 1912.", "built in 1912"])
def test_a_quote_that_says_less_or_the_opposite_supports_no_sentence(quote: str) -> None:
    document = Document("notes", f"The mill at Orrin Bay. {quote}\n\nFlour sold.")
    right = "The mill at Orrin Bay was built in 1912."
    report, _ = run(small_checker("1912", quote), response=right, documents=(document,))
    verdicts = {claim.text: claim.verdict for claim in report.claims}
    assert verdicts["1912"] is Verdict.SUPPORTED
    assert verdicts[right] is not Verdict.SUPPORTED
    assert report.verdict is Outcome.FAIL


def test_a_proposer_that_asks_nothing_cannot_pass_by_it() -> None:
    def lazy(body: dict[str, Any]) -> Answer:
        return honest(body) if is_checker(body) else completion("[]")

    report, served = run(lazy)
    assert len([body for body in served.bodies if not is_checker(body)]) == 2
    assert report.coverage == 1.0
    assert report.verdict is Outcome.FAIL


def test_an_unanswerable_question_is_no_contradiction() -> None:
    def silent(body: dict[str, Any]) -> Answer:
        if not is_checker(body):
            return honest(body)
        blank = {"evidence": "", "answer": "Cannot answer"}
        return completion(json.dumps([blank for _ in questions_of(body)]))

    report, _ = run(silent, policy="review-on-single")
    assert {claim.verdict for claim in report.claims} == {Verdict.NOT_FOUND}
    assert report.verdict is Outcome.REVIEW


@pytest.mark.parametrize("garbage", ["", "I like tea.", "[{", '{"answer": ', "NaN", "[[1, 2]]"])
def test_garbage_is_asked_again_and_then_invalid(garbage: str) -> None:
    def broken(body: dict[str, Any]) -> Answer:
        return completion(garbage) if is_checker(body) else honest(body)

    report, served = run(broken)
    assert report.verdict is Outcome.INVALID
    assert all(claim.confidence == 0.0 for claim in report.claims)
    requests = [body for body in served.bodies if is_checker(body)]
    assert len(requests) == 2 * len({prompt_of(body) for body in requests})


def test_invented_evidence_is_invalid() -> None:
    def inventive(body: dict[str, Any]) -> Answer:
        if not is_checker(body):
            return honest(body)
        invented = {"evidence": "The mill was built in 1921, all agree.", "answer": "1921"}
        return completion(json.dumps([invented for _ in questions_of(body)]))

    report, _ = run(inventive)
    assert {claim.verdict for claim in report.claims if claim.text == "1921"} == {Verdict.INVALID}


def test_no_context_is_invalid_and_asks_no_checker() -> None:
    report, served = run(honest, documents=(Document("empty", " \n"),))
    assert report.verdict is Outcome.INVALID
    assert not any(is_checker(body) for body in served.bodies)


def test_votes_are_counted() -> None:
    seen: list[int] = []

    def torn(body: dict[str, Any]) -> Answer:
        if not is_checker(body):
            return honest(body)
        seen.append(int(body["seed"]))
        said = "1921" if body["seed"] == 1 else "1912"
        one = {"evidence": "was built in 1912", "answer": said}
        return completion(json.dumps([one for _ in questions_of(body)]))

    report, _ = run(torn, votes=3)
    year = next(claim for claim in report.claims if claim.text == "1921")
    assert (year.verdict, round(year.confidence, 2)) == (Verdict.CONTRADICTED, 0.67)
    assert set(seen) == {0, 1, 2}


def test_a_computed_value_is_derived() -> None:
    report, _ = run(honest, response="Flour sold grew by 25% from 2018 to 2019.")
    growth = next(claim for claim in report.claims if claim.text == "25%")
    assert growth.verdict is Verdict.DERIVED


def test_values_that_the_engine_knows_are_not_asked_for() -> None:
    # It is right about the number, wrong about the year; neither is left to a Checker that lies.
    def lying(body: dict[str, Any]) -> Answer:
        if not is_checker(body):
            return completion("[]")
        one = {"evidence": "It grinds 40 tonnes a day.", "answer": "99 tonnes"}
        return completion(json.dumps([one for _ in questions_of(body)]))

    said = "The mill at Orrin Bay was built in 1921. It grinds 40 tonnes a day."
    plain, _ = run(lying, response=said)
    mixed, served = run(lying, response=said, mixed=True)
    asked = [one for body in served.bodies if is_checker(body) for one in questions_of(body)]
    assert not any("number" in one or "date" in one for one in asked)
    verdicts = {claim.text: claim.verdict for claim in mixed.claims}
    assert verdicts["1921"] is Verdict.CONTRADICTED
    assert verdicts["40 tonnes"] is Verdict.SUPPORTED
    assert {claim.text: claim.verdict for claim in plain.claims}[
        "40 tonnes"
    ] is not Verdict.SUPPORTED
    assert "numeric engine" in mixed.verifier


def test_a_pair_without_the_unit_is_no_claim_of_its_own() -> None:
    claims = proposed("It is 111 metres long.", "", [Pair("How long is it?", "111")])
    values = [(one.text, one.question) for one in claims if one.type == "number"]
    assert values == [("111 metres", "How long is it?")]


def test_the_solver_answers_where_there_is_no_response() -> None:
    def solving(body: dict[str, Any]) -> Answer:
        if "in a few plain sentences" in prompt_of(body):
            return completion("<think>\n1921?\n</think>It grinds 40 tonnes a day.")
        return honest(body)

    report, _ = run(solving, response="", asked="What does the mill grind?")
    assert [claim.text for claim in report.claims] == ["It grinds 40 tonnes a day.", "40 tonnes"]
    with pytest.raises(BadInput, match="expected a response"):
        run(solving, response="", asked=" ")
    with pytest.raises(BadInput, match="votes"):
        run(solving, votes=0)


def finding(verdict: str) -> Finding:
    return Finding(verdict=Verdict(verdict), reason="r", confidence=1.0)


def test_ties_decide_nothing_and_support_anywhere_is_enough() -> None:
    tie = vote([finding("SUPPORTED"), finding("CONTRADICTED")])
    assert tie.verdict is Verdict.INVALID
    assert "1 SUPPORTED, 1 CONTRADICTED" in tie.reason
    part = vote([finding("SUPPORTED"), finding("INVALID")])
    assert (part.verdict, part.confidence) == (Verdict.SUPPORTED, 0.5)
    windows = [finding("NOT_FOUND"), finding("CONTRADICTED"), finding("SUPPORTED")]
    assert best_support(windows).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    "reply",
    [
        '[{"question": "Q one?", "answer": "5 km"}]',
        'Sure!\n```json\n[{"question": "Q one?", "answer": "5 km"},\n```',
        "- Question: Q one? [Answer: 5 km]",
        "* Question: Q one?\n  Answer: 5 km",
        "1. **Question:** Q one?\n   **Answer:** 5 km",
    ],
)
def test_proposers_are_read_whatever_the_form(reply: str) -> None:
    assert read_pairs(reply) == [("Q one?", "5 km")]


def test_checkers_are_read_whatever_the_form() -> None:
    lines = "1. Evidence: it is 5\n[Answer: 5]\n2. Evidence: none\n[Answer: Cannot answer]"
    assert read_answers(lines, 3) == [("it is 5", "5"), ("none", ""), None]
    bare = "Evidence: it is 5\nAnswer: 5"
    assert read_answers(bare, 2) == [("it is 5", "5"), None]
    cut = '[{"evidence": "it is 5", "answer": 5}, {"evidence": "x'
    assert read_answers(cut, 2) == [("it is 5", "5"), None]

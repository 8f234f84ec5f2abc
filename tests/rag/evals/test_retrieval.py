"""The ablation of an index: measures, arms, a user's own store, drafted questions."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.models import open_model
from harness.rag.evals.ablation import (
    Case,
    ablate,
    answer_arms,
    index_arms,
    load_retriever,
    prompt_of,
    read_cases,
    score,
)
from harness.rag.evals.metrics import Gold, measure
from harness.rag.evals.questions import KEYWORDS, check_draft, draft_keywords
from harness.rag.retrieve import Chunking, Document, Hit, LocalIndex, create_index, open_encoder

TEXTS = {
    "tides": "The moon pulls the ocean and so makes the tides. High tide comes twice a day here.",
    "bread": "Yeast makes dough rise slowly in a warm place. The loaf bakes for 35 minutes hot.",
    "wings": "A wing in a propeller slipstream gains lift. Flutter limits the speed of aircraft.",
}
CASES = [
    Case(query="what makes dough rise", gold=(Gold(doc="bread"),)),
    Case(query="wing in a slipstream", gold=(Gold(doc="wings", start=0, end=44),)),
    Case(query="moon and ocean", gold=(Gold(doc="tides"), Gold(doc="bread", relevance=2))),
]


@pytest.fixture
def documents() -> list[Document]:
    return [Document(name, text) for name, text in TEXTS.items()]


@pytest.fixture
def index(tmp_path: Path, documents: list[Document]) -> LocalIndex:
    found = create_index(tmp_path / "index", open_encoder("lexical"), Chunking(size=20, overlap=0))
    found.add(documents)
    return found


def hit(doc: str, start: int = 0, end: int = 10) -> Hit:
    return Hit(doc, start, end, "x" * (end - start), 1.0)


def test_a_document_has_the_rank_of_its_best_passage() -> None:
    hits = [hit("a"), hit("b"), hit("a", 20, 30)]
    assert measure(hits, [Gold(doc="a")], 2).reciprocal_rank == 1


def test_measures_by_hand() -> None:
    gold = (Gold(doc="a", relevance=3), Gold(doc="b"), Gold(doc="c"))
    found = measure([hit("x"), hit("a"), hit("a", 20, 30), hit("b"), hit("c")], gold, 3)
    best = 3 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found.recall == pytest.approx(2 / 3)
    assert found.ndcg == pytest.approx((3 / math.log2(3) + 1 / math.log2(4)) / best)
    assert found.reciprocal_rank == 0.5
    nothing = measure([], gold, 3)
    assert (nothing.recall, nothing.ndcg, nothing.reciprocal_rank) == (0, 0, 0)


def test_a_passage_is_found_if_half_of_it_is_shown() -> None:
    gold = (Gold(doc="b.md", start=100, end=200),)
    assert measure([hit("docs/b.md", 50, 150)], gold, 1).recall == 1
    assert measure([hit("docs/b.md", 50, 149)], gold, 1).recall == 0
    assert measure([hit("docs/ab.md", 100, 200)], gold, 1).recall == 0
    assert measure([hit("docs/b.md", 0, 50), hit("docs/b.md", 100, 200)], gold, 2).ndcg < 1


def test_every_arm_is_measured_on_the_same_queries(index: LocalIndex) -> None:
    done = ablate(CASES, index_arms(index), 2)
    assert {arm.arm for arm in done.arms} == {"lexical", "dense", "hybrid", "weighted"}
    by_name = {arm.arm: arm for arm in done.arms}
    assert by_name["lexical"].ndcg_lift == by_name["lexical"].recall_lift == 0
    gap = by_name["dense"].recall - by_name["lexical"].recall
    assert by_name["dense"].recall_lift == pytest.approx(gap)
    low, high = by_name["dense"].recall_lift_ci95
    assert low <= gap <= high
    assert by_name["lexical"].recall >= 0.8
    assert all(arm.recall_ci95[0] <= arm.recall <= arm.recall_ci95[1] for arm in done.arms)
    assert all(arm.tokens > 0 and arm.p95_ms >= arm.p50_ms > 0 for arm in done.arms)
    assert [arm.ndcg for arm in done.arms] == sorted((arm.ndcg for arm in done.arms), reverse=True)


def test_a_store_of_the_users_is_an_arm(tmp_path: Path, index: LocalIndex) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def ids(query, k):\n    return ['bread', 'tides'][:k]\n"
        "def rows(query, k):\n    return [{'doc': 'wings', 'text': 'x' * 44, 'score': 2.5}]\n"
        "def broken(query, k):\n    return [{'text': 'no doc'}]\n"
        "def number(query, k):\n    return 7\n"
        "value = 3\n"
    )
    arms = {**index_arms(index), "ids": load_retriever(f"{file}:ids")}
    arms |= {name: load_retriever(f"{file}:{name}") for name in ("rows", "broken", "number")}
    done = {arm.arm: arm for arm in ablate(CASES, arms, 2).arms}
    assert done["ids"].recall == pytest.approx((1 + 0 + 1) / 3)
    assert done["rows"].recall == pytest.approx(1 / 3)
    assert done["broken"].failed == 3
    assert "an object with `doc` for every hit" in done["broken"].error
    assert "expected a list of hits, got 7" in done["number"].error
    with pytest.raises(BadInput, match="is no function"):
        load_retriever(f"{file}:value")
    with pytest.raises(BadInput, match=r"every query failed; the first: .*expected a list"):
        ablate(CASES, {"number": arms["number"]})


def test_cases_are_read_with_errors_that_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(case.model_dump_json() + "\n" for case in CASES))
    assert read_cases(path) == CASES
    path.write_text(json.dumps({"query": "q", "gold": []}))
    with pytest.raises(BadInput, match="row 1: expected a query with at least one gold"):
        read_cases(path)
    path.write_text(json.dumps({"query": "q", "answers": []}))
    with pytest.raises(BadInput, match=r"cases.jsonl:1"):
        read_cases(path)
    path.write_text("")
    with pytest.raises(BadInput, match="holds no cases"):
        read_cases(path)


def test_drafted_queries_point_at_their_sentence_alone(documents: list[Document]) -> None:
    drafted = draft_keywords(documents, 4)
    assert drafted.method == KEYWORDS
    texts = {document.id: document.text for document in documents}
    for case in drafted.cases:
        [gold] = case.gold
        said = texts[gold.doc][gold.start : gold.end].lower()
        assert all(word in said for word in case.query.split())
    assert len({case.gold[0].doc for case in drafted.cases[:3]}) >= 2
    assert draft_keywords(documents, 4) == drafted
    with pytest.raises(BadInput, match=r"none of 2 drafts passed .* too short"):
        draft_keywords([Document("a", "Short. Also short.")], 3)


PASSAGE = "The ledger was audited\nin May 2021. Kim signed the final report for the board."


@pytest.mark.parametrize(
    ("question", "quote", "outcome"),
    [
        ("When were the books checked?", "audited in May 2021", None),
        ("When were the books checked?", "audited in June 2021", "does not stand"),
        ("When were the books checked?", "", "does not stand"),
        ("Books checked", "audited in May 2021", "no question"),
        ("When does the passage say so?", "May 2021", "points at"),
        ("Who signed the final report for the board?", "Kim", "copies"),
    ],
)
def test_drafts_of_a_model_are_checked(question: str, quote: str, outcome: str | None) -> None:
    reply = f"Sure: {json.dumps({'question': question, 'quote': quote})}"
    found = check_draft(reply, PASSAGE)
    if outcome is None:
        assert not isinstance(found, str)
        assert PASSAGE[found[1] : found[2]] == "audited\nin May 2021"
    else:
        assert isinstance(found, str)
        assert outcome in found
    assert check_draft("no JSON", PASSAGE) == "no JSON object with question and quote"


def test_answers_are_scored_without_their_citations() -> None:
    right = score("It bakes for 35 minutes [1, 2].", ["35 minutes"])
    assert (right.em, right.holds, round(right.f1, 3)) == (0.0, 1.0, 0.571)
    assert score("35 minutes. [3]", ["35 minutes"]).em == 1.0
    assert score("135 minutes", ["35 minutes"]).holds == 0.0


def test_a_prompt_holds_the_best_hits_that_fit() -> None:
    hits = [Hit("a", 0, 400, "long " * 80, 3.0), Hit("b", 0, 12, "short answer", 2.0)]
    prompt = prompt_of("Why?", hits, 20)
    assert "[1] b [0:12]\nshort answer" in prompt
    assert "long" not in prompt
    assert prompt.endswith("Question: Why?")


def test_answers_of_every_arm_are_paired_with_the_baseline(index: LocalIndex) -> None:
    cases = [
        Case(query="what makes dough rise?", gold=(Gold(doc="bread"),), answers=("Yeast",)),
        Case(query="what pulls the ocean?", gold=(Gold(doc="tides"),), answers=("The moon",)),
        Case(query="no answers here", gold=(Gold(doc="tides"),)),
    ]
    model = open_model("simulated/lookup")

    def nothing(query: str, k: int) -> list[Hit]:
        return []

    arms = {"nothing": nothing, **index_arms(index)}
    reports = asyncio.run(answer_arms(cases, arms, model, 200, baseline="nothing"))
    assert sorted(one.arm for one in reports) == sorted(arms)
    assert [one.f1 for one in reports] == sorted((one.f1 for one in reports), reverse=True)
    for one in reports:
        assert (one.cases, one.invalid, one.usage.calls) == (2, 0, 2)
        if one.arm == "nothing":
            assert (one.f1_lift, one.f1_lift_ci95) == (0.0, (0.0, 0.0))
    with pytest.raises(BadInput, match="got 0 of 3 cases"):
        asyncio.run(answer_arms(CASES, arms, model))

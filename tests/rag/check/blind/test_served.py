"""benchmarks/check/served.py and ragas.py against an endpoint that looks values up."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from typing import Any

from benchmarks.check import ragas, served
from benchmarks.check.labelled import Labelled
from benchmarks.check.whole import BASELINES, CHECKERS
from harness.rag.check import Row
from tests.models.http_server import Answer, completion, serve

NOTE = "The pump of the mill was replaced in 2019. It cost 1,200 euros."


def claims(count: int) -> list[Labelled]:
    return [
        Labelled("set", f"Claim {number}.", f"Document {number // 3}.", number % 4 == 0)
        for number in range(count)
    ]


def test_as_many_claims_of_both_labels_are_drawn_from_as_many_documents_as_there_are() -> None:
    drawn = served.drawn(claims(60), 10, 22)
    assert Counter(claim.supported for claim in drawn) == {True: 5, False: 5}
    for label in (True, False):
        documents = [claim.document for claim in drawn if claim.supported is label]
        assert len(set(documents)) == 5
    assert drawn == served.drawn(claims(60), 10, 22) == served.drawn(claims(60), 20, 22)[:10]


def test_a_short_document_is_read_whole_and_a_long_one_where_it_speaks_of_the_claim() -> None:
    claim = Labelled("set", "The pump was replaced in 2018.", NOTE, supported=False)
    assert "1,200" in served.passage(claim, 1)
    filler = " ".join(f"Nobody came to meeting {number}." for number in range(20))
    long = Labelled("set", claim.claim, f"{NOTE} {filler}", supported=False)
    assert served.passage(long, 1) == "The pump of the mill was replaced in 2019."


def reading_checker(body: dict[str, Any]) -> Answer:
    """Answer every question with the value of the note's sentence that is nearest to it."""
    prompt = str(body["messages"][-1]["content"])
    if "<questions>" not in prompt:
        asked = {"question": "How many euros did it cost?", "answer": "1,200"}
        return completion(json.dumps([asked]))
    answers: list[dict[str, str]] = []
    for question in re.findall("^- (.*)$", prompt.rpartition("<questions>")[2], re.MULTILINE):
        words = set(re.findall("[a-z]{3,}", question.lower()))
        sentence = max(
            NOTE.split(". "), key=lambda text: len(words & set(re.findall("[a-z]{3,}", text)))
        )
        value = re.findall(r"\d[\d,]*", sentence)[-1]
        answers.append({"evidence": sentence, "answer": value})
    return completion(json.dumps(answers))


async def served_judgements() -> tuple[list[dict[str, Any]], list[ragas.Said]]:
    """Judge a true and a false claim, beside RAGAS."""
    with serve(reading_checker) as server:
        options = argparse.Namespace(
            mixed=False, base_url=server.url, sentences=5,
            model=["vllm/simulated", "proposer=simulated/lookup"],
        )  # fmt: skip
        claims = [
            Labelled("set", f"The pump was replaced in {year}.", NOTE, true)
            for year, true in ((2019, True), (2018, False))
        ]
        rows = [await asyncio.to_thread(served.judge, claim, options) for claim in claims]
        answer = Row(id="1", answer="It cost 1,200 euros.", contexts=(NOTE,))
        ours = await asyncio.to_thread(ragas.ours, [answer], "openai/simulated", server.url, None)
    return rows, ours


def test_a_served_model_judges_a_claim_and_seconds_are_counted() -> None:
    (true, false), judgements = asyncio.run(served_judgements())
    assert false["verdicts"]["CONTRADICTED"] >= 1
    assert false["verdict"] == "FAIL"
    assert served.READINGS["not contradicted"](true)
    assert not served.READINGS["not contradicted"](false)
    assert all(row["seconds"] > 0 and row["calls"] > 0 for row in (true, false))
    assert ragas.summary(judgements, [True])["seconds_mean"] > 0


def test_the_figures_of_a_set_and_of_careful_claims() -> None:
    row = {"verdict": "PASS", "verdicts": {"SUPPORTED": 1}, "calls": 1, "seconds": 2.0}
    least = dict.fromkeys([*BASELINES, *CHECKERS], 1.0)
    judged = [
        (claim, row | {"verdict": "PASS" if claim.supported else "FAIL"} | least)
        for claim in claims(12)
    ]
    figures = served.compared(judged, "pass", "numbers", least)
    assert figures["balanced_accuracy"]["pass"] == 1
    assert figures["difference"] == 0.5
    table = served.careful(judged, "pass")
    assert table["model"] == {"false_found": 9, "true_flagged": 0}
    assert table["rules"] == {"false_found": 0, "true_flagged": 0}

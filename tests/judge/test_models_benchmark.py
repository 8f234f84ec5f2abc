"""The benchmark of judges: its pairs, what it compares, and that it resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.judge import models
from harness.judge.types import Evidence, Verdict
from tests.judge.cases import between
from tests.models.http_server import Answer, completion, serve

SOLUTIONS = {
    "6b_finetuning": (False, "2 + 2 = 5\nA: 5"),
    "6b_verification": (True, "2 + 2 = 4\nA: 4"),
    "175b_finetuning": (False, "2 * 3 = 6\nA: 6"),
    "175b_verification": (True, "4\nA: 4"),
}


def data(folder: Path, count: int = 6) -> Path:
    """A set of sums whose recorded answers are right or wrong, and a row without a wrong one."""
    answers: dict[str, Any] = {
        writer: {"is_correct": right, "solution": text}
        for writer, (right, text) in SOLUTIONS.items()
    }
    row = {"question": "What is 2 + 2?", "ground_truth": "2 + 2 = 4\nA: 4"}
    rows = [{**row, **answers, "number": number} for number in range(count)]
    rows.append({**row, **dict.fromkeys(SOLUTIONS, answers["6b_verification"])})
    lines = "".join(json.dumps(each) + "\n" for each in rows)
    (folder / "gsm8k_test_recorded.jsonl").write_text(lines)
    return folder


def test_a_pair_of_sums_has_a_right_and_a_wrong_answer(tmp_path: Path) -> None:
    rows = models.pairs(data(tmp_path), "gsm8k")
    assert len(rows) == 6
    assert {row["label"] for row in rows} == {"A", "B"}
    for row in rows:
        other = "B" if row["label"] == "A" else "A"
        assert row[row["label"].lower()].endswith("A: 4")
        assert not row[other.lower()].endswith("A: 4")
        assert row["reference"] == "4"
    assert models.pairs(tmp_path, "gsm8k", longest=10) == []


def test_arms_come_after_direct_judging_and_need_a_reference_to_show_one() -> None:
    every = ["baseline", "fair", "operational"]
    names = [arm.name for arm in models.arms(["openrs", "skill"], every, referenced=True)]
    assert names == [
        "direct-baseline", "openrs-fair", "openrs-operational", "skill-fair", "skill-operational",
    ]  # fmt: skip
    names = [arm.name for arm in models.arms(["direct", "skill"], every, referenced=False)]
    assert names == ["direct-baseline", "skill-fair"]


def test_a_difference_is_paired_and_says_what_invalid_verdicts_would_change() -> None:
    rows = [{"id": name, "label": "A"} for name in "abcd"]
    lost = Verdict(invalid="torn")
    before = dict(zip("abcd", (Verdict(preference="B"),) * 4, strict=True))
    seen = Evidence(criterion="c", decision="A", source="verifier")
    after = {
        "a": Verdict(preference="A", by="verifier"),
        "b": Verdict(preference="A", evidence=(seen,)), "c": Verdict(preference="tie"), "d": lost,
    }  # fmt: skip
    compared = models.difference(before, after, rows)
    figures = {name: (row["tasks"], row["difference"]) for name, row in compared.items()}
    assert figures == {
        "valid in both": (3, pytest.approx(2.5 / 3)),
        "invalid as ties": (4, 0.75),
        "where a program decided": (2, 1.0),
    }


def test_direct_judging_gets_as_many_votes_as_spend_a_methods_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        schema = body["response_format"]["json_schema"]["schema"]["properties"]
        reply = {"key": schema["key"]["const"]}
        prompt = body["messages"][-1]["content"]
        if "better" in schema:
            first = between(prompt, "first").endswith("A: 4")
            reply |= {"reason": "r", "better": "first" if first else "equal"}
        elif "diagnosis" in schema:
            reply |= {"diagnosis": "a sum"}
        elif "resources" in schema:
            reply |= {"resources": []}
        elif "action" in schema:
            reply |= {"action": "record", "resource": "none", "code": "", "criterion": "c"}
            reply |= {"observation": "o", "decision": "second"}
        return completion(json.dumps(reply))

    monkeypatch.setenv("OPENAI_API_KEY", "test")
    out, calls = tmp_path / "result.json", list[int]()
    words = ["models", str(data(tmp_path)), "--set", "gsm8k", "--limit", "4", "--method", "skill"]
    words += [
        "--sandbox",
        "none",
        "--setting",
        "fair",
        "--model",
        "openai/j",
        "--runs",
        str(tmp_path / "runs"),
    ]
    for _ in range(2):
        with serve(answer) as served:
            command = [*words, "--base-url", served.url, "--out", str(out)]
            monkeypatch.setattr("sys.argv", command)
            models.main()
            calls.append(len(served.bodies))
    [result] = json.loads(out.read_text())["runs"]
    # Eight calls in each order of a pair, one a vote; each has the same tokens here.
    assert calls == [4 * 2 * (1 + 8 + 8), 0]
    compared = result["compared"]["skill-fair"]
    assert list(compared) == ["direct-baseline", "direct-baseline-8-votes"]
    arms = result["arms"]
    assert arms["direct-baseline"]["accuracy"] == 1.0
    assert arms["direct-baseline"]["orders agree"] == 0.0  # first, and equal
    assert arms["skill-fair"]["accuracy"] == 0.5
    assert compared["direct-baseline"]["valid in both"]["difference"] == -0.5

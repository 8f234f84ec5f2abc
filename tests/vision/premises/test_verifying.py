"""Verification against a scripted endpoint: who is shown what, and replies of every kind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.models import open_model
from harness.vision.premises import (
    Constraints,
    OnUnreadable,
    Solution,
    Step,
    Verified,
    read_audit,
    read_constraints,
    read_judgement,
    read_solution,
    verify,
)
from tests.models.http_server import Served, completion, serve

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SOLUTION = Solution(
    steps=(
        Step(text="March has 40.", premise="March is 40"),
        Step(text="April has 10.", premise="April is 10"),
        Step(text="Together 50."),
    ),
    answer="50",
)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    yield


def _text(body: dict[str, Any]) -> str:
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def _verify(
    script: Callable[[str], str], on_unreadable: OnUnreadable = "invalid"
) -> tuple[Verified, Served]:
    with serve(lambda body: completion(script(_text(body)))) as served:

        async def run() -> Verified:
            model = open_model("openai/scripted", base_url=served.url)
            try:
                return await verify(model, [IMAGE], "Sum?", SOLUTION, on_unreadable=on_unreadable)
            finally:
                await model.aclose()

        return asyncio.run(run()), served


def _model(text: str) -> str:
    if "caption" in text:
        return '```json\n{"caption": "Bars.", "facts": ["March is 30", "April is 10"]}\n```'
    if "contradict" in text:
        hit = '{"constraint": 2, "severity": "high"}' if "Claim: March" in text else ""
        return f'{{"contradictions": [{hit}]}}'
    return '{"verdict": "right"}'


def test_every_role_sees_what_it_may_see() -> None:
    verdict, served = _verify(_model)
    assert verdict.invalid is None
    assert verdict.reliability == 0.5
    assert verdict.judged == (1.0, 1.0, 1.0)
    assert verdict.gated == (0.5, 0.5, 1.0)
    (finding,) = verdict.findings
    assert (finding.step, finding.constraint) == (0, "March is 30")
    extract, *rest = served.bodies
    assert extract["messages"][0]["content"][0] == IMAGE
    assert "40" not in _text(extract)  # no word of the solution
    audits = [body for body in rest if isinstance(body["messages"][0]["content"], str)]
    assert len(audits) == 2  # one a premise, none for the step that looks at nothing
    assert all("Sum?" not in _text(body) for body in audits)
    assert len(rest) == 5


@pytest.mark.parametrize(
    ("broken", "reason"),
    [("caption", "constraints"), ("contradict", "audit"), ("verdict", "judgement")],
)
def test_what_cannot_be_read_is_invalid(broken: str, reason: str) -> None:
    verdict, _ = _verify(lambda text: "I am not sure." if broken in text else _model(text))
    assert verdict.invalid is not None
    assert reason in verdict.invalid
    assert verdict.reliability is None
    assert verdict.gated == ()


def test_a_reply_that_cannot_be_read_is_asked_for_again() -> None:
    broken: dict[str, int] = {}

    def stammering(text: str) -> str:
        broken[text] = broken.get(text, 0) + 1
        return "I am not sure." if broken[text] < 3 else _model(text)

    verdict, served = _verify(stammering)
    assert verdict == _verify(_model)[0]
    assert len(served.bodies) == 3 * 6
    audit = [body["messages"] for body in served.bodies if "Claim: March" in _text(body)]
    assert [len(messages) for messages in audit] == [1, 3, 5]
    assert "one JSON object" in audit[1][2]["content"]


def test_an_audit_in_part_keeps_what_it_found() -> None:
    verdict, _ = _verify(lambda text: "?" if "Claim: April" in text else _model(text))
    assert verdict.invalid == "an audit could not be read"
    assert [finding.step for finding in verdict.findings] == [0]
    assert verdict.judged == (1.0, 1.0, 1.0)


def test_the_official_reading_of_an_unreadable_audit_is_no_reliability() -> None:
    verdict, _ = _verify(
        lambda text: "?" if "contradict" in text else _model(text), on_unreadable="zero"
    )
    assert verdict.invalid is None
    assert verdict.reliability == 0.0
    assert verdict.gated == (0.0, 0.0, 1.0)


def test_solutions_are_read() -> None:
    said = (
        'Sure. {"steps": [{"text": "a", "seen": "b is 3"}, {"text": "c", "seen": null}, '
        '{"text": "d", "seen": "None."}, "e", {"seen": "x"}, 7], "answer": 12}'
    )
    solution = read_solution(said)
    assert solution is not None
    assert [(step.text, step.premise) for step in solution.steps] == [
        ("a", "b is 3"),
        ("c", None),
        ("d", None),
        ("e", None),
    ]
    assert solution.answer == "12"
    for broken in ("", "{}", '{"steps": [], "answer": "x"}', '{"steps": ["a"]}', '{"steps": 3}'):
        assert read_solution(broken) is None


def test_constraints_are_read() -> None:
    assert read_constraints('{"caption": "x", "facts": ["a", "", 3], "uncertain": null}') == (
        Constraints(caption="x", facts=("a", "3"))
    )
    assert read_constraints('{"facts": []}') is None
    assert read_constraints("none") is None


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        "{}",
        '{"contradictions": "none"}',
        '{"contradictions": [{"constraint": 3, "severity": "high"}]}',
        '{"contradictions": [{"constraint": 0, "severity": "high"}]}',
        '{"contradictions": [{"constraint": 1, "severity": "awful"}]}',
        '{"contradictions": [1]}',
    ],
)
def test_audits_that_cannot_be_read(reply: str) -> None:
    assert read_audit(reply, 0, "c", ["one", "two"]) is None


def test_an_empty_audit_is_a_clean_one() -> None:
    assert read_audit('{"contradictions": []}', 0, "c", ["one"]) == []


@pytest.mark.parametrize(
    ("reply", "score"),
    [('{"verdict": "right"}', 1.0), ('{"verdict": "WRONG"}', -1.0), ('{"verdict": -1}', -1.0),
     ('{"verdict": "maybe"}', None), ("right", None)],
)  # fmt: skip
def test_judgements(reply: str, score: float | None) -> None:
    assert read_judgement(reply) == score

"""The vqa graphs for a model without eyes and with candidates; endpoints that take no images."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lab.corpora.folio import folio_tasks
from tests.agents.scripted import Script, attempt, completion
from tests.models.http_server import Answer, error
from tests.vision.looking import kind_of, looking_script, pictures, prompt_of

pytestmark = pytest.mark.usefixtures("environment")


def _no_images(bodies: list[dict[str, Any]]) -> bool:
    return all(isinstance(m["content"], str) for body in bodies for m in body["messages"])


def test_a_text_only_model_gets_readers_and_no_images(tmp_path: Path) -> None:
    picture = next(one for _, one in folio_tasks("train") if one.kind == "shapes")
    work = tmp_path / "work"
    work.mkdir()
    Image.open(BytesIO(picture.data)).save(work / "a.png")
    run, served = attempt(looking_script(), work, spec="graph:vqa_text", tools=("shapes", "zoom"))
    assert run.answer == "40"
    assert run.invalid is None
    assert [kind_of(body["messages"]) for body in served.bodies] == [
        "plan",
        "look",
        "look",
        "reason",
    ]
    assert _no_images(served.bodies)
    plan, look, _, reason = (prompt_of(body["messages"]) for body in served.bodies)
    for prompt in (plan, look, reason):
        assert "shapes of a.png: " in prompt
        assert '"counts"' in prompt
    assert "You cannot see the image" in look
    names = [tool["function"]["name"] for tool in served.bodies[1]["tools"]]
    assert names == ["shapes", "zoom"]


def test_readers_are_used_that_no_suite_offers(tmp_path: Path) -> None:
    """And a file that they cannot read is described as that."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.png").write_bytes(b"no picture")
    run, served = attempt(looking_script(), work, spec="graph:vqa_text", tools=())
    assert run.answer == "40"
    prompt = prompt_of(served.bodies[0]["messages"])
    for reader in ("chart", "table", "shapes"):
        assert f'{reader} of a.png: {{"error": "UnidentifiedImageError' in prompt
    assert "tools" not in served.bodies[1]


@pytest.mark.parametrize("status", [400, 500])
def test_an_endpoint_that_takes_no_images_is_explained(
    tmp_path: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(attempt: int, rng: object) -> float:
        return 0.0

    monkeypatch.setattr("harness.models.transport.backoff_s", at_once)
    work = pictures(tmp_path / "work")
    refusal = error(status, "image input is not supported by this model")
    run, _ = attempt(lambda _: refusal, work, spec="graph:vqa")
    assert run.answer is None
    assert "image input is not supported" in (run.invalid or "")
    assert "the request held 2 images (profile 'other')" in (run.invalid or "")
    assert "use --agent graph:vqa_text" in (run.invalid or "")
    assert "--limit-mm-per-prompt '{\"image\": 2}'" in (run.invalid or "")


def test_other_refusals_stay_as_they_are(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    run, _ = attempt(lambda _: error(400, "no such model"), work, spec="graph:vqa")
    assert "no such model" in (run.invalid or "")
    assert "images" not in (run.invalid or "")


def _candidates(texts: list[str]) -> Callable[[], str]:
    left = iter(texts)
    return lambda: next(left)


def _solution(value: int) -> str:
    steps = [{"text": f"Jan is {value}.", "seen": f"Jan is {value}"}, {"text": "So."}]
    return json.dumps({"steps": steps, "answer": str(value)})


def _verifier(solutions: list[str], extracted: str) -> Script:
    """Solutions in turn; an auditor that finds every other number than 40 contradicted."""
    following = _candidates(solutions)
    held = looking_script()

    def answer(messages: list[dict[str, Any]]) -> Answer:
        kind, text = kind_of(messages), prompt_of(messages)
        if kind == "reason":
            return completion(following())
        if kind == "extract":
            return completion(extracted)
        if kind == "audit":
            wrong = "Claim: Jan is 40" not in text
            found = [{"constraint": 2, "severity": "high"}] if wrong else []
            return completion(json.dumps({"contradictions": found}))
        if kind == "judge":
            return completion('{"verdict": "right"}')
        return held(messages)

    return answer


EXTRACTED = json.dumps({"caption": "A bar chart.", "facts": ["Jan is 40"]})


def test_the_candidate_whose_premises_hold_is_taken(tmp_path: Path) -> None:
    work = pictures(tmp_path / "work")
    script = _verifier([_solution(30), "no JSON", _solution(40), _solution(50)], EXTRACTED)
    seen: list[dict[str, Any]] = []
    run, served = attempt(script, work, spec="graph:vqa_verify", on_event=seen.append)
    assert run.answer == "40"
    kinds = [kind_of(body["messages"]) for body in served.bodies]
    assert kinds[:8] == ["perceive", "plan", "look", "look", *["reason"] * 4]
    assert [kinds.count(kind) for kind in ("extract", "audit", "judge")] == [1, 3, 6]
    asked = [body for body in served.bodies if kind_of(body["messages"]) == "reason"]
    assert len({body.get("seed") for body in asked}) == 4
    assert [body.get("temperature") for body in asked[1:]] == [0.7] * 3
    for body in served.bodies:
        if kind_of(body["messages"]) == "extract":
            assert "Jan is 30" not in json.dumps(body["messages"])  # blind to the candidates
    (chosen,) = [event for event in seen if event["type"] == "chosen"]
    assert [one["reliability"] for one in chosen["candidates"]] == [0.5, 1.0, 0.5]
    assert chosen["chosen"] == 1


def test_without_a_verdict_the_first_candidate_stays(tmp_path: Path) -> None:
    work = pictures(tmp_path / "work")
    run, served = attempt(
        _verifier([_solution(30), _solution(40)], "no JSON"), work, spec="graph:vqa_verify",
        max_turns=6,
    )  # fmt: skip
    assert run.answer == "30"
    assert run.invalid is None
    assert "audit" not in [kind_of(body["messages"]) for body in served.bodies]


def test_a_corrected_solution_is_verified_too(tmp_path: Path) -> None:
    work = pictures(tmp_path / "work")
    script = _verifier(["none", "none", _solution(40)], EXTRACTED)
    run, served = attempt(script, work, spec="graph:vqa_verify", max_turns=7)
    assert run.invalid is None
    assert run.answer == "40"
    kinds = [kind_of(body["messages"]) for body in served.bodies]
    assert kinds.count("audit") == 1

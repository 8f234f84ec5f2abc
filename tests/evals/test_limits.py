"""Limits of single attempts: the attempt ends and is invalid, the run goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from harness.api import EvalSettings, run_evaluation
from harness.evals.session import records
from harness.evals.types import EvalReport
from harness.models import open_model
from harness.models.limited import LimitedModel, SampleLimitReached, SampleLimits
from tests.models.http_server import completion, serve

CURL = (
    "cmd:sh -c 'for n in 1 2 3; do curl -sf $OPENAI_BASE_URL/chat/completions "
    '-H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" '
    '-d "{\\"model\\": \\"m\\", \\"messages\\": [{\\"role\\": \\"user\\", \\"content\\": '
    '\\"$n\\"}]}" > /dev/null || exit 7; done; echo 4\''
)


def evaluated(folder: Path, url: str, **settings: Any) -> EvalReport:
    tasks = folder / "tasks.jsonl"
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(3)]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = EvalSettings(
        suite=str(tasks), out=folder / "run", sandbox="none", models=("openai/scripted",),
        base_url=url, **settings,
    )  # fmt: skip
    return run_evaluation(found)[0]


def test_a_call_that_hangs_ends_its_attempt(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4"), delay_s=30) as served:
        report = evaluated(tmp_path, served.url, time_limit=0.5)
    assert (report.passed, report.failed, report.invalid) == (0, 0, 3)
    reasons = {one.reason for one in records(tmp_path / "run")}
    assert reasons == {"the attempt reached its limit of 0.5 seconds after 0 calls (--time-limit)"}


def test_a_command_that_asks_too_often_meets_the_token_limit(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4")) as served:
        report = evaluated(tmp_path, served.url, agent=CURL, token_limit=1)
    assert report.invalid == 3
    reasons = {one.reason for one in records(tmp_path / "run")}
    assert reasons == {
        "the attempt reached its limit of 1 tokens after 1 calls (--token-limit)"
    }  # fmt: skip


def test_the_suite_sets_limits_and_the_command_line_may_set_others(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "prompt": "asked", "answer": "4"}\n')
    suite = tmp_path / "suite.yaml"
    suite.write_text("name: s\ntasks: tasks.jsonl\nlimits: {seconds: 0.2}\n")
    common: dict[str, Any] = {"suite": str(suite), "sandbox": "none", "models": ("openai/x",)}
    with serve(lambda _body: completion("4"), delay_s=0.5) as served:
        common["base_url"] = served.url
        strict = run_evaluation(EvalSettings(**common, out=tmp_path / "strict"))[0]
        patient = run_evaluation(EvalSettings(**common, out=tmp_path / "kind", time_limit=60))[0]
    assert (strict.invalid, patient.passed) == (1, 1)


def test_a_cost_limit_needs_a_price() -> None:
    async def asked(url: str) -> None:
        model = open_model("openai/no-price", base_url=url)
        limited = LimitedModel(model, SampleLimits(usd=0.5))
        try:
            await limited.complete([{"role": "user", "content": "hi"}])
            await limited.complete([{"role": "user", "content": "again"}])
        finally:
            await model.aclose()

    refused = pytest.raises(SampleLimitReached, match="needs the price of openai/no-price")
    with serve(lambda _body: completion("4")) as served, refused:
        asyncio.run(asked(served.url))


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"usd": -1.0}, {"seconds": 0.0}])
def test_a_limit_of_nothing_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SampleLimits(**limits)

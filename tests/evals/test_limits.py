"""Limits of single attempts: the attempt ends and is invalid, the run goes on."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from harness.api import EvalSettings, run_evaluation
from harness.cli import cli
from harness.core import BadInput, LimitReached
from harness.evals import EvalReport, records, regrade_folder
from harness.models import (
    PRICES_VARIABLE,
    Budget,
    LimitedModel,
    SampleLimitReached,
    SampleLimits,
    Sampling,
    open_model,
)
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


def test_a_command_whose_every_attempt_is_invalid_does_not_exit_0(tmp_path: Path) -> None:
    tasks, out = tmp_path / "tasks.jsonl", tmp_path / "run"
    tasks.write_text(json.dumps({"id": "t", "prompt": "task", "answer": "4"}))
    with serve(lambda _body: completion("4"), delay_s=30) as served:
        options = ["--model", "openai/scripted", "--base-url", served.url, "--sandbox", "none"]
        command = ["eval", str(tasks), "--out", str(out), "--time-limit", "0.2", *options]
        done = CliRunner().invoke(cli, [*command, "--json"])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
    assert "every attempt was invalid: the attempt reached its limit" in str(done.exception)
    assert json.loads(done.stdout)["invalid"] == 1


def test_a_command_that_asks_too_often_meets_the_token_limit(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4")) as served:
        report = evaluated(tmp_path, served.url, agent=CURL, token_limit=1)
    assert report.invalid == 3
    reasons = {one.reason for one in records(tmp_path / "run")}
    assert reasons == {
        "the attempt reached its limit of 1 tokens after 1 calls (--token-limit)"
    }  # fmt: skip


def test_an_attempt_that_met_its_limit_is_never_judged_again(tmp_path: Path) -> None:
    with serve(lambda _body: completion("4")) as served:
        agent = CURL.replace("|| exit 7; done; echo 4", "|| { echo 4; exit 0; }; done")
        evaluated(tmp_path, served.url, agent=agent, token_limit=1)
    assert {one.answer for one in records(tmp_path / "run")} == {None}
    with pytest.raises(BadInput, match=r"none of 3 attempts can be judged again \(3 invalid\)"):
        regrade_folder(tmp_path / "run", tmp_path / "again", None, "none", trust_checks=True)


def test_a_budget_is_of_both_arms_and_an_arm_that_has_not_begun_is_resumed(
    tmp_path: Path,
) -> None:
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text('---\nname: "skill"\ndescription: "d"\n---\ntext\n')
    settings: dict[str, Any] = {"skill": skill, "baseline": True, "concurrency": 1}
    with serve(lambda _body: completion("4")) as served:
        with pytest.raises(LimitReached):
            evaluated(tmp_path, served.url, budget_calls=2, **settings)
        assert len(served.bodies) == 2
        assert not (tmp_path / "run").exists()  # the arm without the skill comes first
        settings["resume"] = tmp_path / "run"
        with pytest.raises(LimitReached):
            evaluated(tmp_path, served.url, budget_calls=5, **settings)
        assert len(served.bodies) == 5
        assert evaluated(tmp_path, served.url, budget_calls=6, **settings).passed == 3
        assert len(served.bodies) == 6


def test_a_run_leaves_no_thread_of_its_calls(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with serve(lambda _body: completion("4")) as served:
        evaluated(tmp_path, served.url)
    assert not [one for one in threading.enumerate() if one.name == "calls" and one not in before]


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


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"tokens": 1500}, 22),  # 22 calls have 1,518 tokens: the last one is made alone
        ({"usd": 0.0015}, 22),
        ({"tokens": 5000, "usd": 0.0015}, 22),
    ],
)
@pytest.mark.parametrize("bound", [64, None, -1])
def test_calls_at_one_time_stay_within_a_limit_together(
    limits: dict[str, Any],
    most: int,
    bound: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({"models": {"openai/m": {"input": 1.0, "output": 1.0}}}))
    monkeypatch.setenv(PRICES_VARIABLE, str(table))
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    async def asked(url: str) -> list[Any]:
        model = open_model("openai/m", base_url=url, concurrency=60)
        limited = LimitedModel(model, SampleLimits(**limits))
        calls = [
            limited.complete(
                [{"role": "user", "content": f"{n}"}], sampling=Sampling(max_tokens=bound)
            )
            for n in range(60)
        ]
        try:
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await model.aclose()

    with serve(lambda _body: completion("4", 5, 64), delay_s=0.01) as served:
        replies = asyncio.run(asked(served.url))
    assert len(served.bodies) == most
    refused = [reply for reply in replies if isinstance(reply, SampleLimitReached)]
    assert len(refused) == 60 - most
    assert "after 22 calls" in str(refused[0])


def test_a_bound_of_less_than_nothing_is_none_for_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp writes without end for -1; the worst case was lower by one token."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    async def asked(url: str) -> None:
        model = open_model("openai/m", base_url=url, budget=Budget(tokens=100_000))
        sampling = Sampling(max_tokens=-1)
        await model.complete([{"role": "user", "content": "hi"}], sampling=sampling)
        await model.aclose()

    with serve(lambda _body: completion("4")) as served:
        asyncio.run(asked(served.url))
    assert served.bodies[0]["max_tokens"] > 0

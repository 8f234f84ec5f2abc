"""Models that hold replies to a JSON schema; recorded runs are asked as they were."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.agents import ToolProtocol
from harness.core import Task
from harness.evals import Suite
from harness.evals.attempts import attempt_context
from harness.models import CallStore, LimitedModel, Model, SampleLimits, export_calls, open_model
from tests.models.http_server import completion, serve

FORM: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
TASK = Task(id="t", prompt="Add.", answer="4", check="numeric")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the openai client wants to see."""
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def protocol(model: Model, suite: Suite) -> ToolProtocol:
    """The protocol of an attempt."""
    return attempt_context(suite, TASK, model, seed=1).protocol


def test_a_server_that_can_is_asked_to_and_no_other_is() -> None:
    auto = Suite(name="s")
    vllm, openai = (open_model(f"{kind}/m", base_url="http://x/v1") for kind in ("vllm", "openai"))
    limited = LimitedModel(vllm, SampleLimits())
    assert protocol(limited, auto) == protocol(vllm, auto) == "json"
    assert protocol(openai, auto) == "native"
    assert protocol(openai, Suite(name="s", protocol="json")) == "json"
    assert protocol(vllm, Suite(name="s", protocol="native")) == "native"
    assert protocol(vllm, Suite(name="s", protocol="text")) == "text"


@pytest.mark.parametrize(
    ("spec", "form", "asked"),
    [("vllm/m", FORM, "json"), ("vllm/m", None, "native"), ("openai/m", FORM, "native")],
)
def test_a_recording_is_asked_as_it_was(
    spec: str, form: dict[str, Any] | None, asked: str, tmp_path: Path
) -> None:
    """A run that was recorded before replies were constrained is replayed without."""
    with serve(lambda _: completion("4")) as served, CallStore() as calls:

        async def run() -> None:
            model = open_model(spec, base_url=served.url, calls=calls)
            await model.complete([{"role": "user", "content": "Add."}], response_format=form)
            await model.aclose()

        asyncio.run(run())
        export_calls(calls, tmp_path / "calls.jsonl")
    replay = open_model(f"replay/{tmp_path / 'calls.jsonl'}")
    assert protocol(replay, Suite(name="s")) == asked

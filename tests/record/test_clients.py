"""Real clients recorded, then replayed with the provider gone: the same output, no key kept."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.core import Trajectory
from harness.record import Recording
from harness.trajectories import open_trajectories
from tests.record import clients
from tests.record.provider import KEY, Said, Seen, provide
from tests.record.running import KEYS, PYTHON, again, recorded
from tests.record.speaking import speaking

CASES = {
    "openai": [*PYTHON, clients.OPENAI],
    "anthropic": [*PYTHON, clients.ANTHROPIC],
    "langchain_openai": [*PYTHON, clients.LANGCHAIN],
    "curl": ["bash", "-c", clients.CURL],
}
CONVERSATIONS = {"openai": 4, "anthropic": 2, "langchain_openai": 3, "curl": 2}


def looking_up(seen: Seen) -> Said:
    """Calls the tool once, then answers with what the tool said."""
    if "heap of stones" in json.dumps(seen.body):
        return Said("A cairn is a heap of stones.")
    return Said("One moment.", [("look_up", {"word": "cairn"})] if "tools" in seen.body else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "client",
    # LangChain's asks by OpenAI's client.
    [pytest.param(name, marks=pytest.mark.full if "chain" in name else ()) for name in CASES],
)
def test_recorded_then_replayed_with_the_provider_gone(client: str, tmp_path: Path) -> None:
    if client != "curl" and find_spec(client) is None:
        pytest.skip(f"the client library {client} is not installed")
    folder, command = tmp_path / "recording", CASES[client]
    with provide(speaking(looking_up)) as provider:
        first = recorded(folder, provider.url, command)
        asked = len(provider.seen)
    assert first.report.command_exit == 0
    assert "One moment." in first.output
    passed = {
        seen.headers.get("authorization", "").removeprefix("Bearer ")
        or seen.headers.get("x-api-key")
        for seen in provider.seen
    }
    assert passed <= set(KEYS.values()), "keys pass through"
    assert_no_key(folder)
    assert len(first.report.trajectories) == CONVERSATIONS[client]
    if client != "curl":
        for trajectory in open_trajectories(folder / "trajectories"):
            assert_two_turns(trajectory)

    second = again(folder, command)
    assert second.report.command_exit == 0
    assert (second.report.requests, second.report.replayed) == (asked, asked)
    assert second.output == first.output


def assert_no_key(folder: Path) -> None:
    read = json.dumps(Recording(folder).events)
    raw = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for secret in (KEY, "oatmeal-raisin"):
        assert secret not in read
        assert secret.encode() not in raw


def assert_two_turns(trajectory: Trajectory) -> None:
    first, last = trajectory.steps[-2:]
    assert [step.source for step in trajectory.steps[-3:]] == ["user", "agent", "agent"]
    assert first.tool_calls
    assert (first.tool_calls[0].function_name, first.tool_calls[0].arguments) == (
        "look_up",
        {"word": "cairn"},
    )
    assert first.observation
    assert first.observation.results[0].content == "a heap of stones"
    assert last.message == "A cairn is a heap of stones."
    if last.metrics:  # a chat stream tells only if it is asked to, and LangChain does not ask
        assert last.metrics.prompt_tokens == 100
        assert trajectory.final_metrics
        assert trajectory.final_metrics.total_completion_tokens == 14

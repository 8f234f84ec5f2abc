"""The ReAct graph against a real endpoint and a real sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.models import Sampling
from tests.agents.scripted import action, attempt, completion, in_order, native

DONE = completion("42\nACTION: TASK_COMPLETE")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def test_a_question_without_tools_is_one_call(tmp_path: Path) -> None:
    run, served = attempt(in_order(completion("Aldermere")), tmp_path)
    assert (run.answer, run.invalid) == ("Aldermere", None)
    assert len(served.bodies) == 1
    assert "tools" not in served.bodies[0]
    assert [step.source for step in run.trajectory.steps] == ["system", "user", "agent"]


def test_text_protocol_runs_code_and_shows_the_result(tmp_path: Path) -> None:
    script = in_order(action("python", '{"code": "print(6 * 7)"}'), DONE)
    run, served = attempt(script, tmp_path, tools=("python",), protocol="text")
    assert run.answer == "42"
    assert served.bodies[1]["messages"][-1]["content"] == "Observation:\n```\n42\n```"
    assert served.bodies[0]["stop"] == ["Observation:"]
    step = run.trajectory.steps[2]
    assert step.tool_calls is not None
    assert step.tool_calls[0].arguments == {"code": "print(6 * 7)"}
    assert step.observation is not None
    assert step.observation.results[0].content == "42"


def test_native_tool_calls(tmp_path: Path) -> None:
    script = in_order(native("bash", '{"command": "echo hi > f; cat f"}'), completion("done"))
    run, served = attempt(script, tmp_path, tools=("bash",))
    assert run.answer == "done"
    assert (tmp_path / "f").read_text() == "hi\n"
    assert served.bodies[0]["tools"][0]["function"]["name"] == "bash"
    assert served.bodies[1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "c1",
        "content": "hi",
    }


def test_a_format_error_uses_up_no_turn(tmp_path: Path) -> None:
    script = in_order(
        completion("I am not sure."),
        completion("Action:\n{broken"),
        action("python", '{"code": "print(1)"}'),
        DONE,
    )
    run, served = attempt(script, tmp_path, tools=("python",), protocol="text", max_turns=2)
    assert (run.answer, run.invalid) == ("42", None)
    assert run.trajectory.harness["turns"] == 4
    assert "Format error" in served.bodies[1]["messages"][-1]["content"]


def test_format_errors_without_end_are_invalid(tmp_path: Path) -> None:
    run, served = attempt(
        lambda _: completion("blah"), tmp_path, tools=("python",), protocol="text"
    )
    assert run.answer is None
    assert run.invalid is not None
    assert "could not be read" in run.invalid
    assert len(served.bodies) == 5


def test_the_turn_limit_is_invalid_and_the_trajectory_is_kept(tmp_path: Path) -> None:
    run, served = attempt(
        lambda _: action("python", '{"code": "print(1)"}'),
        tmp_path, tools=("python",), protocol="text", max_turns=3,
    )  # fmt: skip
    assert run.invalid == "turn limit of 3 reached"
    assert len(served.bodies) == 3
    assert sum(step.source == "agent" for step in run.trajectory.steps) == 3


def test_long_observations_are_cut_in_the_middle(tmp_path: Path) -> None:
    script = in_order(action("python", "{\"code\": \"print('a' * 4000 + 'b' * 4000)\"}"), DONE)
    _, served = attempt(script, tmp_path, tools=("python",), protocol="text")
    text = served.bodies[1]["messages"][-1]["content"]
    assert "2000 characters elided" in text
    assert text.count("a" * 3000) == 1
    assert "a" * 3001 not in text


def test_a_missing_output_file_is_said_once(tmp_path: Path) -> None:
    script = in_order(DONE, action("bash", '{"command": "touch output.xlsx"}'), DONE)
    run, served = attempt(
        script, tmp_path, tools=("bash",), protocol="text", output_file="output.xlsx"
    )
    assert run.answer == "42"
    assert "output.xlsx" in served.bodies[1]["messages"][-1]["content"]
    assert len(served.bodies) == 3


def test_failing_code_shows_its_exit_code(tmp_path: Path) -> None:
    script = in_order(action("bash", '{"command": "echo no >&2; exit 3"}'), DONE)
    _, served = attempt(script, tmp_path, tools=("bash",), protocol="text")
    assert "no\n\n[Exit code: 3]" in served.bodies[1]["messages"][-1]["content"]


def test_an_unknown_tool_is_told_to_the_model(tmp_path: Path) -> None:
    script = in_order(action("telephone", "{}"), DONE)
    run, served = attempt(script, tmp_path, tools=("bash",), protocol="text")
    assert run.answer == "42"
    assert "no tool 'telephone'" in served.bodies[1]["messages"][-1]["content"]


def test_configured_sampling_is_on_the_wire(tmp_path: Path) -> None:
    sampling = Sampling(temperature=0.37, top_p=0.9, max_tokens=77, seed=5, extra={"top_k": 4})
    _, served = attempt(in_order(completion("x")), tmp_path, sampling=sampling)
    body = served.bodies[0]
    assert body["temperature"] == 0.37
    assert body["top_p"] == 0.9
    assert body["seed"] == 5
    assert body["top_k"] == 4
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def test_events_are_told_as_they_happen(tmp_path: Path) -> None:
    events: list[str] = []

    def collect(event: dict[str, Any]) -> None:
        events.append(event["type"])

    script = in_order(action("bash", '{"command": "echo 1"}'), DONE)
    attempt(
        script, tmp_path, tools=("bash",), protocol="text",
        on_event=collect,
    )  # fmt: skip
    assert events == ["reply", "tool", "observation", "reply", "final"]


def test_a_checkpointed_attempt_goes_on_where_it_was(tmp_path: Path) -> None:
    """The endpoint dies after the first turn; the second run starts at the second turn."""
    store = tmp_path / "checkpoints.sqlite"
    work = tmp_path / "work"
    work.mkdir()
    first = action("bash", '{"command": "echo once >> log"}')
    dead = in_order(first, (400, {}, b'{"error": {"message": "gone"}}'))
    run, _ = attempt(dead, work, tools=("bash",), protocol="text", checkpoints=store)
    assert run.invalid is not None
    run, served = attempt(
        in_order(first, DONE), work, tools=("bash",), protocol="text", checkpoints=store
    )
    assert run.answer == "42"
    assert len(served.bodies) == 1
    assert (work / "log").read_text() == "once\n"

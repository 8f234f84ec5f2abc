"""The longdoc graph against a scripted endpoint: every way to a context, tools, paging."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.corpora import to_task
from harness.tasks import family
from lab.corpora.dossier import dossier_readings
from tests.agents.scripted import attempt, completion, in_order, native

LINES = [f"Entry {number}: rope and tar." for number in range(900)]
LINES[500] = "Entry 500: the Heron has a red keel."
TEXT = "\n".join(LINES)


pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with a log; the agent is asked "Do it." by the neighbouring helper."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "log.txt").write_text(TEXT.replace("the Heron has a red keel", "Do it: a red keel"))
    return folder


def _run(script: Any, work: Path, *tools: str, **settings: Any) -> Any:
    return attempt(script, work, spec="graph:longdoc", tools=tools, **settings)


@pytest.mark.parametrize("tool", ["context:compress:400", "context:truncate:400"])
def test_one_call_over_a_context(tool: str, work: Path) -> None:
    run, served = _run(in_order(completion("red")), work, tool)
    (body,) = served.bodies
    (message,) = body["messages"]
    assert message["content"].endswith("\n\nDo it.")
    assert len(message["content"]) < 4000
    assert ("a red keel" in message["content"]) == ("compress" in tool)
    assert "tools" not in body
    start = (work / "log.txt").read_text().index("Do it: a red keel")
    cited = re.fullmatch(r"red \[log\.txt:(\d+)-(\d+)\]", run.answer or "")
    assert cited is not None
    assert int(cited[1]) <= start < int(cited[2])


def test_no_tool_is_truncation(work: Path) -> None:
    _, served = _run(in_order(completion("x")), work)
    assert "[log.txt:0-" in served.bodies[0]["messages"][0]["content"]


def test_what_was_left_out_is_asked_for_with_a_tool(work: Path) -> None:
    place = f'{{"id": "log.txt:{TEXT.index("Entry 700")}-{TEXT.index("Entry 701")}"}}'
    script = in_order(
        native("expand", place), native("python", "{}"), completion("tar [log.txt:1-2]")
    )
    run, served = _run(script, work, "context:truncate:300", "expand")
    assert run.answer == "tar [log.txt:1-2]"
    assert [tool["function"]["name"] for tool in served.bodies[0]["tools"]] == ["expand"]
    assert "Entry 700: rope" in served.bodies[1]["messages"][-1]["content"]
    assert "no tool 'python'" in served.bodies[2]["messages"][-1]["content"]
    assert served.bodies[1]["messages"][0] == served.bodies[0]["messages"][0]  # a stable prefix


def test_the_text_protocol_is_one_call_without_tools(work: Path) -> None:
    _, served = _run(in_order(completion("x")), work, "context:truncate", "expand", protocol="text")
    assert "tools" not in served.bodies[0]


def test_paging_reads_everything_and_answers_from_notes(work: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> Any:
        text = messages[-1]["content"]
        if "Page " not in text:
            return completion("red" if "keel is red" in text else "no note")
        return completion("The keel is red." if "a red keel" in text else "Nothing.")

    run, served = _run(script, work, "read")
    pages = -(-len(TEXT) // 6000)
    assert pages <= len(served.bodies) - 1 <= pages + 2
    assert (run.answer or "").startswith("red")
    last = served.bodies[-1]["messages"][-1]["content"]
    assert last.count("[log.txt:") == 1
    assert f"Page {len(served.bodies) - 1} of {len(served.bodies) - 1}" in str(served.bodies[-2])


def test_too_few_turns_are_invalid(work: Path) -> None:
    run, _ = _run(in_order(*[completion("nothing")] * 9), work, "read", max_turns=2)
    assert "pages need more" in (run.invalid or "")
    script = in_order(*[native("expand", '{"id": "log.txt:1-9"}')] * 9)
    run, served = _run(script, work, "context:truncate:200", "expand", max_turns=3)
    assert run.invalid == "turn limit of 3 reached"
    assert len(served.bodies) == 3


def test_a_task_of_the_dossier_from_context_to_score(tmp_path: Path) -> None:
    """The scripted model copies the answer if, and only if, its context holds it."""
    reading = dossier_readings("train")[1]  # whose answer stands in the middle

    def script(messages: list[dict[str, Any]]) -> Any:
        answer = reading.answers[0]
        return completion(answer if answer in messages[-1]["content"] else "unknown")

    for arm, outcome in (("compress", "pass"), ("truncate", "fail")):
        task, work = to_task(reading, tmp_path / "set"), tmp_path / arm
        work.mkdir()
        prompt = family(task).prepare(task, tmp_path / "set", work)
        run, served = _run(script, work, f"context:{arm}:900", prompt=prompt)
        assert prompt in served.bodies[0]["messages"][-1]["content"]
        score = family(task).score(task, tmp_path, work, run.answer)
        assert score.outcome == outcome
        if outcome == "pass":
            assert score.detail["support_f1"] in (0.0, 1.0)

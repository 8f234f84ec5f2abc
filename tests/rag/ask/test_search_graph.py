"""The search graph against a scripted endpoint, on a real index."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.corpora import Reading, to_task
from harness.tasks import family
from lab.corpora.institute import institute_readings
from tests.agents.scripted import Script, attempt, completion
from tests.models.http_server import Answer

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with two documents."""
    rows = [
        {"id": "salt-bell", "title": "Salt Bell", "text": "It rings at noon. Ada Hask cast it."},
        {"id": "ada-hask", "title": "Ada Hask", "text": "She was raised in Brisko, by the sea."},
    ]
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _run(script: Script, work: Path, **settings: Any) -> Any:
    return attempt(script, work, spec="graph:search", tools=("search:lexical",), **settings)


def test_two_hops_with_notes_and_citations(work: Path) -> None:
    replies = [
        "Search: who cast the Salt Bell",
        "- Ada Hask cast the Salt Bell [salt-bell:0-35]",
        "I go on.\nRead: Ada Hask",
        "- Ada Hask was raised in Brisko [ada-hask:0-37]",
        "Answer: Brisko [salt-bell:0-35] [ada-hask:0-37]",
    ]
    said = iter(replies)
    run, served = _run(lambda _: completion(next(said)), work)
    assert run.answer == "Brisko [salt-bell:0-35] [ada-hask:0-37]"
    assert run.invalid is None
    first, noting, second, reading, last = (body["messages"] for body in served.bodies)
    assert first[-1] == {"role": "user", "content": "Do it."}
    assert "[salt-bell:0-35] Salt Bell\nIt rings at noon." in noting[0]["content"]
    assert "- who cast the Salt Bell" in second[0]["content"]
    assert replies[1] in second[0]["content"]
    assert "raised in Brisko" in reading[0]["content"]
    assert replies[3] in last[0]["content"]
    calls = [call for step in run.trajectory.steps for call in step.tool_calls or ()]
    assert [call.function_name for call in calls] == ["search", "read"]
    assert run.trajectory.extra["harness"]["check"]["verifier"] == "rules"


def test_a_reply_without_a_line_is_corrected(work: Path) -> None:
    said = iter(["Hm.", "Let me think.", "**Answer:** Brisko"])
    run, served = _run(lambda _: completion(next(said)), work)
    assert run.answer == "Brisko"
    second, third = (body["messages"] for body in served.bodies[1:])
    assert second[-2] == {"role": "assistant", "content": "Hm."}
    assert "[Format error]" in second[-1]["content"]
    assert len(third) == len(second) + 2


def test_endless_prose_is_invalid(work: Path) -> None:
    run, served = _run(lambda _: completion("Hm."), work)
    assert run.answer is None
    assert "could not be read" in run.invalid
    assert len(served.bodies) == 5


def test_looks_are_limited_and_the_answer_is_then_asked_for(work: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> Answer:
        system = messages[0]["content"]
        if "Found for" in system:
            return completion("- nothing")
        return completion(
            "Answer: none" if "cannot search" in system else f"Search: bell {len(system)}"
        )

    run, served = _run(script, work, max_turns=5)
    assert run.answer == "none"
    assert len(served.bodies) == 5


def test_an_unknown_document_goes_back_to_the_model(work: Path) -> None:
    said = iter(["Read: Bela", "- nothing", "Answer: x"])
    run, served = _run(lambda _: completion(next(said)), work)
    assert run.answer == "x"
    noting = served.bodies[1]["messages"][0]["content"]
    assert "no document 'Bela'; there are salt-bell, ada-hask" in noting


def _reader(reading: Reading) -> Script:
    """A scripted reader that knows which facts it needs, but must find where they stand."""
    chain = reading.meta["chain"]
    assert isinstance(chain, list)
    names = [str(fact).rsplit(": ", 1)[0] for fact in chain]
    quotes = reading.quotes()

    def answer(messages: list[dict[str, Any]]) -> Answer:
        text = messages[0]["content"]
        if "Found for" in text:
            lines = [
                f"- {quote} {cited}"
                for quote in quotes
                for cited, passage in re.findall(
                    r"(\[[^\]\n]+:\d+-\d+\])[^\n]*\n((?:(?!\n\n\[).)+)", text, re.DOTALL
                )
                if quote in passage
            ]
            return completion("\n".join(lines) or "- nothing")
        known = [hop for hop, quote in enumerate(quotes) if quote in text]
        missing = [hop for hop in range(len(quotes)) if hop not in known]
        tried = text.count("\n- ")
        if missing and tried < 6:
            return completion(f"Search: {names[missing[0]]}")
        cited = dict.fromkeys(re.findall(r"\[[^\]\n]+:\d+-\d+\]", text))
        return completion(f"Answer: {reading.answers[0]} {' '.join(cited)}")

    return answer


def test_a_task_of_the_institute_from_search_to_score(tmp_path: Path) -> None:
    """Chains of two hops; facts that stand in the other document may stay unfound by name."""
    scores: list[Any] = []
    for number, reading in enumerate(institute_readings("train")[:6:3]):
        task, work = to_task(reading, tmp_path / "set"), tmp_path / f"work-{number}"
        work.mkdir()
        family(task).prepare(task, tmp_path / "set", work)
        run, _ = _run(_reader(reading), work, max_turns=20)
        scores.append(family(task).score(task, tmp_path, work, run.answer))
    assert all(score.outcome == "pass" for score in scores)
    assert max(score.detail["support_recall"] for score in scores) == 1.0

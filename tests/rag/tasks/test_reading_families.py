"""The search and longdoc families: prompt, work folder and score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Task
from harness.corpora import SOURCES, Evidence, Reading, Source, parse_sources, to_task
from harness.rag.tasks.longdoc import LongDocFamily
from harness.rag.tasks.search import SearchFamily
from harness.tasks import family

TEXT = "Alma Grell founded the mill in 1871. It burned down later."


def _reading(**changes: Any) -> Reading:
    fields: dict[str, Any] = {
        "id": "q1",
        "family": "search",
        "question": "Who founded the mill?",
        "answers": ("Alma Grell", "A. Grell"),
        "metric": "em",
        "sources": (Source(id="d1", title="Mill", text=TEXT), Source(id="d2", text="Rain.")),
        "evidence": (Evidence(doc="d1", start=0, end=36),),
    }
    return Reading.model_validate({**fields, **changes})


def test_search_task_end_to_end(tmp_path: Path) -> None:
    reading = _reading()
    task = to_task(reading, tmp_path / "set")
    judge, work = family(task), tmp_path / "work"
    work.mkdir()
    prompt = judge.prepare(task, tmp_path / "set", work)
    assert isinstance(judge, SearchFamily)
    assert prompt.startswith("Who founded the mill?")
    assert parse_sources(SOURCES, (work / SOURCES).read_text("utf-8")) == list(reading.sources)
    assert [path.name for path in work.iterdir()] == ["documents.jsonl"]
    right = judge.score(task, tmp_path, work, "alma grell! [d1:5-10]")
    assert (right.outcome, right.value) == ("pass", 1.0)
    assert (right.detail["support_f1"], right.detail["joint_em"]) == (1.0, 1.0)
    wrong = judge.score(task, tmp_path, work, "Alma Hask [d2:0-4]")
    assert (wrong.outcome, wrong.value) == ("fail", 0.0)
    assert (wrong.detail["f1"], wrong.detail["support_f1"]) == (0.5, 0.0)
    assert "Alma Grell" in wrong.reason
    assert judge.score(task, tmp_path, work, " [d1:0-4]").outcome == "fail"
    assert judge.score(task, tmp_path, work, None).outcome == "fail"


def test_long_documents_are_files_and_choices_stand_in_the_prompt(tmp_path: Path) -> None:
    reading = _reading(
        family="longdoc", metric="choice", answers=("B",), choices={"A": "Rain", "B": "Fire"},
        sources=(Source(id="log.txt", text=TEXT),), evidence=(),
    )  # fmt: skip
    task = to_task(reading, tmp_path / "set")
    judge, work = family(task), tmp_path / "work"
    work.mkdir()
    prompt = judge.prepare(task, tmp_path / "set", work)
    assert isinstance(judge, LongDocFamily)
    assert "A. Rain\nB. Fire" in prompt
    assert (work / "log.txt").read_text() == TEXT
    assert judge.score(task, tmp_path, work, "(B)").outcome == "pass"
    assert judge.score(task, tmp_path, work, "Fire").outcome == "pass"
    assert judge.score(task, tmp_path, work, "A").outcome == "fail"


@pytest.mark.parametrize(
    ("metric", "answers", "reply", "outcome", "value"),
    [
        ("f1", ["red barn"], "a red hat", "fail", 0.5),
        ("rouge", ["red barn"], "red barn", "pass", 1.0),
        ("all", ["12", "34"], "12 only", "fail", 0.5),
        ("all", ["12", "34"], "34 and 12", "pass", 1.0),
        ("part", ["12", "34"], "34", "pass", 1.0),
        ("boolean", ["yes"], "True, I think", "pass", 1.0),
        ("numbers", ["Paragraph 7"], "7", "pass", 1.0),
    ],
)
def test_metrics(
    metric: str, answers: list[str], reply: str, outcome: str, value: float, tmp_path: Path
) -> None:
    task = Task(id="t", prompt="?", answer=[*answers], check="longdoc", meta={"metric": metric})
    score = family(task).score(task, tmp_path, tmp_path, reply)
    assert (score.outcome, score.value) == (outcome, pytest.approx(value))


@pytest.mark.parametrize(
    ("answer", "meta", "message"),
    [
        ("x", {"metric": "bleu"}, "one of em"),
        (None, {"metric": "em"}, "expected 'answer'"),
        ("x", {"metric": "choice"}, "needs 'choices'"),
        ("x", {"metric": "em", "evidence": [{"doc": "d"}]}, "'evidence'"),
    ],
)
def test_a_task_that_cannot_be_judged_is_refused_before_a_call(
    answer: str | None, meta: dict[str, Any], message: str, tmp_path: Path
) -> None:
    for check in ("search", "longdoc"):
        task = Task(id="t", prompt="?", answer=answer, check=check, meta=meta)
        with pytest.raises(BadInput, match=message):
            family(task).prepare(task, tmp_path, tmp_path)


def test_evidence_outside_its_document_is_refused() -> None:
    with pytest.raises(ValueError, match="does not lie in its document"):
        _reading(evidence=(Evidence(doc="d2", start=0, end=6),))
    with pytest.raises(ValueError, match="the same id"):
        _reading(sources=(Source(id="d1", text=TEXT), Source(id="d1", text="x")))

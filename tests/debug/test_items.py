"""A finished item of an eval run: replayed without a call, forked, gone on with live."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest

from harness.agents import open_agent
from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import Debugger, compare, timeline
from harness.debug.attempts import Settings, find_item, open_item
from harness.debug.subjects import Subject
from harness.evals import EvalPlan, EvalReport, load_suite, run_eval
from harness.models import CallStore, open_model
from harness.sandbox import select
from tests.agents.scripted import in_order, native
from tests.models.http_server import completion, serve

SUITE = """
name: small
tasks: tasks.jsonl
tools: [python]
"""
# What it prints is cut before the model sees it.
WRITE = "{\"code\": \"open('seen.txt', 'w').write('one'); print('y' * 7000)\"}"
COUNT = '{"code": "print(len(open(\'seen.txt\').read()) * 14)"}'
SCRIPT = in_order(native("python", WRITE), native("python", COUNT), completion("42"))


class Opened(NamedTuple):
    """A session over the item, at its end."""

    debugger: Debugger
    item: Subject
    store: CheckpointStore


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("OPENAI_API_KEY", "test")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one task, made through the real client; its endpoint is gone."""
    folder = tmp_path_factory.mktemp("items")
    (folder / "suite.yaml").write_text(SUITE)
    row = {"id": "t1", "prompt": "How many?", "answer": "42", "check": "exact"}
    (folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.MonkeyPatch.context() as patch, serve(lambda b: SCRIPT(b["messages"])) as served:
        patch.setenv("OPENAI_API_KEY", "test")
        report = asyncio.run(_evaluated(folder, served.url))
        assert (report.passed, len(served.bodies)) == (1, 3)
    return folder / "run"


async def _evaluated(folder: Path, url: str, agent: str = "graph:react") -> EvalReport:
    suite = load_suite(str(folder / "suite.yaml"))
    plan = EvalPlan(suite=suite, agent=open_agent(agent))
    with CallStore(folder / "run" / "calls.sqlite") as calls:
        model = open_model("openai/scripted", base_url=url, calls=calls)
        try:
            return await run_eval(plan, folder / "run", model=model, sandbox=select("auto"))
        finally:
            await model.aclose()


@contextmanager
def opened(run: Path, folder: Path, **settings: Any) -> Generator[Opened]:
    """The item, replayed to its end."""
    chosen = Settings(suite=str(run.parent / "suite.yaml"), **settings)
    with open_store(folder / "c.sqlite") as store:
        item = open_item(find_item(run, "t1"), store, folder / "work", chosen)
        debugger = Debugger(item.graph, store, context=item.context, beyond=item.beyond)
        stop = debugger.start(item.start, thread="t1", hold=False)
        assert (stop.reason, stop.values["answer"]) == ("done", "42")
        yield Opened(debugger, item, store)
        debugger.quit()


def test_it_is_replayed_without_a_call(run: Path, tmp_path: Path) -> None:
    with opened(run, tmp_path) as (debugger, item, _):
        assert item.answers is not None
        counts = item.answers.counts
        assert (counts.replies, counts.exact, counts.results, counts.live) == (3, 3, 2, 0)
        assert item.notes == ()
        nodes = [event.node for event in timeline(debugger.graph, debugger.history())]
        assert nodes == [*["think", "act"] * 2, "think"]
        debugger.replay("t1")
        assert counts.replies == 3
        assert compare(debugger.history("t1"), debugger.history("t1.1")).divergence is None


def test_a_program_is_written_and_mended_again_without_a_call(tmp_path: Path) -> None:
    """Its first program left no output file, and in the replay none is run."""
    book = openpyxl.Workbook()
    book.worksheets[0]["A1"] = 1
    book.save(tmp_path / "book.xlsx")
    row = {
        "id": "t1", "prompt": "Copy it.", "check": "spreadsheet", "answer": "book.xlsx",
        "files": {"input.xlsx": "book.xlsx"}, "meta": {"answer_position": "A1"},
    }  # fmt: skip
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "suite.yaml").write_text("name: copies\ntasks: tasks.jsonl\n")
    copy = "import shutil\nshutil.copy('input.xlsx', 'output.xlsx')\nprint(42)"
    replies = iter(completion(f"```python\n{code}\n```") for code in ("print(1)", copy))
    with serve(lambda body: next(replies)) as served:
        report = asyncio.run(_evaluated(tmp_path, served.url, "graph:program"))
    assert report.passed == 1
    with opened(tmp_path / "run", tmp_path) as (debugger, item, _):
        assert item.answers is not None
        counts = item.answers.counts
        assert (counts.replies, counts.exact, counts.results, counts.live) == (2, 2, 2, 0)
        nodes = [event.node for event in timeline(debugger.graph, debugger.history())]
        assert nodes == ["write", "run", "mend", "write", "run"]


def test_a_fork_is_served_until_it_asks_for_something_else(run: Path, tmp_path: Path) -> None:
    with opened(run, tmp_path) as (debugger, item, _):
        second = timeline(debugger.graph, debugger.history())[2].point
        stop = debugger.fork(second)
        assert stop.task is not None
        assert stop.task.where == "think"
        stop = debugger.step()
        assert item.answers is not None
        assert item.answers.counts.replies == 4
        debugger.edit({"pending": [{"id": "x", "name": "python", "arguments": {"code": "1"}}]})
        stop = debugger.step()
        assert stop.reason == "left recording"
        assert stop.failure is not None
        assert "no result of 'python'" in stop.failure.message
        assert debugger.branch is not None
        assert debugger.branch.left_at == "act"
        assert item.answers.counts.live == 0


def test_live_tools_find_the_files_of_the_calls_before_them(run: Path, tmp_path: Path) -> None:
    with serve(lambda _: completion("three letters")) as served:
        settings = {"model": "openai/other", "base_url": served.url}
        with opened(run, tmp_path, **settings) as (debugger, item, _):
            point = timeline(debugger.graph, debugger.history())[3].point
            code = "print(open('seen.txt').read())"
            asked = [{"id": "x", "name": "python", "arguments": {"code": code}}]
            debugger.fork(point, values={"pending": asked})
            assert debugger.step().reason == "left recording"
            stop = debugger.live()
            assert stop.task is not None
            assert stop.task.where == "think"
            assert debugger.state()["messages"][-1]["content"].strip().endswith("one")
            stop = debugger.go()
            assert (stop.reason, stop.values["answer"]) == ("done", "three letters")
            assert item.answers is not None
            assert item.answers.counts.live == 2
        assert [body["model"] for body in served.bodies] == ["other"]


def test_foreign_agents_and_missing_suites_are_played_back(run: Path, tmp_path: Path) -> None:
    with open_store(tmp_path / "c.sqlite") as store:
        item = open_item(find_item(run, "t1"), store, tmp_path / "work", Settings())
        assert item.answers is None
        assert "name the suite with --suite" in item.notes[0]
        stop = Debugger(item.graph, store).start(item.start, hold=False)
        assert stop.values["messages"][-1]["message"] == "42"


def test_an_item_below_a_folder_of_runs_is_found(run: Path) -> None:
    assert find_item(run.parent, "t1").run == run
    with pytest.raises(BadInput, match=r"no finished item 'other' .* it has t1"):
        find_item(run, "other")
    with pytest.raises(BadInput, match="no run at"):
        find_item(run / "absent", "t1")

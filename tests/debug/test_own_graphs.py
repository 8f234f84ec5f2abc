"""A graph in a user's file: its nodes on the record of an attempt, and on a model that is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Generator
from contextlib import ExitStack, chdir
from io import StringIO
from pathlib import Path

import pytest

from harness.checkpoints import CheckpointStore, open_store
from harness.cli import main
from harness.core import BadInput
from harness.debug import Debugger, load_graph
from harness.debug.attempts import Settings, ask_model, find_item, is_own_graph, open_own_graph
from harness.debug.subjects import Subject
from harness.skills import new_skill, write_skill
from tests.models.http_server import completion, serve

GRAPH = """
from openai import OpenAI
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    plan: str


def ask(text):
    messages = [{"role": "user", "content": text}]
    with OpenAI() as client:
        reply = client.chat.completions.create(model="x", messages=messages)
    return reply.choices[0].message.content


def plan(state):
    return {"plan": ask("Plan: " + state["messages"][-1].content)}


def solve(state):
    return {"messages": [("ai", ask(state["plan"]).removeprefix("It is "))]}


builder = StateGraph(State)
builder.add_node("plan", plan)
builder.add_node("solve", solve)
builder.add_edge(START, "plan")
builder.add_edge("plan", "solve")
builder.add_edge("solve", END)
graph = builder.compile()
"""
SCRIPT = [
    {"match": "^Plan", "text": "I add them."},
    {"match": "^Other", "text": "It is 5"},
    {"match": "add", "text": "It is 4"},
]


def typed(line: str) -> object:
    """The exit code of a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["harness", *line.split()])
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0
    return 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one task in the folder where its graph lies."""
    folder = tmp_path_factory.mktemp("made")
    with chdir(folder):
        Path("mine.py").write_text(GRAPH)
        Path("script.json").write_text(json.dumps(SCRIPT))
        Path("tasks.jsonl").write_text(json.dumps({"id": "t", "prompt": "2 + 2?", "answer": "4"}))
        line = "eval tasks.jsonl --agent graph:mine.py:graph --model scripted/script.json --out run"
        assert typed(line) == 0
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that run, beside a copy of its graph."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("run")


@pytest.fixture
def store(tmp_path: Path) -> Generator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def opened(
    run: Path, store: CheckpointStore, stack: ExitStack, skill: Path | None = None
) -> Subject:
    settings = Settings(trust=True, skill=skill)
    return open_own_graph(find_item(run, "t"), store, run.parent / "work", settings, stack)


def test_nodes_run_again_on_the_recorded_answers(
    run: Path, store: CheckpointStore, stack: ExitStack
) -> None:
    assert is_own_graph(find_item(run, "t"))
    Path("script.json").unlink()  # nobody else answers
    subject = opened(run, store, stack)
    debugger = subject.begin(store)
    stops = [debugger.last, debugger.step(), debugger.step()]
    assert [stop.task.node if stop and stop.task else "" for stop in stops] == ["plan", "solve", ""]
    assert debugger.state()["messages"][-1].content == "4"
    assert subject.answers is not None
    assert (subject.answers.counts.replies, subject.answers.counts.exact) == (2, 2)
    used = debugger.meter.tasks(store, "t")
    assert [usage.calls for usage in used.values()] == [1, 1], "each node has its own call"
    debugger.quit()


def test_a_system_message_of_the_graphs_own_is_no_input(
    tmp_path: Path, store: CheckpointStore, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = '[{"role": "system", "content": "Add."}, {"role": "user", "content": text}]'
    graph = GRAPH.replace('[{"role": "user", "content": text}]', own).replace('"Plan: " + ', "")
    Path("mine.py").write_text(graph)
    Path("script.json").write_text(json.dumps([{"text": "It is 4"}, {"text": "It is 4"}]))
    Path("tasks.jsonl").write_text(json.dumps({"id": "t", "prompt": "2 + 2?", "answer": "4"}))
    line = "eval tasks.jsonl --agent graph:mine.py:graph --model scripted/script.json --out run"
    assert typed(line) == 0
    subject = opened(Path("run"), store, stack)
    debugger = subject.begin(store)
    assert [message.type for message in debugger.state()["messages"]] == ["human"]
    debugger.step()
    assert debugger.step().reason == "done"
    debugger.quit()


def test_a_skill_that_a_graph_does_not_read_shows_no_recorded_answer_as_its_own(
    run: Path, store: CheckpointStore, stack: ExitStack
) -> None:
    write_skill(new_skill("sums", "Adds numbers.", "# Sums\n\n- Add.\n"), Path("sums"))
    debugger = opened(run, store, stack, Path("sums")).begin(store)
    assert [message.type for message in debugger.state()["messages"]] == ["system", "human"]
    debugger.step()  # the first call says nothing of a skill, nor need it
    stop = debugger.step()
    assert "does not read the skill 'sums'" in str(stop.failure)
    assert [message.type for message in debugger.state()["messages"]] == ["system", "human"]
    assert debugger.live().reason == "done"
    debugger.quit()


def test_what_is_not_on_record_stops_until_it_may_be_asked(
    run: Path, store: CheckpointStore, stack: ExitStack
) -> None:
    debugger = opened(run, store, stack).begin(store)
    debugger.step()
    debugger.edit({"plan": "Other"})
    stop = debugger.step()
    assert stop.reason == "left recording"
    assert stop.failure is not None
    assert "the model was not asked this" in str(stop.failure)
    assert debugger.live().reason == "done"
    assert debugger.state()["messages"][-1].content == "5"
    debugger.quit()


def test_beyond_the_record_the_run_s_model_is_asked_at_the_user_s_address(
    run: Path, store: CheckpointStore, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**lock, "model": "openai/small"}))
    with serve(lambda _body: completion("It is 5")) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        monkeypatch.setenv("OPENAI_API_KEY", "mine")
        debugger = opened(run, store, stack).begin(store)
        debugger.step()
        debugger.edit({"plan": "Other"})
        assert debugger.step().reason == "left recording"
        assert debugger.live().reason == "done"
        debugger.quit()
    assert [body["model"] for body in served.bodies] == ["small"]


def test_an_endpoint_that_only_the_run_names_is_not_left_for_another(
    run: Path, store: CheckpointStore, stack: ExitStack
) -> None:
    rows = json.loads((run / "parts.json").read_text())
    rows[-1]["base_url"] = "http://127.0.0.1:9/v1"
    (run / "parts.json").write_text(json.dumps(rows))
    debugger = opened(run, store, stack).begin(store)
    debugger.step()
    debugger.edit({"plan": "Other"})
    assert debugger.step().reason == "left recording"
    with pytest.raises(BadInput, match="asks it again"):
        debugger.live()
    debugger.quit()


def test_the_command_line_says_at_once_which_endpoint_is_to_be_named(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads((run / "parts.json").read_text())
    rows[-1]["base_url"] = "http://127.0.0.1:9/v1"
    (run / "parts.json").write_text(json.dumps(rows))
    monkeypatch.setattr("sys.stdin", StringIO("quit\n"))
    assert typed(f"debug --run {run} --item t --trust --terminal") == 0
    assert "before going on live: the run asked http://127.0.0.1:9/v1" in capsys.readouterr().err


def test_changed_code_is_played_back(run: Path, store: CheckpointStore, stack: ExitStack) -> None:
    with Path("mine.py").open("a") as file:
        file.write("\nraise SystemExit('this is not run')\n")
    subject = opened(run, store, stack)
    assert "has changed since the run" in subject.notes[0]
    debugger = subject.begin(store)
    played = [message["message"] for message in debugger.state()["messages"]]
    assert played == ["2 + 2?", "Plan: 2 + 2?", "I add them.", "I add them.", "It is 4", "4"]


def test_a_named_model_answers_a_graph(
    run: Path, store: CheckpointStore, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    answers = ask_model("scripted/script.json", None, store, stack)
    subject = Subject(
        load_graph("mine.py:graph"), {"messages": ["3 + 1?"]}, answers=answers, over_http=True
    )
    debugger: Debugger = subject.begin(store)
    assert debugger.go().reason == "done"
    assert debugger.state()["messages"][-1].content == "4"
    assert sum(usage.calls for usage in debugger.meter.tasks(store, "main").values()) == 2
    debugger.quit()
    stack.close()
    assert os.environ["OPENAI_API_KEY"] == "mine"
    assert "OPENAI_BASE_URL" not in os.environ


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--run run --item t", "--run, --item: of finished runs"),
        ("--base-url http://127.0.0.1:9/v1", "--base-url: expected with --model"),
    ],
)
def test_what_a_graph_has_no_use_for_is_refused(
    words: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(f"debug mine.py:graph {words}") == 2
    assert reason in capsys.readouterr().err

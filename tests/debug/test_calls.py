"""Calls of models and of functions: answered by a person, compared, heard, run again, edited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.func import entrypoint, task  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs
from langgraph.graph import MessagesState  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import CheckpointStore, open_store
from harness.core import BadInput
from harness.debug import Debugger, load_graph, timeline
from harness.debug.attempts import ask_model
from harness.debug.engine.usage import Sent
from harness.debug.subjects import Subject
from harness.debug.terminal import Terminal
from harness.debug.web.steps import look, steps
from tests.debug.shapes import chain, fan, leaf
from tests.typed import typed


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with open_store(tmp_path / "c.sqlite") as opened:
        yield opened


def said(debugger: Debugger, *lines: str) -> list[str]:
    """What each line answers."""
    shown: list[str] = []
    terminal = Terminal(debugger, shown.append)
    answers: list[str] = []
    for line in lines:
        before = len(shown)
        terminal.do(line)
        answers.append("\n".join(shown[before:]))
    return answers


# A person answers


ASKING = """
import json
from openai import AsyncOpenAI, OpenAI
from langgraph.graph import START, MessagesState, StateGraph

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}

def ask(text):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    with OpenAI() as client:
        reply = client.chat.completions.create(model="x", messages=messages, tools=[TOOL])
    message = reply.choices[0].message
    calls = [[c.function.name, json.loads(c.function.arguments)] for c in message.tool_calls or ()]
    return message.content or json.dumps(calls)

def twice(state):
    return {"messages": [("ai", ask("first?") + ask("second?"))]}

async def streamed(state):
    async with AsyncOpenAI() as client:
        chunks = await client.chat.completions.create(
            model="x", messages=[{"role": "user", "content": "third?"}], stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in chunks if c.choices])
    return {"messages": [("ai", text)]}

inner = StateGraph(MessagesState).add_node(streamed).add_edge(START, "streamed")
graph = StateGraph(MessagesState).add_node(twice).add_node("inner", inner.compile())
graph = graph.add_edge(START, "twice").add_edge("twice", "inner").compile()

def wait(state):
    try:
        return {"messages": [("ai", ask("left or right?"))]}
    except Exception as error:
        return {"messages": [("ai", f"{type(error).__name__}")]}

caught = StateGraph(MessagesState).add_node("left", wait).add_node("right", wait)
caught = caught.add_edge(START, "left").add_edge(START, "right").compile()
"""


@pytest.fixture
def asking(tmp_path: Path, store: CheckpointStore) -> Iterator[Any]:
    """Makes a debugger of a graph in the file, whose model is a person."""
    (tmp_path / "asking.py").write_text(ASKING)
    with ExitStack() as stack:

        def made(name: str) -> Debugger:
            answers = ask_model("person", None, store, stack)
            graph = load_graph(f"{tmp_path / 'asking.py'}:{name}")
            start = {"messages": [("user", "go")]}
            subject = Subject(graph, start, answers=answers, over_http=True)
            debugger = subject.begin(store)
            stack.callback(debugger.quit)
            return debugger

        yield made


def test_a_person_answers_in_place_of_the_model(asking: Any) -> None:
    debugger = asking("graph")
    tool = '{"tool_calls": [{"name": "add", "arguments": {"a": 1}}]}'
    first, refused, second, behind = said(
        debugger, "step", "step", 'answer "One. "', f"answer {tool}"
    )
    assert first.startswith("[model call] twice  visit 1, step 1")
    assert "tools: add" in first and "Be brief." in first and "first?" in first
    assert 'next: answer "…"' in first
    assert refused == "the node waits for what its model says: 'answer \"…\"'"
    assert "second?" in second and "first?" not in second
    assert behind.startswith("[step] inner"), "the command that was given goes on"
    assert debugger.state()["messages"][-1].content == 'One. [["add", {"a": 1}]]'
    third, done = said(debugger, "continue", 'answer {"n": [3]}')
    assert third.startswith("[model call] inner/streamed")
    assert done.startswith("[done]") and '"{\\"n\\":[3]}"' in done
    assert [call.messages[-1]["content"] for call in debugger.meter.sent] == [
        "first?",
        "second?",
        "third?",
    ]


def test_a_call_that_nobody_answers_ends_with_its_session(asking: Any) -> None:
    debugger = asking("caught")
    stop = debugger.go()
    assert stop.reason == "model call"
    assert stop.asked_by[next(iter(stop.interrupts))] in ("left or right", "left", "right")
    stop = debugger.fork(timeline(debugger.graph, debugger.history())[0].point)
    assert stop.reason == "step" and stop.task is not None
    debugger.go()
    debugger.answer("here")
    assert debugger.last is not None and debugger.last.reason in ("model call", "done")


# The difference of two calls; tokens

DOCUMENT = "The lock was made in 1712 by Anna Breit. " * 30


def reading(log: list[str]) -> Any:
    """A sub-graph whose second call cuts what the first one had."""
    model = FakeListChatModel(responses=["one\nline", "two"])

    def whole(_: Any) -> dict[str, Any]:
        log.append("whole")
        prompt = [SystemMessage("Be brief."), HumanMessage(f"Read:\n{DOCUMENT}")]
        return {"messages": [model.invoke(prompt)]}

    async def part(state: Any) -> dict[str, Any]:
        log.append("part")
        prompt = [SystemMessage("Be brief."), HumanMessage(f"Read:\n{DOCUMENT[:280]}…")]
        parts = [chunk async for chunk in model.astream([*prompt, *state["messages"][-1:]])]
        return {"messages": [("ai", "".join(str(chunk.content) for chunk in parts))]}

    return chain({"whole": whole, "sub": chain({"part": part}, MessagesState)}, MessagesState)


def test_two_calls_are_compared_by_messages_and_lines(store: CheckpointStore) -> None:
    debugger = Debugger(reading([]), store)
    debugger.start({"messages": [("user", "go")]}, hold=False)
    listing, first, both, same, wrong = said(
        debugger, "calls", "calls 0", "calls 0 1", "calls 1 1", "calls 9"
    )
    rows = listing.splitlines()
    assert "0  whole  2 messages" in rows[0] and "1  sub/part  3 messages" in rows[1]
    assert "System Message" in first and f"\n{DOCUMENT}" in first
    lines = both.splitlines()
    assert f"-{DOCUMENT}" in lines and f"+{DOCUMENT[:280]}…" in lines
    assert "+one" in lines and "+line" in lines, "the message that was added"
    assert lines[0].startswith("! cut after 280 characters: ")
    assert "Be brief." not in both
    assert same == "" and wrong.startswith("expected numbers of calls below 2")
    debugger.quit()


@pytest.mark.parametrize(
    ("before", "after", "cut"),
    [
        ("x" * 300, "x" * 280, "280"),
        ("x" * 280 + " [cut]", "x" * 900, "280"),
        ("x" * 300, "y" * 280, ""),
        ("short", "sho", ""),
        ("a" * 100 + "b" * 100, "a" * 100 + "c" * 100, ""),
    ],
)
def test_a_line_that_begins_another_was_cut(before: str, after: str, cut: str) -> None:
    from harness.debug import Meter

    meter = Meter()
    meter.sent += [Sent("t", "1", [{"role": "user", "content": text}]) for text in (before, after)]
    cuts = [line for line in meter.shown("0", "1") if line.startswith("!")]
    assert [line.split()[3] for line in cuts] == ([cut] if cut else [])


def test_tokens_are_heard_while_the_node_runs(store: CheckpointStore) -> None:
    model = FakeListChatModel(responses=["one\nline and a rest"])
    heard: list[str] = []
    at_end: list[str] = []

    def talk(_: Any) -> dict[str, Any]:
        text = "".join(str(chunk.content) for chunk in model.stream("go"))
        at_end.append("".join(heard))
        return {"messages": [("ai", text)]}

    debugger = Debugger(chain({"talk": talk}, MessagesState), store)
    debugger.meter.hear = heard.append
    debugger.start({"messages": []}, hold=False)
    assert at_end == ["one\nline and a rest"], "not only once it is done"
    debugger.start({"messages": []}, thread=None)
    [answer] = said(debugger, "continue")
    assert answer.splitlines()[:3] == ["  … one", "  … line and a rest", "[done]"]


def test_a_model_is_called_as_it_is_without_the_debugger(store: CheckpointStore) -> None:
    class Whole(FakeListChatModel):
        """A model that must not be streamed."""

        def _stream(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("nobody asked for a stream")

    model = Whole(responses=["whole"])

    def talk(_: Any) -> dict[str, Any]:
        return {"messages": [model.invoke("go")]}

    debugger = Debugger(chain({"talk": talk}, MessagesState), store)
    assert debugger.start({"messages": []}, hold=False).values["messages"][-1].content == "whole"


# Tasks of the functional interface


def functional(log: list[str]) -> Any:
    @task
    def double(value: int) -> int:
        log.append(f"double{value}")
        return 2 * value

    @task
    def around(value: int) -> int:
        log.append(f"around{value}")
        return double(value).result() + 1

    made: Any = entrypoint()

    def flow(state: dict[str, Any]) -> dict[str, Any]:
        parts = [double(state["n"] + k) for k in range(2)]
        return {"n": around(sum(part.result() for part in parts)).result()}

    return made(flow)


def functional_later(log: list[str]) -> Any:
    @task
    async def double(value: int) -> int:
        await asyncio.sleep(0)
        log.append(f"double{value}")
        return 2 * value

    made: Any = entrypoint()

    async def flow(state: dict[str, Any]) -> dict[str, Any]:
        first = await double(state["n"])
        return {"n": await double(first)}

    return made(flow)


def tasks_of_nodes(log: list[str]) -> Any:
    """Nodes beside each other that call tasks."""

    @task
    def note(name: str) -> str:
        log.append(name)
        return name

    def node(name: str) -> Any:
        def call(state: Any) -> dict[str, Any]:
            return {"path": [note(name).result(), note(f"{name}{name}").result()]}

        return call

    return fan(leaf(log, "a"), {"x": node("x"), "xy": node("y")}, leaf(log, "z"))


def test_tasks_of_functions_are_listed_with_what_they_returned(store: CheckpointStore) -> None:
    debugger = Debugger(functional([]), store)
    debugger.start({"n": 1}, hold=False)
    [listing] = said(debugger, "steps")
    assert [line.split(maxsplit=1)[1].replace("  ", " ") for line in listing.splitlines()] == [
        'flow returned={"n": 13}',
        "flow/double returned=2",
        "flow/double returned=4",
        "flow/around returned=13",
        "flow/around/double returned=12",
    ]
    page = steps(debugger.graph, debugger.store, "main", debugger.breakpoints.names)["steps"]
    nodes = [task["where"] for row in page for task in row["tasks"]]
    assert sorted(nodes) == sorted(
        event.node for event in timeline(debugger.graph, debugger.history())
    )
    shown = look(debugger.store, "main", "", page[0]["checkpoint"])["writes"]
    assert {write["channel"] for write in shown} == {"returned"}
    with open_store(store.path) as other:
        again = Debugger(functional([]), other)
        again.open("main")
        assert "task  returned=2" in said(again, "steps")[0], "names are those of this session"


@pytest.mark.parametrize(
    ("build", "start", "ran"),
    [
        (functional, {"n": 1}, ["double2", "around6", "double6"]),
        (functional_later, {"n": 1}, ["double2"]),
    ],
)
def test_a_task_runs_again_with_what_was_called_behind_it(
    store: CheckpointStore, build: Any, start: Any, ran: list[str]
) -> None:
    log: list[str] = []
    debugger = Debugger(build(log), store)
    expected = debugger.start(start, hold=False).values
    log.clear()
    stop, done = said(debugger, "fork 2", "continue")
    assert stop.startswith("[step] flow") and done.startswith("[done]")
    assert (debugger.last and debugger.last.values, sorted(log)) == (expected, sorted(ran))


def test_what_a_task_returned_is_edited(store: CheckpointStore) -> None:
    log: list[str] = []
    debugger = Debugger(functional(log), store)
    debugger.start({"n": 1}, hold=False)
    log.clear()
    _, done = said(debugger, "output 1 40", "continue")
    assert (debugger.last and debugger.last.values) == {"n": 89}, done
    assert sorted(log) == ["around44", "double2", "double44"]
    _, done = said(debugger, "output 4 1", "continue")
    assert (debugger.last and debugger.last.values) == {"n": 2}, "inside another task"


def test_a_node_beside_keeps_the_tasks_that_it_called(store: CheckpointStore) -> None:
    log: list[str] = []
    debugger = Debugger(tasks_of_nodes(log), store)
    expected = debugger.start({"path": []}, hold=False).values
    events = [event for event in timeline(debugger.graph, debugger.history()) if event.called]
    assert sorted(event.node for event in events) == ["x/note"] * 2 + ["xy/note"] * 2
    second = next(event for event in events if dict(event.wrote)["returned"] == "xx")
    log.clear()
    assert debugger.fork(second.point, hold=False).values == expected
    assert log == ["xx", "z"]
    point = next(e.point for e in timeline(debugger.graph, debugger.history()) if e.node == "xy")
    log.clear()
    assert debugger.fork(point, hold=False).values == expected
    assert log == ["y", "yy", "z"], "a node that runs again calls its tasks again"


# Spans of OpenTelemetry


def spans_of_a_talk() -> str:
    """A call of a model and one of a tool, as exporters write them; the conversation is `talk`."""

    def text(key: str, value: Any) -> dict[str, Any]:
        plain = value if isinstance(value, str) else json.dumps(value)
        return {"key": key, "value": {"stringValue": plain}}

    def span(start: int, *attributes: dict[str, Any]) -> dict[str, Any]:
        named = text("gen_ai.conversation.id", "talk")
        return {"traceId": "t", "startTimeUnixNano": str(start), "attributes": [named, *attributes]}

    asked = [{"role": "user", "parts": [{"type": "text", "content": "2 + 2?"}]}]
    call = {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 2, "b": 2}}
    spans = [
        span(1, text("gen_ai.operation.name", "chat"), text("gen_ai.input.messages", asked),
             text("gen_ai.output.messages", [{"role": "assistant", "parts": [call]}])),
        span(2, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", "add"),
             text("gen_ai.tool.call.id", "c1"), text("gen_ai.tool.call.result", "4")),
    ]  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def test_spans_are_stepped_as_a_trace(tmp_path: Path) -> None:
    (tmp_path / "spans.json").write_text(spans_of_a_talk())
    lines = "step\nbreak tool\ncontinue\nstep\nprint last(messages).content\n"
    arguments = ("debug", "--trajectories", "spans.json", "--item", "talk")
    done = typed(*arguments, cwd=tmp_path, lines=lines)
    assert done.returncode == 0, done.stderr
    assert "[step] user" in done.stdout and "[breakpoint 1] tool" in done.stdout
    assert '"4"' in done.stdout


def test_an_unknown_call_is_refused() -> None:
    from harness.debug import Meter

    with pytest.raises(BadInput, match="expected numbers of calls below 0"):
        Meter().shown("0")

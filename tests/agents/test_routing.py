"""Agents with clients of their own reach the run's model: its calls, budgets and limits hold."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from harness.agents import AgentContext, Sample, open_agent
from harness.core import BadInput, LimitReached
from harness.core.rundir import RunReader
from harness.evals import EvalPlan, EvalReport, attempt_seed, finished_items, load_suite, run_eval
from harness.models import PRICES_VARIABLE, Budget, CallStore, open_model
from harness.sandbox import Limits
from harness.trajectories import collect_stats, content_text, open_trajectories
from tests.models.http_server import Answer, Served, completion, serve

AGENTS = """
import os, subprocess, sys, time
from typing import Any

def text_of(prompt, stream):
    from openai import OpenAI
    messages = [{"role": "user", "content": prompt}]
    with OpenAI() as client:
        if not stream:
            reply = client.chat.completions.create(model="mine", messages=messages)
            return reply.choices[0].message.content
        chunks = list(client.chat.completions.create(
            model="mine", messages=messages, stream=True, stream_options={"include_usage": True}))
        assert chunks[-1].usage.total_tokens == 12, chunks[-1]
        return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)

def plain(prompt, workdir, skill):
    return text_of(prompt, False)

def streamed(prompt, workdir, skill):
    print("what an agent prints is no answer")
    return text_of(prompt, True)

async def awaited(prompt, workdir, skill):
    from openai import AsyncOpenAI
    async with AsyncOpenAI() as client:
        reply = await client.chat.completions.create(
            model="mine", messages=[{"role": "user", "content": prompt}])
        return reply.choices[0].message.content

def messages(prompt, workdir, skill):
    from anthropic import Anthropic
    with Anthropic() as client:
        reply = client.messages.create(
            model="mine", max_tokens=9, messages=[{"role": "user", "content": prompt}])
        return reply.content[0].text

def typed(stream):
    async def answer(prompt, workdir, skill):
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        agent = Agent(OpenAIChatModel("mine"))
        if not stream:
            return (await agent.run(prompt)).output
        async with agent.run_stream(prompt) as result:
            return await result.get_output()
    return answer

pydantic, pydantic_streamed = typed(False), typed(True)

def twice(prompt, workdir, skill):
    return text_of(prompt, False) + text_of(prompt + " again", False)

def leaves(prompt, workdir, skill):
    if prompt == "q0":
        sys.exit("enough")
    if prompt == "q1":
        os._exit(3)
    if prompt == "q2":
        subprocess.Popen(["sleep", "60"])  # holds the output open
    return text_of(prompt, False)

def hangs(prompt, workdir, skill):
    time.sleep(60)

def graph_of(answer):
    from langgraph.graph import END, START, MessagesState, StateGraph
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile()

def reply(stream):
    def answer(state):
        text = text_of(state["messages"][-1].content, stream)
        return {"messages": [{"role": "assistant", "content": text}]}
    return answer

def chain(stream):
    def answer(state):
        from langchain_openai import ChatOpenAI
        model = ChatOpenAI(model="mine", streaming=stream)
        return {"messages": [model.invoke(state["messages"])]}
    return answer

if __name__ == "__main__":
    print(text_of(sys.argv[1], sys.argv[2] == "stream"))
elif "WITH_GRAPHS" in os.environ:  # its library takes a second to import
    graph, graph_streamed = graph_of(reply(False)), graph_of(reply(True))
    chained, chain_streamed = graph_of(chain(False)), graph_of(chain(True))
"""


class Bench:
    """A file of agents, a suite, the server of the run's model, and one that must not be asked."""

    def __init__(self, folder: Path, wanted: Served, forbidden: Served) -> None:
        self.folder, self.wanted, self.forbidden = folder, wanted, forbidden
        self.file = folder / "mine.py"
        self.file.write_text(AGENTS)
        rows = [{"id": f"t{n}", "prompt": f"q{n}", "answer": "7", "check": "em"} for n in range(3)]
        (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self, agent: str, limit: int, budget: Budget | None = None) -> EvalReport:
        """An eval run of an agent in a folder of its own."""
        suite = load_suite(str(self.folder / "tasks.jsonl"))
        plan = EvalPlan(suite=suite, agent=open_agent(agent, trusted=True), limit=limit)

        async def work() -> EvalReport:
            with CallStore(self.folder / "run" / "calls.sqlite") as calls:
                model = open_model(
                    "openai/mine", base_url=self.wanted.url, calls=calls, budget=budget
                )
                try:
                    return await run_eval(
                        plan, self.folder / "run", model=model, budget=budget, concurrency=1
                    )
                finally:
                    await model.aclose()

        return asyncio.run(work())


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Bench]:
    def answer(body: dict[str, Any]) -> Answer:
        return completion("7", 10, 2)

    prices = tmp_path / "prices.json"
    prices.write_text('{"models": {"openai/mine": {"input": 1.0, "output": 2.0}}}')
    with serve(answer) as wanted, serve(answer) as forbidden:
        monkeypatch.setenv(PRICES_VARIABLE, str(prices))
        monkeypatch.setenv("OPENAI_API_KEY", "of-the-user")
        monkeypatch.setenv("OPENAI_BASE_URL", forbidden.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", forbidden.url.removesuffix("/v1"))
        yield Bench(tmp_path, wanted, forbidden)


@pytest.mark.parametrize(
    "agent",
    [
        "py:{file}:plain",
        pytest.param("py:{file}:streamed", marks=pytest.mark.full),
        "py:{file}:awaited",
        pytest.param("py:{file}:pydantic", marks=pytest.mark.full),
        "py:{file}:pydantic_streamed",
        pytest.param("py:{file}:messages", marks=pytest.mark.wing("record")),
        pytest.param("graph:{file}:graph", marks=pytest.mark.full),
        pytest.param("graph:{file}:graph_streamed", marks=pytest.mark.full),
        pytest.param("graph:{file}:chained", marks=pytest.mark.full),
        "graph:{file}:chain_streamed",
        pytest.param("cmd:{python} {file} {{prompt}} whole", marks=pytest.mark.full),
        "cmd:{python} {file} {{prompt}} stream",
    ],
)
def test_calls_of_any_client_are_the_runs(
    bench: Bench, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if agent.startswith("graph:"):
        monkeypatch.setenv("WITH_GRAPHS", "1")
    report = bench.run(agent.format(file=bench.file, python=sys.executable), limit=1)
    assert (report.passed, report.invalid) == (1, 0)
    assert bench.forbidden.bodies == []
    [body] = bench.wanted.bodies
    assert body["model"] == "mine"
    assert body["seed"] == attempt_seed(41, "t0")
    with CallStore(bench.folder / "run" / "calls.sqlite") as calls:
        used = calls.usage_by_role()["agent"]
        assert calls.in_flight() == []
    assert (used.calls, used.prompt_tokens, used.completion_tokens) == (1, 10, 2)
    assert used.cost_usd == pytest.approx(14e-6)
    [item] = finished_items(RunReader(bench.folder / "run"))
    assert (item.usage.tokens, item.usage.cost_usd) == (12, used.cost_usd)


def test_the_trajectory_holds_the_calls_of_the_agent(bench: Bench) -> None:
    bench.run(f"py:{bench.file}:twice", limit=1)
    [trajectory] = open_trajectories(bench.folder / "run")
    said = [(step.source, content_text(step.message)) for step in trajectory.steps]
    first, again = [("user", "q0"), ("agent", "7")], [("user", "q0 again"), ("agent", "7")]
    assert said == [*first, *again, ("agent", "77")]
    stats = collect_stats([trajectory])
    assert (stats.prompt_tokens, stats.completion_tokens, stats.without_tokens) == (20, 4, 0)


@pytest.mark.parametrize(
    "agent",
    [
        "py:{file}:twice",
        "py:{file}:pydantic_streamed",
        "cmd:{python} {file} {{prompt}} stream",
        "graph:{file}:graph",
    ],
)
def test_a_budget_of_one_call_stops_after_one_call(
    bench: Bench, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if agent.startswith("graph:"):
        monkeypatch.setenv("WITH_GRAPHS", "1")
    spec = agent.format(file=bench.file, python=sys.executable)
    with pytest.raises(LimitReached, match="budget of 1 calls reached"):
        bench.run(spec, limit=2, budget=Budget(calls=1))
    assert len(bench.wanted.bodies) == 1
    assert bench.forbidden.bodies == []


def test_an_exit_or_a_leak_ends_the_attempt_alone(bench: Bench) -> None:
    report = bench.run(f"py:{bench.file}:leaves", limit=3)
    assert (report.passed, report.invalid) == (1, 2)
    items = {item.id: item for item in finished_items(RunReader(bench.folder / "run"))}
    assert items["t0"].reason == "the agent failed: SystemExit: enough"
    assert "exit code 3" in items["t1"].reason
    assert items["t2"].answer == "7"
    work = bench.folder / "run" / "work"
    assert not list(work.iterdir()), "no work folder is left"


def test_a_hang_ends_the_attempt_alone(bench: Bench) -> None:
    agent = open_agent(f"py:{bench.file}:hangs", trusted=True)
    sample = Sample(id="s", task_id="s", prompt="q", workdir=bench.folder)
    context = AgentContext(model=open_model("openai/mine"), limits=Limits(wall_s=2.0))
    run = asyncio.run(agent.run(sample, context))
    assert run.invalid == "the agent took more than 2 s of work (--time-limit, --working-limit)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("f = 7", "names a int, expected a function"),
        ("g = 7", "defines no 'f'"),
        ("import nowhere_to_be_found", "importing .* failed: ModuleNotFoundError"),
        ("import sys; sys.exit(2)", "SystemExit: 2"),
    ],
)
def test_a_file_that_cannot_be_used_is_found_before_any_call(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(BadInput, match=says):
        open_agent("py:mine.py:f", base=tmp_path, trusted=True)

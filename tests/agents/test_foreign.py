"""Agents that import nothing of ours: commands, functions and a user's graph."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.agents import AgentContext, SkillMode, TimeLimit, open_agent, refuse_lost_skill
from harness.agents.foreign import run_process
from harness.api import EvalSettings, run_evaluation
from harness.cli.eval import event_line
from harness.core import BadInput, assets
from harness.models import LimitedModel, SampleLimits, open_model
from harness.sandbox import Limits
from tests.agents.scripted import attempt, completion, in_order

NONE = in_order(completion("never asked"))
ASKS = """
import openai

def answer(prompt, workdir, skill):
    messages = [{"role": "user", "content": prompt}]
    reply = openai.OpenAI().chat.completions.create(model="any", messages=messages)
    return reply.choices[0].message.content
"""


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "my-skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text('---\nname: "my-skill"\ndescription: "x"\n---\nBody.\n')
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_a_command_answers_on_stdout(work: Path) -> None:
    run, _ = attempt(NONE, work, spec="cmd:echo {prompt} in {workdir}")
    assert run.answer == f"Do it. in {work}"


def test_its_calls_are_told_as_events(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(ASKS)
    (tmp_path / "t.jsonl").write_text('{"id": "t", "prompt": "Hi?", "answer": "yes"}\n')
    (tmp_path / "script.json").write_text('[{"text": "yes"}]')
    told: list[dict[str, Any]] = []
    settings = EvalSettings(
        suite=str(tmp_path / "t.jsonl"), agent=f"py:{tmp_path}/agent.py:answer", sandbox="none",
        models=(f"scripted/{tmp_path}/script.json",), out=tmp_path / "run", sample="t",
    )  # fmt: skip
    run_evaluation(settings, on_event=told.append)
    assert [event_line(event) for event in told] == ["t user: Hi?", "t reply: yes"]


@pytest.mark.parametrize(
    ("spec", "mode", "lost"),
    [
        ("cmd:python3 agent.py {prompt}", "preloaded", True),
        ("cmd:python3 agent.py {prompt} {skill}", "preloaded", False),
        ("cmd:sh -c 'cat {skill}/SKILL.md'", "preloaded", False),
        ("cmd:python3 agent.py {prompt}", "discovered", False),
        ("cmd:/usr/bin/claude -p {prompt}", "preloaded", False),
        ("graph:react", "preloaded", False),
    ],
)
def test_a_skill_that_would_not_reach_a_command_is_refused(
    spec: str, mode: SkillMode, lost: bool
) -> None:
    agent = open_agent(spec, trusted=True)
    if not lost:
        refuse_lost_skill(agent, "mine", mode)
        return
    with pytest.raises(BadInput, match=r"'mine' would not reach .* \{prompt\} \{skill\}'"):
        refuse_lost_skill(agent, "mine", mode)


FUNCTIONS = """
import functools

def ignores(prompt, workdir, skill): return prompt
def asked(question, skill=None): return question + open(f"{skill}/SKILL.md").read()
def reads(prompt, workdir, skill): return prompt + open(f"{skill}/SKILL.md").read()
def passes_on(prompt, workdir, skill=None): return (lambda: skill)()
def all_of_it(prompt, *rest): return prompt
def asks(question): return question
def in_folder(prompt, workdir): return workdir
def by_locals(prompt, workdir, skill): return str(locals())
@functools.wraps(ignores)
def wrapped(*arguments): return reads(*arguments)
class Agent:
    def __call__(self, prompt, workdir, skill): return prompt
    def method(self, prompt, workdir, skill): return prompt
agent = Agent()
method = agent.method
"""


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("ignores", True), ("method", True), ("asks", True),
        *((name, False) for name in
          ("reads", "asked", "passes_on", "in_folder", "all_of_it", "by_locals", "wrapped",
           "agent")),
    ],
)  # fmt: skip
def test_a_skill_that_a_function_never_looks_at_is_refused(
    name: str, lost: bool, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(FUNCTIONS)
    agent = open_agent(f"py:own.py:{name}", base=tmp_path, trusted=True)
    refuse_lost_skill(agent, "mine", "discovered")
    if not lost:
        refuse_lost_skill(agent, "mine", "preloaded")
        return
    with pytest.raises(BadInput, match=f"own.py:{name} never looks at a parameter `skill`"):
        refuse_lost_skill(agent, "mine", "preloaded")


def test_what_its_calls_wait_is_not_taken_from_the_time_of_a_command(tmp_path: Path) -> None:
    class Standing(LimitedModel):
        @property
        def worked_s(self) -> float:
            return 0.0  # all of it was waiting

    async def ran(kind: type[LimitedModel]) -> bytes:
        model = kind(open_model("openai/x", base_url="http://127.0.0.1:9/v1"), SampleLimits())
        context = AgentContext(model=model, limits=Limits(wall_s=0.2))
        return await run_process(["sh", "-c", "sleep 0.6; echo 4"], context, tmp_path)

    assert asyncio.run(ran(Standing)) == b"4\n"
    with pytest.raises(TimeLimit, match=r"more than 0\.2 s of work \(--time-limit"):
        asyncio.run(ran(LimitedModel))


def test_a_prompt_is_one_argument_or_on_standard_input(work: Path) -> None:
    run, _ = attempt(NONE, work, spec="cmd:printf %s {prompt}")
    assert run.answer == "Do it."
    run, _ = attempt(NONE, work, spec="cmd:cat")
    assert run.answer == "Do it."


def test_a_file_is_looked_up_where_the_command_was_given(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the work folder first, then in the suite that names it, then where we were started."""
    started, suite = tmp_path / "started", tmp_path / "suite"
    for folder in (started, suite):
        folder.mkdir()
        (folder / "agent.sh").write_text(f"#!/bin/sh\necho {folder.name} $1\n")
    monkeypatch.chdir(started)

    def answer(spec: str = "cmd:sh agent.sh suite.txt") -> str | None:
        return attempt(NONE, work, spec=spec, base=suite)[0].answer

    assert answer() == "suite suite.txt", "what is no file stays as it is"
    (suite / "suite.txt").touch()
    assert answer() == f"suite {suite}/suite.txt"
    (suite / "notes").mkdir()
    assert answer("cmd:sh agent.sh notes") == "suite notes"
    assert answer("cmd:sh agent.sh notes/") == f"suite {suite}/notes"
    (suite / "agent.sh").rename(suite / "other.sh")
    assert answer() == f"started {suite}/suite.txt"
    (suite / "other.sh").rename(suite / "agent.sh")
    (suite / "agent.sh").chmod(0o700)
    assert answer("cmd:./agent.sh x") == "suite x"
    (work / "agent.sh").write_text("echo work")
    assert answer() == "work"


def test_a_script_that_is_not_there_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"id": "t", "prompt": "x", "answer": "y"}\n')
    given: dict[str, Any] = {"suite": str(tmp_path / "t.jsonl"), "sandbox": "none"}
    given |= {"models": ("none",), "agent": "cmd:sh answer.sh"}
    with pytest.raises(BadInput, match=r"'answer.sh': there is no such file here"):
        run_evaluation(EvalSettings(**given, out=tmp_path / "a"))
    (tmp_path / "answer.sh").write_text("echo y")
    (report,) = run_evaluation(EvalSettings(**given, out=tmp_path / "b"))
    assert report.passed == 1
    (tmp_path / "answer.sh").rename(tmp_path / "other.sh")
    task = {"id": "t", "prompt": "x", "answer": "y", "files": {"answer.sh": "other.sh"}}
    (tmp_path / "t.jsonl").write_text(json.dumps(task))
    (report,) = run_evaluation(EvalSettings(**given, out=tmp_path / "c"))
    assert report.passed == 1


def test_an_answer_file_wins_over_stdout(work: Path) -> None:
    run, _ = attempt(NONE, work, spec="cmd:sh -c 'echo noise; echo 7 > answer.txt'")
    assert run.answer == "7"


def test_the_skill_is_installed_where_clients_look(work: Path, skill: Path) -> None:
    run, _ = attempt(NONE, work, spec="cmd:cat {skill}/SKILL.md", skill=skill)
    assert run.answer is not None
    assert run.answer.endswith("Body.")
    for folder in (".agents/skills", ".claude/skills"):
        assert (work / folder / "my-skill" / "SKILL.md").is_file()


def test_a_failing_command_is_invalid(work: Path) -> None:
    run, _ = attempt(NONE, work, spec="cmd:sh -c 'echo broken >&2; exit 9'")
    assert run.answer is None
    assert run.invalid is not None
    assert "exit code 9" in run.invalid
    assert "broken" in run.invalid


def test_functions_sync_and_async(work: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import pathlib\n"
        "def plain(prompt, workdir, skill):\n    return prompt.upper()\n"
        "async def later(prompt, workdir, skill):\n    return pathlib.Path(workdir).name\n"
        "def broken(prompt, workdir, skill):\n    raise ValueError('no')\n"
        "def unfit(question, prompt):\n    return ''\n"
        "def columns(country, opened, text):\n    return ''\n"
        "class Holder:\n    def asked(self, question):\n        return question\n"
        "asked = Holder().asked\n"
        "def turned(skill, workdir, prompt):\n    return f'{prompt} {skill}'\n"
        "def keywords(**values):\n    return ' '.join(values)\n"
    )
    for name, answer in (
        ("asked", "Do it."), ("turned", "Do it. None"), ("keywords", "prompt workdir skill")
    ):  # fmt: skip
        assert attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:{name}")[0].answer == answer
    with pytest.raises(
        BadInput, match=r"takes \(question, prompt\), expected any of prompt, workdir"
    ):
        attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:unfit")
    with pytest.raises(BadInput, match=r"takes \(country, opened, text\), expected any of prompt"):
        attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:columns")
    assert attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:plain")[0].answer == "DO IT."
    assert attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:later")[0].answer == "work"
    failed, _ = attempt(NONE, work, spec=f"py:{tmp_path}/mine.py:broken")
    assert failed.invalid == "the agent failed: ValueError: no"


def test_a_users_graph_of_messages(work: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from langgraph.graph import END, START, MessagesState, StateGraph\n"
        "def answer(state):\n"
        "    return {'messages': [{'role': 'assistant', 'content': 'from the graph'}]}\n"
        "b = StateGraph(MessagesState)\nb.add_node('answer', answer)\n"
        "b.add_edge(START, 'answer')\nb.add_edge('answer', END)\ngraph = b.compile()\n"
    )
    run, _ = attempt(NONE, work, spec=f"graph:{tmp_path}/mine.py:graph")
    assert run.answer == "from the graph"


GRAPHS = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

class Ticket(TypedDict):
    ticket: str
class State(Ticket, total=False):
    draft: str
    reply: str
class Case(TypedDict):
    ticket: str
    reply: str

def built(schema, node, **options):
    builder = StateGraph(schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(**options)

graph = built(State, lambda state: {"reply": state["ticket"].upper()})
both = built(State, lambda state: {"draft": "d", "reply": [1]})
case = built(Case, lambda state: {"reply": "ok"})
asks = built(State, lambda state: {"reply": interrupt("sure?")})
stops = built(State, lambda state: {"reply": "went on"}, interrupt_before=["node"])
"""


@pytest.mark.parametrize(
    ("spec", "answer", "resolved"),
    [
        ("graph", "DO IT.", "graph?input_key=ticket"),
        ("both", '{"draft": "d", "reply": [1]}', "both?input_key=ticket"),
        ("both?output_key=draft", "d", "both?output_key=draft&input_key=ticket"),
        ("case?input_key=ticket", "ok", "case?input_key=ticket"),
        ("asks?answer_interrupts=yes", "yes", "asks?answer_interrupts=yes&input_key=ticket"),
        ("stops?answer_interrupts=1", "went on", "stops?answer_interrupts=1&input_key=ticket"),
        ("asks", "stopped at an interrupt (sure?): `?answer_interrupts=", "asks?input_key=ticket"),
        ("stops", "interrupt (before 'node')", "stops?input_key=ticket"),
        ("both?output_key=mail", "no 'mail', only ticket", "both?output_key=mail&input_key=ticket"),
    ],
)
def test_a_graph_of_another_state(
    spec: str, answer: str, resolved: str, work: Path, tmp_path: Path
) -> None:
    (tmp_path / "flow.py").write_text(GRAPHS)
    agent = open_agent(f"graph:flow.py:{spec}", base=tmp_path, trusted=True)
    assert agent.spec == f"graph:flow.py:{resolved}"
    run, _ = attempt(NONE, work, spec=agent)
    assert run.answer == answer or (run.answer is None and answer in str(run.invalid))


def test_a_skill_reaches_a_graph_under_a_key_of_its_own(
    work: Path, tmp_path: Path, skill: Path
) -> None:
    (tmp_path / "flow.py").write_text(
        f"{GRAPHS}\n"
        "class Ruled(TypedDict):\n    ticket: str\n    rules: str\n    reply: str\n"
        "ruled = built(Ruled, lambda state: {'reply': repr((state['ticket'], state['rules']))})\n"
    )
    spec = f"graph:{tmp_path}/flow.py:ruled?input_key=ticket&skill_key=rules"
    assert attempt(NONE, work, spec=spec)[0].answer == "('Do it.', '')"
    answer = attempt(NONE, work, spec=spec, skill=skill)[0].answer or ""
    assert answer.startswith("('Do it.', ") and "Body." in answer


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("case", "keys ticket, reply: name the one .*flow.py:case.input_key=ticket"),
        ("graph?input_key=question", "keys ticket, draft, reply: name the one"),
        ("graph?in=ticket", "no setting 'in': expected input_key, skill_key"),
        ("graph?skill_key=rules", "no key 'rules' for the skill, only ticket, draft, reply"),
    ],
)
def test_a_graph_whose_input_is_unclear_is_refused(spec: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(GRAPHS)
    with pytest.raises(BadInput, match=message):
        open_agent(f"graph:flow.py:{spec}", base=tmp_path, trusted=True)


def test_code_of_a_suite_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(p, w, s):\n    return ''\n")
    with pytest.raises(BadInput, match="trust"):
        open_agent(f"py:{tmp_path}/mine.py:f")


def test_the_name_of_one_of_our_graphs_leads_to_no_other_file(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w')\ngraph = None\n")
    up = "../" * len((assets.root() / "graphs").parts)
    for name in (f"{up}{tmp_path}/evil", f"{up}{tmp_path}/./evil"):
        with pytest.raises(BadInput, match="our graphs"):
            open_agent(f"graph:{name}")
    assert not mark.exists()


@pytest.mark.parametrize(
    "spec", ["", "gpt", "cmd:", "cmd:echo 'x", "py:x", "graph:x.py:", "http://x"]
)
def test_a_malformed_spec_is_bad_input(spec: str) -> None:
    with pytest.raises(BadInput):
        open_agent(spec, trusted=True)

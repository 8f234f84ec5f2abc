"""A desk with the files that the documentation speaks of, in front of an empty home.

Commands run in this process as their entry point has them. Doubles stand at the edges alone: a
server on this machine plays every endpoint and the embedded model, a git repository stands for
GitHub's, and no weights are fetched.
"""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.cli import main
from harness.core import assets
from harness.evals import records
from harness.skills import load_skill
from tests.backends import fresh_cache
from tests.debug.test_calls import spans_of_a_talk
from tests.docs.commands import without_variables
from tests.learn.clients import write_claude
from tests.models.http_server import Answer, completion, serve

ROOT = assets.root()
DATA = ROOT / "tests" / "evals" / "formats" / "data"
LESSON = "Give the bare number as the answer, without a sentence around it."
_SKILL = re.compile(r'<skill name="([^"]+)" path="[^"]+">(.*?)</skill>')
NOTE = (
    "The warranty ends on 4 May 2027. The pump was replaced in 2019. The gate gives up when the "
    "planned lift is contradicted. It first prints what it can tell. Gates are bounded by error "
    "spending. Nils Ackermann approved the budget and signed it in 2025.\n"
)
LONG = "".join(f"Valve {n} of the hall was painted in {1950 + n}.\n\n" for n in range(60)) + NOTE
FLOW = """
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    question: str
    answer: str


builder = StateGraph(State)
builder.add_node("answer", lambda state: {"answer": state["question"].upper()})
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
graph = builder.compile()
"""
THREAD = """
from langgraph.checkpoint.sqlite import SqliteSaver
from flow import builder

with SqliteSaver.from_conn_string("app.sqlite") as saver:
    settings = {"configurable": {"thread_id": "42"}}
    builder.compile(checkpointer=saver).invoke({"question": "Why?"}, settings)
"""
AGENT = """
import json, os, sys, urllib.request

prompt = " ".join(sys.argv[1:]) or "What is two times 3 ?"
body = {"model": "x", "messages": [{"role": "user", "content": prompt}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    data=json.dumps(body).encode(),
    headers={"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""


class Ended(NamedTuple):
    """Result of a command: its exit code, and all that it printed."""

    code: int
    text: str


def rows(*values: dict[str, Any]) -> str:
    """JSON lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


def tasks(count: int, start: int = 1) -> str:
    """Tasks that the server answers, half of them badly; `task-17` is among the first 24."""
    return rows(
        *(
            {"id": f"task-{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n)}
            for n in range(start, start + count)
        )
    )


def trajectory(name: str, outcome: str) -> dict[str, Any]:
    """A run of three steps."""
    return {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": name,
        "agent": {"name": "a", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "What is two times 3 ?"},
            {"step_id": 2, "source": "agent", "message": "I am sure that it is 6."},
            {"step_id": 3, "source": "agent", "message": "Done."},
        ],
        "extra": {"harness": {"task_id": name, "outcome": outcome}},
    }


def record(name: str, quote: str = "I am sure that it is 6.") -> dict[str, Any]:
    """Write an analyst's record of that run."""
    lesson = {"title": "Bare numbers", "lesson": LESSON, "generalization": "always"}
    return {
        "trajectory_id": name,
        "analyst_type": "error",
        "root_cause": "A sentence stood around the number.",
        "memory_items": [{**lesson, "evidence": [quote]}],
        "edits": [],
    }


def nearest_skill(question: str) -> str:
    """The skill of a rendered choice that shares the most words with the request."""
    listed, _, request = question.rpartition("Request: ")
    skills = dict(re.findall(r"^([a-z0-9-]+): (.*)$", listed, re.MULTILINE))
    named = [name for name in skills if name in request]
    if named:
        return named[0]
    wanted = set(re.findall(r"\w{4,}", request.lower()))

    def shared(name: str) -> int:
        return len(wanted & set(re.findall(r"\w{4,}", f"{name} {skills[name]}".lower())))

    best = max(skills, key=shared)
    return best if shared(best) > 1 else "none"


def _checked(prompt: str) -> list[dict[str, str]]:
    """Reply as the Proposer (who sees an answer) or the Checker (who sees documents)."""
    end = {"answer": "4 May 2027"}
    if "<documents>" not in prompt:
        return [{"question": "On what date does the warranty end?", **end}]
    questions = prompt.partition("<questions>")[2].count("\n- ")
    return [{"evidence": "The warranty ends on 4 May 2027.", **end}] * questions


_ORDER = re.compile(
    r"Order \d+\. (.+?) ordered (\d+) (.+?)\. The goods are delivered to (.+?) on (\w+)\."
)


def answer(body: dict[str, Any]) -> Answer:
    """Reply as every model: numbers doubled, lessons, choices."""
    text = str(body["messages"][-1]["content"])
    form = str(body.get("response_format"))
    if '"analyst_type"' in text:
        quotes = ("apply_patch", "old_string", "I am sure", "What is two")
        quote = next(quote for quote in quotes if quote in text)
        return completion(json.dumps(record("x", quote) | {"summary": "as quoted"}))
    if "'name': 'choice'" in form:
        return completion(json.dumps({"skill": nearest_skill(text)}))
    if "'name': 'action'" in form:
        action: dict[str, Any] = {"name": "finish", "arguments": {"answer": "0"}}
        skills = _SKILL.findall(str(body["messages"][0]["content"]))
        listed = "\n".join(f"{name}: {description}" for name, description in skills)
        skill = nearest_skill(f"{listed}\nRequest: {text}") if listed else "none"
        if skill != "none" and len(body["messages"]) == 2:
            action = {"name": "read_skill_file", "arguments": {"path": f"{skill}/SKILL.md"}}
        return completion(json.dumps({"thought": "Well.", "action": action}))
    if "Reply with a JSON array" in text:
        return completion(json.dumps(_checked(text)))
    if order := _ORDER.search(text):
        # The tasks of `harness init`: in a sentence, unless a skill or the prompt asks for less.
        customer, count, item, city, day = order.groups()
        facts = {"Who": customer, "How": count, "What": item, "Where": city}
        reply = next((fact for word, fact in facts.items() if f"\n\n{word} " in text), day)
        brief = len(body["messages"]) > 1 or "only." in text
        return completion(reply if brief else f"I am sure that it is {reply}.")
    digits = [int(word) for word in text.replace("?", " ").split() if word.isdigit()]
    number = 2 * digits[-1] if digits else 0
    bare = number % 4 or LESSON[:20] in str(body["messages"])
    reply = str(number) if bare else f"I am sure that it is {number}."
    return completion(f"{reply}\nACTION: TASK_COMPLETE" if body.get("stop") else reply)


class Keyboard(io.StringIO):
    """Keyboard of a person; where nothing is typed, nobody sits there."""

    def isatty(self) -> bool:
        return bool(self.getvalue())


class Desk:
    """A folder, and what is typed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def type(self, words: Sequence[str]) -> Ended:
        """Run a command of ours or a Python module in this process, or another program."""
        typed = without_variables(list(words))
        variables = (word.partition("=") for word in words[: len(words) - len(typed)])
        output = io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            for name, _, value in variables:
                patch.setenv(name, value)
            ours = typed[0] == "harness"
            if not ours and not " ".join(typed).startswith("python -m benchmarks"):
                done = subprocess.run(
                    typed, capture_output=True, text=True, check=False, timeout=60
                )
                return Ended(done.returncode, done.stdout + done.stderr)
            patch.setattr(sys, "argv", typed if ours else typed[2:])
            patch.setattr(sys, "stdin", Keyboard("y\n" if typed[1] == "learn" else ""))
            code: object = 0
            with redirect_stdout(output), redirect_stderr(output):
                try:
                    if ours:
                        main()
                    else:
                        # Another test may have imported it; a program starts afresh.
                        patch.delitem(sys.modules, typed[2], raising=False)
                        runpy.run_module(typed[2], run_name="__main__", alter_sys=False)
                except SystemExit as ended:
                    code = ended.code or 0
        return Ended(code if isinstance(code, int) else 1, output.getvalue())

    def serve(self, words: list[str]) -> Ended:
        """Run a command that serves until it is stopped; stop it once it says where."""
        address, lines = "http://127.0.0.1:", list[str]()
        process = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if address in line:
                process.send_signal(signal.SIGINT)
                break
        remaining, _ = process.communicate(timeout=30)
        served = address in "".join(lines)
        return Ended(0 if served else process.returncode or 1, "".join(lines) + remaining)

    @contextmanager
    def running(self, folder: str) -> Generator[None]:
        """A run that stands in its first calls until the block ends."""
        shutil.rmtree(self.folder / folder, ignore_errors=True)
        with serve(answer, delay_s=600) as seen:
            command = f"harness eval suite.yaml --model openai/gpt-4.1-mini --base-url {seen.url}"
            process = subprocess.Popen(
                [sys.executable, "-m", *command.split(), "--out", folder],
                cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while not seen.bodies:
                assert process.poll() is None
            try:
                yield
            finally:
                process.kill()
                process.wait()

    def write(self, files: dict[str, str | bytes]) -> None:
        """Write files below the folder."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)


SUITE = """name: doubling
tasks: tasks.jsonl
max_turns: 1
sampling: {temperature: 0.0, max_tokens: 32}
"""
FILES: dict[str, str | bytes] = {
    "guard.yaml": "words: {Violent: [bomb]}\n",
    "suite.yaml": SUITE,
    "tasks.jsonl": tasks(24),
    "questions.csv": "frage,soll,question,answer\n"
    + "".join(f"Two times {n} ?,{2 * n},Two times {n} ?,{2 * n}\n" for n in range(1, 9)),
    "promptfooconfig.yaml": "prompts: ['What is two times {{n}} ?']\nproviders: [openai:x]\n"
    "tests:\n  - vars: {n: 3}\n    assert: [{type: equals, value: '6'}]\n",
    "which-model.yaml": "name: which\nsuites: [suite.yaml]\nlimit: 4\n"
    "models:\n  small: local/smollm2-135m\n  large: {spec: openai/gpt-4.1-mini}\n",
    "runs.jsonl": rows(*(trajectory(f"90-{n}", "fail") for n in range(1, 5))),
    "patches.jsonl": rows(*(record(f"90-{n}") for n in range(1, 5))),
    "answers.jsonl": rows({"id": "a", "prompt": "Name a colour.", "answer": "red"}),
    "pairs.jsonl": rows({"id": "p", "prompt": "Name a colour.", "a": "red", "b": "horse"}),
    "rules.md": "- names a colour\n",
    "agent.py": AGENT,
    "my_agent.py": AGENT,
    "flow.py": FLOW,
    "thread.py": THREAD,
    "mine.py": "def find(query, k):\n    return []\n",
    "tests/test_agent.py": "def test_it():\n    assert True\n",
    "answer.txt": "The warranty ends on 4 May 2027.\n",
    "report.md": NOTE,
    "notes/a.txt": NOTE,
    "notes/long.txt": LONG,
    "docs/old.md": NOTE,
    "rows.jsonl": rows(
        {
            "question": "When does the warranty end?",
            "answer": "The warranty ends on 4 May 2027.",
            "contexts": [NOTE],
            "reference": "4 May 2027",
        }
    ),
    "ragas.jsonl": rows(
        {
            "user_input": "What is two times 3 ?",
            "retrieved_contexts": ["Two times 3 is 6."],
            "response": "Two times 3 is 6.",
            "reference": "6",
        }
    ),
    "cases.jsonl": rows({"query": "when does the warranty end", "gold": [{"doc": "docs/old.md"}]}),
    "my-project/README.md": "Mine.\n",
    "logs/90-1.json": json.dumps(trajectory("90-1", "fail")),
}
PREPARED = """harness eval suite.yaml --sandbox none --out runs/before
harness evolve --suite suite.yaml --create spreadsheet-basics --gate none \
--sandbox none --out evolved
harness trajectories import logs/90-1.json --out trajectories
harness index build docs/ --index docs-index
harness index build docs/
harness eval matrix which-model.yaml --out runs/matrix-20261122-010203-4f5a
python thread.py"""
"""What a reader has typed on other pages."""


def lay(folder: Path) -> Desk:
    """Lay the desk: what a reader of the pages would have."""
    from tests.rag.retrieve.parse.test_rich import pdf

    desk = Desk(folder)
    for name in ("skills", "evals/trigger"):
        shutil.copytree(ROOT / name, folder / name)
    desk.write(FILES)
    for name, first, count in (("my", 1, 24), ("S", 1, 24), ("SUITE", 1, 24), ("other", 50, 12)):
        desk.write({f"{name}/suite.yaml": SUITE, f"{name}/tasks.jsonl": tasks(count, first)})
    desk.write(
        {"third/tasks.jsonl": tasks(12, 80), "S/suite.yaml": f"{SUITE}split_by: stratified\n"}
    )
    gate = (ROOT / "docs" / "concepts" / "gate.md").read_bytes()
    desk.write({"docs/concepts/evolution.md": gate})
    page = pdf("The warranty ends on 4 May 2027.")
    desk.write({f"{name}.pdf": page for name in ("report", "contract", "new")})
    for name, copy in (
        ("inspect_a.eval", "logs/a.eval"),
        ("inspect_c.eval", "logs/b.eval"),
        ("inspect_a.eval", "logs/2026-11-22_task.eval"),
        ("promptfoo_b.json", "promptfoo-output.json"),
    ):
        shutil.copy(DATA / name, folder / copy)
    out = (DATA / "promptfoo_b.json").read_text("utf-8").replace("sums-b", "openai:gpt-4.1-mini")
    desk.write({"out.json": out, "spans.json": spans_of_a_talk()})
    shutil.copytree(folder / "skills" / "short-answers", folder / "my-skill")
    text = (folder / "my-skill" / "SKILL.md").read_text()
    desk.write({"my-skill/SKILL.md": text.replace("short-answers", "my-skill", 1)})
    shutil.copytree(folder / "skills", folder / ".claude" / "skills")
    for command in PREPARED.replace("\\\n", "").splitlines():
        done = desk.type(command.split())
        assert done.code == 0, f"{command}\n{done.text}"
    shutil.copytree(folder / "docs-index", folder / "my-index")
    for name in ("runs/after", "runs/eval-1", "runs/last", "RUN", "runs/eval-20261121-045501-9f3a"):
        shutil.copytree(folder / "runs" / "before", folder / name)
    ids = [item.id for item in records(folder / "runs" / "last")]
    desk.write({"labels.jsonl": rows(*({"id": name, "label": "pass"} for name in ids))})
    digest = load_skill(folder / "evolved/skill/spreadsheet-basics").digest
    desk.write({"review.json": json.dumps({"skill": digest, "decisions": []})})
    shutil.copytree(
        folder / "evolved/skill/spreadsheet-basics", folder / "evolved/spreadsheet-basics"
    )
    return desk


def _sessions(home: Path) -> None:
    """Three sessions of Claude Code, of this week."""
    from tests.learn.planted import PLANTED, events

    for number in range(3):
        prompt = f"The {('discount', 'tax', 'rounding')[number]} is ignored."
        path = write_claude(home / ".claude", f"c{number}", events(PLANTED, prompt))
        path.write_text(path.read_text().replace("2026-03-01", str(date.today())))


def _github(folder: Path) -> dict[str, str]:
    """Variables that lead git from GitHub to a repository in this folder."""
    skill = folder / "anthropics" / "skills" / "skills" / "skill-creator"
    skill.mkdir(parents=True)
    text = (
        "---\nname: skill-creator\ndescription: Make skills. Use when asked for one.\n---\n\nDo.\n"
    )
    (skill / "SKILL.md").write_text(text)
    repository = skill.parent.parent
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=repository, check=True)
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{folder}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }


@contextmanager
def edges(folder: Path) -> Generator[str]:
    """The variables and doubles of an empty home, with a server for every endpoint; its URL."""
    from harness.models import Endpoint

    def embedded(spec: Any, base_url: str | None = None) -> Endpoint:
        return Endpoint(kind="local", model=spec.name, url=url, key="none")

    def fetched(partial: Path, *_: Any) -> None:
        partial.write_bytes(b"GGUF")

    with serve(answer) as served, pytest.MonkeyPatch.context() as patch:
        url = served.url
        for name in list(os.environ):
            if name.startswith(("OPENAI", "VLLM", "HARNESS_", "HF_", "OTEL", "ANTHROPIC")):
                patch.delenv(name)
        home = folder / "home"
        home.mkdir()
        _sessions(home)
        prices = folder / "prices.json"
        prices.write_text(
            json.dumps({"models": {"openai/gpt-4.1-mini": {"input": 1, "output": 2}}})
        )
        variables = {
            "HOME": str(home), "HARNESS_CACHE": fresh_cache(home / "cache"),
            "OPENAI_API_KEY": "test", "OPENAI_BASE_URL": url, "VLLM_BASE_URL": url,
            "NO_COLOR": "1", "HF_HUB_OFFLINE": "1",
            "HARNESS_PRICES": str(prices), "SHELL": "/bin/bash",
            "PYTHONPATH": os.pathsep.join([".", str(ROOT)]),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **_github(folder),
        }  # fmt: skip
        for name, value in variables.items():
            patch.setenv(name, value)
        patch.setattr("harness.engines.embedded.endpoint", embedded, raising=False)
        patch.setattr("harness.engines.weights.fetch", fetched)
        yield url

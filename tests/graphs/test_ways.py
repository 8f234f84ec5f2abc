"""The way through every graph file: the nodes that are visited, and what comes out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.agents.react import ReactContext
from harness.core import Usage, assets
from harness.evolve import Evolution, EvolveOptions, seed_skill
from harness.evolve.analysts.single import single_reader
from harness.models import Message, ModelCall, Reply, Sampling
from harness.rag.check.blind import MarchContext
from harness.rag.retrieve import Document
from harness.sandbox import select
from harness.tools import Arguments, Bench, Tool, get_tools
from tests.evolve.conftest import trajectory, write_trajectories
from tests.vision.looking import SOLVED, pictures

ASKED = {"messages": [{"role": "user", "content": "What is the sum of Jan?"}]}
DOCUMENT = {"id": "bell", "title": "Bell", "text": "Ada Hask cast the bell."}


@dataclass
class Scripted:
    """A model that gives its replies one after the other, the last one again and again."""

    replies: list[str | ModelCall]
    spec: str = "scripted/model"
    simulated: bool = True
    constrains: bool = False
    prompts: list[str] = field(default_factory=list[str])

    async def complete(self, messages: list[Message], **settings: Any) -> Reply:
        """Answer one request."""
        self.prompts.append(str(messages[-1]["content"]))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        text, calls = ("", (reply,)) if isinstance(reply, ModelCall) else (reply, ())
        return Reply(
            call_id=str(len(self.prompts)), text=text, tool_calls=calls, finish_reason="stop",
            model="model", usage=Usage(calls=1),
        )  # fmt: skip


def walked(name: str, start: dict[str, Any], context: Any) -> tuple[list[str], dict[str, Any]]:
    """The nodes that ran, in order, and the state at the end."""
    graph = assets.load_graph(name)

    async def run() -> tuple[list[str], dict[str, Any]]:
        visited: list[str] = []
        state: dict[str, Any] = {}
        stream = graph.astream(start, context=context, stream_mode=["updates", "values"])
        async for mode, part in stream:
            if mode == "updates":
                visited += part
            else:
                state = part
        return visited, state

    return asyncio.run(run())


def agent(folder: Path, *replies: str | ModelCall, **settings: Any) -> ReactContext:
    """The context of an agent's graph."""
    bench = Bench(folder, select("auto"))
    return ReactContext(Scripted(list(replies)), Sampling(), bench, **settings)


def documents(folder: Path) -> Path:
    """A work folder with one document."""
    (folder / "documents.jsonl").write_text(json.dumps(DOCUMENT) + "\n")
    return folder


def test_answer_is_one_call(tmp_path: Path) -> None:
    visited, state = walked("answer", ASKED, agent(tmp_path, " 40 "))
    assert visited == ["answer"]
    assert state["answer"] == "40"


async def _echo(arguments: Arguments, bench: Bench) -> str:
    return f"seen {arguments['text']}"


ECHO = Tool(name="echo", description="Says it again.", parameters={"type": "object"}, run=_echo)
CALL = ModelCall(id="c1", name="echo", arguments='{"text": "x"}')


def test_react_acts_and_answers(tmp_path: Path) -> None:
    visited, state = walked("react", ASKED, agent(tmp_path, CALL, "40", tools=(ECHO,)))
    assert visited == ["think", "act", "think"]
    assert state["answer"] == "40"
    assert state["messages"][2]["content"] == "seen x"


def test_react_corrects_a_format_error_and_reminds_of_the_file_once(tmp_path: Path) -> None:
    broken = CALL.model_copy(update={"arguments": "{"})
    context = agent(tmp_path, broken, "40", tools=(ECHO,), output_file="out.txt")
    visited, state = walked("react", ASKED, context)
    assert visited == ["think", "correct", "think", "finish", "think", "finish"]
    assert (state["answer"], state["turns"]) == ("40", 2)


def test_search_looks_notes_and_finishes(tmp_path: Path) -> None:
    replies = ["Hm.", "Search: bell", "- Ada Hask [bell:0-23]", "Answer: Ada Hask [bell:0-23]"]
    visited, state = walked("search", ASKED, agent(documents(tmp_path), *replies))
    assert visited == ["think", "correct", "think", "look", "note", "think", "finish"]
    assert state["answer"] == "Ada Hask [bell:0-23]"
    assert state["queries"] == ["bell"]


def test_longdoc_pages_and_cites(tmp_path: Path) -> None:
    context = agent(documents(tmp_path), "Ada Hask", tools=get_tools(["read"]), max_turns=9)
    visited, state = walked("longdoc", ASKED, context)
    assert visited == ["gather", "page", "answer", "cite"]
    assert state["answer"].startswith("Ada Hask")
    assert len(state["notes"]) == 1


def test_longdoc_answers_from_a_context(tmp_path: Path) -> None:
    visited, state = walked("longdoc", ASKED, agent(documents(tmp_path), "Ada Hask"))
    assert visited == ["gather", "answer", "cite"]
    assert state["context"] and state["answer"].startswith("Ada Hask")


LOOKS = ("A chart.", "- the bar of Jan\n- the unit", "Seen: 40", "Seen: apples")


@pytest.mark.parametrize(("name", "first"), [("vqa", "perceive"), ("vqa_text", "read")])
def test_vqa_looks_at_every_line_of_the_checklist(name: str, first: str, tmp_path: Path) -> None:
    replies = [*LOOKS[first == "read" :], "no JSON", SOLVED]
    visited, state = walked(name, ASKED, agent(pictures(tmp_path / "work"), *replies))
    looks = [first, "plan", "look", "look"]
    assert visited == [*looks, "reason", "correct", "reason", "answer"]
    assert (state["answer"], state["seen"]) == ("40", ["40", "apples"])


def test_vqa_verify_chooses_among_candidates(tmp_path: Path) -> None:
    # Constraints, audits and judgements cannot be read: the first candidate is taken.
    replies = [*LOOKS, SOLVED]
    visited, state = walked("vqa_verify", ASKED, agent(pictures(tmp_path / "work"), *replies))
    looks = ["perceive", "plan", "look", "look"]
    assert visited == [*looks, "solve", "extract", "verify", "choose", "answer"]
    assert (state["answer"], len(state["candidates"])) == ("40", 4)


ANSWERED = "Ada Hask cast the bell in 1921."


@pytest.mark.parametrize("response", ["", ANSWERED])
def test_march_walls_off_the_checker(response: str) -> None:
    proposer, checker = Scripted(["no pairs"]), Scripted(["1: unknown"])
    solver = Scripted([ANSWERED])
    document = Document("bell", DOCUMENT["text"] + " That was in 1912.")
    context = MarchContext(solver, proposer, checker, (document,))
    start = {"asked": "Who cast the bell?"} | ({"response": response} if response else {})
    visited, state = walked("march", start, context)
    assert visited == ["solve", "propose", "blind", "check", "judge"]
    assert len(solver.prompts) == (not response)
    assert state["report"]["claims"]
    assert checker.prompts and not any(ANSWERED in prompt for prompt in checker.prompts)


RECORD = {
    "root_cause": "it guessed",
    "memory_items": [
        {"title": "Look up", "lesson": "Look every name up in the text.", "generalization": "",
         "evidence": ["I would guess Lyon."]},
    ],
}  # fmt: skip


def test_trace2skill_reads_merges_applies_and_verifies(tmp_path: Path) -> None:
    runs = [trajectory(name, "fail", "I would guess Lyon.") for name in "ab"]
    options = EvolveOptions(
        out=tmp_path / "out",
        create="names",
        trajectories=write_trajectories(tmp_path / "runs", runs),
    )
    seed = seed_skill(options)
    model = Scripted([json.dumps(RECORD)])
    evolution = Evolution(options=options, seed=seed, read=single_reader(model, seed.text))
    visited, state = walked("trace2skill", {}, evolution)
    assert visited == [
        "rollouts", "fleet", "analyst", "analyst", "fleet", "collect", "claims", "judge", "deal",
        "merge", "deal", "translate", "weigh", "select", "describe", "apply", "verify",
        "gate_skill",
    ]  # fmt: skip
    assert (state["learned"], state["gate"]["verdict"]) == (True, "not gated")
    text = (evolution.skill_dir / "SKILL.md").read_text()
    assert "Look every name up in the text." in text
    assert evolution.merged(state).patch.edits[0].support == 2


def test_trace2skill_merges_by_the_model_level_by_level(tmp_path: Path) -> None:
    runs = [trajectory(name, "fail", "I would guess Lyon.") for name in "abcd"]
    options = EvolveOptions(
        out=tmp_path / "out",
        create="names",
        trajectories=write_trajectories(tmp_path / "runs", runs),
        merge="model",
        merge_batch=2,
    )
    edit = {"from": ["e1", "e2"], "file": "SKILL.md", "op": "add_section",
            "target_section": "## Names", "content": "- **Look up**: Look names up."}  # fmt: skip
    seed = seed_skill(options)
    evolution = Evolution(
        options=options,
        seed=seed,
        read=single_reader(Scripted([json.dumps(RECORD)]), seed.text),
        merger=Scripted([json.dumps({"reasoning": "same", "edits": [edit]})]),
    )
    visited, state = walked("trace2skill", {}, evolution)
    assert [visited.count(name) for name in ("analyst", "merge", "deal")] == [4, 3, 3]
    assert [len(state["levels"]), state["stuck"]] == [3, False]
    (merged,) = evolution.merged(state).patch.edits
    assert (merged.support, merged.sources) == (4, ("a", "b", "c", "d"))

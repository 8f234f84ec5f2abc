"""Trace2Skill on questions about pictures, by the command line as for any other suite.

SIMULATED: a scripted endpoint plays the agent that sees, the analyst and the mapper. It wraps every
answer in a word unless the skill in its system prompt tells it not to.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.core import Task, read_models
from lab.corpora.folio import write_split
from tests.acceptance.conftest import ChatServer, Harness
from tests.acceptance.test_kill_evolution import Teacher
from tests.vision.looking import kind_of, prompt_of

LESSON = "Give the value alone, without a word like roughly in front of it."


class SightedTeacher(Teacher):
    """Knows what is in the pictures by the question, and says it in too many words."""

    answers: dict[str, str]

    def answer(self, body: dict[str, Any]) -> str:
        messages = body["messages"]
        text, kind = prompt_of(messages), kind_of(messages)
        if kind in ("perceive", "plan", "look"):
            return {"perceive": "A picture.", "plan": "- it", "look": "Seen: it"}[kind]
        if text.startswith("Answer the question about the image"):
            told = messages[0]["role"] == "system" and LESSON in messages[0]["content"]
            known = next(answer for asked, answer in self.answers.items() if asked in text)
            said = known if told else f"roughly {known}"
            steps = [{"text": "I look.", "seen": said}]
            return json.dumps({"steps": steps, "answer": said})
        if '"memory_items"' in text:
            shown = re.search(r'roughly [^\\"]+', text)
            item = {"title": "Value alone", "lesson": LESSON, "generalization": ""}
            evidence = [shown[0]] if shown else []
            return json.dumps(
                {"root_cause": "a word too many", "evidence": evidence, "memory_items": [item]}
            )
        return super().answer(body)


@pytest.fixture
def pictures(tmp_path: Path, chat_server: ChatServer) -> Path:
    """A suite of twelve questions of the folio, no two alike."""
    folder = tmp_path / "pictures"
    write_split("train", folder)
    asked: dict[str, Task] = {}
    for task in read_models(folder / "train.jsonl", Task):
        asked.setdefault(task.prompt, task)
    tasks = list(asked.values())[:12]
    assert len(tasks) == 12
    rows = [task.model_dump_json(exclude_defaults=True) for task in tasks]
    (folder / "train.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "suite.yaml").write_text(
        "name: pictures\ntasks: train.jsonl\nagent: graph:vqa\nmax_turns: 4\n"
    )
    chat_server.__class__ = SightedTeacher
    answers = {task.prompt: str(task.answer[0]) for task in tasks if isinstance(task.answer, list)}
    vars(chat_server)["answers"] = answers
    return folder


def test_a_skill_learnt_from_pictures_lifts_them(
    harness: Harness, pictures: Path, chat_server: ChatServer, tmp_path: Path
) -> None:
    model = ("--model", "openai/test", "--base-url", chat_server.url, "--sandbox", "none")
    before = harness("eval", pictures, *model, "--json")
    assert json.loads(before.stdout)["passed"] == 0, before.stderr
    evolved = harness(
        "evolve", "--suite", pictures, "--create", "plain-values", "--out", "out", "--analyst",
        "single", "--merge", "deterministic", "--gate", "none", *model, "--json",
    )  # fmt: skip
    assert evolved.returncode == 0, evolved.stderr
    told = json.loads(evolved.stdout)
    assert told["edits"] >= 1
    skill = tmp_path / "out" / "skill" / "plain-values"
    assert LESSON in (skill / "SKILL.md").read_text()
    after = harness("eval", pictures, *model, "--skill", skill, "--json")
    assert json.loads(after.stdout)["passed"] == 12, after.stderr
    sent = [body for body in chat_server.requests if kind_of(body["messages"]) == "perceive"]
    assert any(part["type"] == "image_url" for part in sent[0]["messages"][-1]["content"])

"""Analysts and merger over real HTTP: what comes back wrong is counted, never a crash."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

from harness.core import Patch
from harness.evolve.analysts.records import to_patch
from harness.evolve.analysts.single import analyse
from harness.evolve.merge.by_model import merge_batch
from harness.evolve.types import SAID, AnalystRecord, MemoryItem, MergeStep, Reading
from harness.models import open_model
from tests.evolve.conftest import Answer, trajectory

RUN = trajectory("France", "fail", "I would guess that it is Lyon.")
GOOD: dict[str, Any] = {
    "root_cause": "guessed",
    "evidence": ["I would guess that it is Lyon."],
    "memory_items": [{"title": "Look up", "lesson": "Look the name up.", "generalization": ""}],
}
Start = Callable[[Answer], str]


def analysed(endpoint: Start, answer: Answer) -> Reading:
    model = open_model("openai/canned", base_url=endpoint(answer))
    return asyncio.run(analyse(RUN, "error", model, ""))


def test_a_good_reply_is_a_record(endpoint: Start) -> None:
    found = analysed(endpoint, lambda prompt: f"```json\n{json.dumps(GOOD)}\n```")
    assert found.record is not None
    assert found.record.items[0].lesson == "Look the name up."
    assert found.usage.tokens == 10


def test_a_reply_is_sent_back_with_the_complaint(endpoint: Start) -> None:
    replies = iter(["not json", json.dumps(GOOD)])
    seen: list[str] = []

    def answer(prompt: str) -> str:
        seen.append(prompt)
        return next(replies)

    found = analysed(endpoint, answer)
    assert found.record is not None and found.losses == ()
    assert "could not be used" in seen[1]


def test_refusing_empty_and_looping_replies_are_losses(endpoint: Start) -> None:
    for text in ("I cannot do that.", "", "the the " * 2000, '{"memory_items": "x"}', "[]"):
        found = analysed(endpoint, lambda prompt, text=text: text)
        assert found.record is None
        assert [loss.trajectory_id for loss in found.losses] == ["France"]


def test_evidence_that_is_not_in_the_run_is_rejected(endpoint: Start) -> None:
    invented = {**GOOD, "evidence": ["The agent opened the atlas at page nine."]}
    found = analysed(endpoint, lambda prompt: json.dumps(invented))
    assert found.record is None
    assert "no evidence quote" in found.losses[0].reason


def test_a_lesson_about_the_answer_key_is_rejected(endpoint: Start) -> None:
    item = {"title": "Match", "lesson": "Compare with the ground truth.", "generalization": ""}
    both = {**GOOD, "memory_items": [*GOOD["memory_items"], item]}
    found = analysed(endpoint, lambda prompt: json.dumps(both))
    assert found.record is not None and len(found.record.items) == 1
    assert "answer key" in found.losses[0].reason


def patches(count: int) -> list[Patch]:
    lessons = [f"Lesson {'abcdefgh'[n] * 6} says something of its own here." for n in range(count)]
    return [
        to_patch(
            AnalystRecord(
                kind="error",
                trajectory_id=f"r{n}",
                task_id=f"r{n}",
                items=(MemoryItem(title="T", lesson=lesson),),
            ),
            n + 1,
        )
        for n, lesson in enumerate(lessons)
    ]


def merged_by(endpoint: Start, answer: Answer, count: int = 4) -> MergeStep:
    model = open_model("openai/canned", base_url=endpoint(answer))
    tasks = {f"r{n}": f"r{n}" for n in range(count)}
    return asyncio.run(merge_batch(patches(count), model, tasks, frozenset()))


def _all_into_one(prompt: str) -> str:
    ids = re.findall(r"^(e\d+) \(support", prompt, flags=re.MULTILINE)
    edit = {"from": ids, "file": "SKILL.md", "op": "add_section", "target_section": "## A",
            "content": "- **All**: Lessons say something of their own."}  # fmt: skip
    return json.dumps({"reasoning": "same", "edits": [edit]})


def test_a_merge_keeps_every_source(endpoint: Start) -> None:
    step = merged_by(endpoint, _all_into_one)
    assert (step.members, step.losses) == (4, ())
    (edit,) = step.merge.patch.edits
    assert (edit.support, edit.sources) == (4, ("r0", "r1", "r2", "r3"))
    assert {row.reason for row in step.merge.discarded} == {SAID}


def test_a_rule_that_does_not_say_a_lesson_takes_it_not_in(endpoint: Start) -> None:
    def lying(prompt: str) -> str:
        return _all_into_one(prompt).replace("Lessons say something of their own", "Look names up")

    step = merged_by(endpoint, lying)
    assert all("Look names up" not in edit.content for edit in step.merge.patch.edits)
    assert {source for edit in step.merge.patch.edits for source in edit.sources} == {
        "r0", "r1", "r2", "r3",
    }  # fmt: skip


def test_a_merge_that_loses_or_invents_a_source_falls_back(endpoint: Start) -> None:
    for bad in ('{"edits": []}', '{"edits": [{"from": ["e1", "e99"], "file": "SKILL.md"}]}'):
        step = merged_by(endpoint, lambda prompt, bad=bad: bad)
        assert len(step.losses) == 1
        kept = {source for edit in step.merge.patch.edits for source in edit.sources}
        kept |= {source for one in step.merge.discarded for source in one.sources}
        assert kept == {"r0", "r1", "r2", "r3"}

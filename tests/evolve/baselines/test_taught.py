"""Baselines that take over what the analysts found: half of the patches, and a memory."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from harness.core import Task
from harness.evolve.baselines import Ground, make
from harness.evolve.baselines.taught import (
    merged_skill,
    open_encoder,
    random_half,
    with_memories,
)
from harness.evolve.types import AnalystRecord, Collected, MemoryItem
from harness.models import open_model
from tests.evolve.baselines.conftest import ANALYST, Bench

pytestmark = pytest.mark.wing("rag")


def test_all_patches_give_the_evolved_skill_and_half_of_them_another(ground: Ground) -> None:
    half = asyncio.run(random_half(ground))
    assert half.skill is not None
    assert half.skill.digest != ground.done.applied.skill.digest
    assert asyncio.run(random_half(ground)).skill == half.skill
    seeds = [asyncio.run(random_half(replace(ground, seed=seed))).skill for seed in range(6)]
    assert len({skill.digest for skill in seeds if skill}) > 1
    patches = ground.done.levels[0]
    assert half.note == f"{(len(patches) + 1) // 2} of {len(patches)} patches"
    whole, _, _ = asyncio.run(merged_skill(ground, patches))
    assert whole.skill.digest == ground.done.applied.skill.digest


def test_half_of_the_patches_is_merged_by_the_model_where_the_evolution_was(ground: Ground) -> None:
    options = ground.done.evolution.options.model_copy(update={"merge": "model", "merge_batch": 2})
    merger = open_model(ANALYST, role="merger")
    evolution = replace(ground.done.evolution, options=options, merger=merger)
    found = asyncio.run(
        random_half(replace(ground, done=replace(ground.done, evolution=evolution)))
    )
    assert found.skill is not None
    assert found.skill.digest != ground.start.digest
    assert found.usage.calls >= len(ground.done.levels[0]) // 2 - 1


def test_without_patches_the_half_is_the_seed(ground: Ground) -> None:
    empty = replace(ground.done, levels=((),), collected=Collected())
    found = asyncio.run(random_half(replace(ground, done=empty)))
    assert found.skill == ground.start
    assert found.note == "0 of 0 patches"


def _record(task: str, lesson: str) -> AnalystRecord:
    item = MemoryItem(title="Rule", lesson=lesson, generalization="every order")
    return AnalystRecord(kind="error", trajectory_id=task, task_id=task, items=(item,))


def test_a_task_gets_the_lessons_of_the_task_most_like_it_and_never_its_own() -> None:
    prompts = {"a": "How many orders of ink?", "b": "Write a poem on rain.", "c": "Orders of wax?"}
    known = [_record("a", "Ink one."), _record("a", "Ink two."), _record("b", "Rhyme.")]
    encoder = open_encoder("lexical")
    vectors = encoder.encode([prompts[one.task_id] for one in known])
    tasks = [Task(id=name, prompt=prompt) for name, prompt in prompts.items()]
    own, poem, new = with_memories(tasks, known, vectors, encoder, 1)
    assert own.prompt.startswith(prompts["a"])
    assert "Rhyme." in own.prompt
    assert "Ink" not in own.prompt
    assert "Ink one." in poem.prompt
    assert "Ink one." in new.prompt
    assert "Ink two." not in new.prompt
    assert "Applies to: every order" in new.prompt
    both = with_memories(tasks, known, vectors, encoder, 2)[2].prompt
    assert both.index("Ink one.") < both.index("Ink two.")
    assert with_memories(tasks, [], vectors[:0], encoder, 1) == tuple(tasks)


def test_the_memory_names_its_encoder_and_what_it_cannot_place(
    bench: Bench, ground: Ground
) -> None:
    records = (*ground.records, _record("elsewhere", "Unknown task."))
    collected = ground.done.collected.model_copy(update={"records": records})
    found = asyncio.run(
        make("memory", replace(ground, done=replace(ground.done, collected=collected)))
    )
    assert len(found.losses) == 1
    assert found.losses[0].startswith("elsewhere: ")
    assert f"{len(ground.records)} records by hashed characters" in found.note
    assert found.memories is not None
    suite = bench.suite("selection")
    asked = found.memories(suite)
    for before, after in zip(suite.tasks, asked.tasks, strict=True):
        assert after.prompt.startswith(before.prompt)
        assert '<skill name="memory">' in after.prompt
        assert after.model_copy(update={"prompt": before.prompt}) == before


def test_in_deepening_the_memory_stands_beside_the_seed(ground: Ground) -> None:
    options = ground.done.evolution.options.model_copy(
        update={"create": None, "skill": ground.done.evolution.skill_dir}
    )
    done = replace(ground.done, evolution=replace(ground.done.evolution, options=options))
    assert asyncio.run(make("memory", replace(ground, done=done))).skill == ground.start
    assert asyncio.run(make("memory", ground)).skill is None

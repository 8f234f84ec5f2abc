"""Bar 4 of the spine: the 113 recorded runs and their recorded analyses give a proper skill."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from harness.core import Patch
from harness.evolve import EvolveOptions, EvolveResult, evolve
from harness.skills import Skill, load_skill, validate
from harness.trajectories import open_trajectories

RUNS = "data/dev/spreadsheet_trajectories_qwen35_122b.jsonl"
PATCHES = "data/dev/spreadsheet_skill_patches.jsonl"


@pytest.fixture(scope="module")
def evolved(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> EvolveResult:
    options = EvolveOptions(
        out=tmp_path_factory.mktemp("evolved") / "out",
        create="spreadsheet-editing",
        trajectories=shared / RUNS,
        patches=shared / PATCHES,
    )
    return asyncio.run(evolve(options))


@pytest.fixture(scope="module")
def skill(evolved: EvolveResult) -> Skill:
    return load_skill(evolved.skill)


def test_every_record_is_used_and_the_broken_reply_is_repaired(evolved: EvolveResult) -> None:
    assert (evolved.records, evolved.losses) == (113, 0)


def test_the_skill_is_valid_and_within_its_limits(evolved: EvolveResult, skill: Skill) -> None:
    assert [str(one) for one in validate(skill)] == []
    assert evolved.lines < 500 and evolved.skill_tokens < 5000
    for data in skill.files.values():
        assert data.decode().count("\n") < 300


def test_every_edit_names_trajectories_that_exist(
    evolved: EvolveResult, skill: Skill, shared: Path
) -> None:
    known = {one.trajectory_id for one in open_trajectories(shared / RUNS)}
    final = Path(evolved.skill).parent.parent / "patches" / "final_patch.json"
    patch = Patch.model_validate_json(final.read_bytes())
    for edit in patch.edits:
        assert edit.sources and set(edit.sources) <= known
        assert edit.support == len(set(edit.sources))
    rules = [line for line in skill.body.split("\n") if re.match(r"- [^\[]", line)]
    contents = {edit.content: edit for edit in patch.edits}
    assert 25 <= len(rules) <= 40
    assert all(contents[rule].support >= 2 for rule in rules)


def test_it_reads_as_a_skill(skill: Skill) -> None:
    assert not re.search(
        r"\d+-\d+\b(?! )|answer_position|output_path|\.xlsx|Manipulation task", skill.body
    )
    assert "New Section" not in skill.text and "Trace-Derived" not in skill.text
    headings = re.findall(r"^## (.+)$", skill.body, flags=re.MULTILINE)
    assert len(headings) == len(set(headings)) <= 9
    rules = re.findall(r"^- ([^\[].*)$", skill.body, flags=re.MULTILINE)
    assert len(rules) == len(set(rules))
    assert max(len(rule.split()) for rule in rules) <= 30
    assert "**" not in skill.body and "the.value" not in skill.text


def test_rules_are_the_words_of_their_sources(evolved: EvolveResult, skill: Skill) -> None:
    """No word of a rule is in none of the lessons: nothing is joined, nothing is made up."""
    records = json.loads((Path(evolved.skill).parents[1] / "records.json").read_text())
    lessons = " ".join(
        f"{item['lesson']} {item['generalization']}" for row in records for item in row["items"]
    )
    edits = " ".join(edit["content"] for row in records for edit in row["edits"])
    spoken = {word.strip(".,;:()*").casefold() for word in f"{lessons} {edits}".split()}
    rules = re.findall(r"^- ([^\[].*)$", skill.body, flags=re.MULTILINE)
    for rule in rules:
        assert {word.strip(".,;:()*").casefold() for word in rule.split()} <= spoken, rule


def test_most_evidence_is_located(evolved: EvolveResult) -> None:
    """Bar: at least 80 % of the quotes, most of which are paraphrases, in a step."""
    records = json.loads((Path(evolved.skill).parents[1] / "records.json").read_text())
    steps = [step for row in records for step in row["evidence_steps"]]
    assert len(steps) > 400
    assert sum(step is not None for step in steps) >= 0.8 * len(steps)


def test_the_description_says_what_users_ask_for(skill: Skill) -> None:
    assert ".xlsx" in skill.description and "Not for" in skill.description
    assert {"formulas", "cells"} <= set(re.findall(r"[a-z]+", skill.description))
    assert not re.search(r"\d|/|_|bench", skill.description, flags=re.IGNORECASE)

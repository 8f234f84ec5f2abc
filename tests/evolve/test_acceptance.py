"""`evolve --judge`: what a judge refuses is not merged, and why is written down."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from harness.core import BadInput, Unreachable, Usage
from harness.evolve import EvolveOptions, EvolveSettings, evolve
from harness.evolve.acceptance import JudgeEdits
from harness.skills import (
    Decision,
    EditJudgement,
    JudgedEdits,
    ReviewRow,
    load_skill,
    open_review,
    rows_of,
    write_review,
)
from tests.evolve.conftest import record_row, trajectory, write_rows, write_trajectories
from tests.skills.evolved import evolve as evolved_skill

SAVE = "Reload the saved workbook and verify that the changes persisted."
MOON = "Ask the moon about hidden columns before reading any."
DATES = "Write dates in the format that the column has already."
USED = Usage(calls=2, prompt_tokens=7, completion_tokens=3, cost_usd=0.25)


def judging(seen: list[ReviewRow], **better: Literal["without", "neither", ""]) -> JudgeEdits:
    """A judge of edits by a word that they hold; others are better with it."""

    async def judge(rows: Sequence[ReviewRow]) -> JudgedEdits:
        seen.extend(rows)
        edits: dict[str, EditJudgement] = {}
        for row in rows:
            word = next((word for word in better if word in row.edit.content), None)
            edits[row.id] = EditJudgement(
                better=better[word] if word else "with",
                reason="so it is",
                agreement=word != "moon",
                usage=USED,
            )
        used = sum((judgement.usage for judgement in edits.values()), Usage())
        return JudgedEdits(
            judge="a judge", edits=edits, agreed=3, compared=4, right=0, decided=0,
            usage=used, note="uncalibrated", simulated=False,
        )  # fmt: skip

    return judge


@pytest.fixture
def options(tmp_path: Path) -> EvolveOptions:
    rows = [
        record_row("a", [("Save", SAVE), ("Moon", MOON)]),
        record_row("b", [("Save", SAVE), ("Dates", DATES)]),
    ]
    runs = [trajectory(name, "fail", "no") for name in "ab"]
    return EvolveOptions(
        out=tmp_path / "out",
        create="sheets",
        trajectories=write_trajectories(tmp_path / "runs", runs),
        patches=write_rows(tmp_path / "patches.jsonl", rows),
        judge="some/judge",
    )


def test_a_refused_edit_is_not_merged_and_its_verdict_is_kept(options: EvolveOptions) -> None:
    seen: list[ReviewRow] = []
    judge = judging(seen, moon="without", dates="", workbook="neither")
    result = asyncio.run(evolve(options, judge=judge))
    assert len(seen) == 4, "every edit of every record, before any is merged"
    assert seen[0].records[0].summary == "x", "with the notes on the run that it came from"
    skill = load_skill(result.skill)
    text = skill.text + (skill.file_text("references/further-rules.md") or "")
    assert SAVE in text and "moon" not in text and "dates" not in text
    rows = json.loads((options.out / "discarded.json").read_text())
    refused = {row["content"]: row for row in rows if row["judgement"]}
    assert len(refused) == 2
    moon = next(row for content, row in refused.items() if "moon" in content)
    assert moon["reason"] == "the judge: is worse with it: so it is"
    assert (moon["judgement"]["better"], moon["judgement"]["agreement"]) == ("without", False)
    assert moon["judgement"]["usage"]["cost_usd"] == 0.25
    assert moon["sources"] == ["a"]
    dates = next(row for content, row in refused.items() if "dates" in content)
    assert dates["reason"].startswith("the judge: gives no verdict")
    assert result.judge is not None
    assert (result.judge.edits, result.judge.refused, result.judge.invalid) == (4, 1, 1)
    assert (result.calls, result.cost_usd) == (8, 1.0)
    assert "uncalibrated" in str(result.judge)
    assert "uncalibrated" in (options.out / "report.html").read_text()


def test_without_a_judge_all_is_as_it_was(options: EvolveOptions) -> None:
    plain = options.model_copy(update={"judge": None})
    assert "judge" not in plain.fingerprint() and "judge" in options.fingerprint()
    result = asyncio.run(evolve(plain))
    assert result.judge is None
    rows = json.loads((options.out / "discarded.json").read_text())
    assert all(row["judgement"] is None for row in rows)


def test_a_judge_without_any_verdict_ends_the_evolution(options: EvolveOptions) -> None:
    with pytest.raises(Unreachable, match="no verdict on any of 4 edits"):
        asyncio.run(evolve(options, judge=judging([], moon="", dates="", workbook="")))
    assert not (options.out / "evolve.json").exists()


def test_the_reviewed_edits_of_the_seed_are_judged_too(
    options: EvolveOptions, tmp_path: Path
) -> None:
    """They are the judge's labels; what is said of them refuses nothing."""
    folder = evolved_skill(tmp_path / "earlier")
    review, version = open_review(folder)
    first = rows_of(folder, review, version)[0]
    write_review(folder, review.decide([Decision(id=first.id, verdict="rejected")]))
    seen: list[ReviewRow] = []
    deepened = options.model_copy(update={"create": None, "skill": folder})
    result = asyncio.run(evolve(deepened, judge=judging(seen)))
    assert [row.verdict for row in seen] == ["", "", "", "", "rejected"]
    assert result.judge is not None and result.judge.edits == 4


def test_where_no_lessons_are_proposed_there_is_nothing_to_judge(tmp_path: Path) -> None:
    given: dict[str, Any] = {"out": tmp_path, "create": "x", "judge": "some/judge"}
    with pytest.raises(BadInput, match="--analyst exemplar asks none"):
        EvolveSettings(**given, suite="demo", analyst="exemplar").settled(None)
    assert EvolveSettings(**given, trajectories=tmp_path).settled(None).analyst == "single"

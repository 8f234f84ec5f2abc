"""A judge's word on edits of a skill: for `skill review --judge` and `evolve --judge`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from harness.core import Usage
from harness.judge.direct import DirectJudge
from harness.judge.types import Question, Verdict
from harness.models import Model
from harness.skills import EditJudgement, JudgedEdits, ReviewRow
from harness.stats import rate_interval

RUBRIC = """
- What the lines tell an agent to do follows from the notes on its runs.
- They help with other tasks of the kind, too, and do no harm where they do not apply.
- They are clear, and say nothing that an agent does anyway.
"""
_BETTER: dict[str, Literal["with", "without", "neither"]] = {
    "A": "without",
    "B": "with",
    "tie": "neither",
}


async def judge_edits(rows: Sequence[ReviewRow], model: Model) -> JudgedEdits:
    """Compare the lines of a skill without and with each edit, in both orders.

    The decisions that a person has made on the edits are the labels of the judge: how often it says
    the same. Where there is none it is uncalibrated, and the note says so.

    Args:
        rows: the edits, with the notes that they came from and the decisions so far.
        model: judges.

    Raises:
        LimitReached: when the budget is spent.
    """
    judge = DirectJudge(model)
    verdicts = await asyncio.gather(*(_compared(judge, row) for row in rows))
    edits = {
        row.id: EditJudgement(
            better=_BETTER[verdict.preference] if verdict.preference else "",
            reason=verdict.invalid or verdict.evidence[0].observation,
            agreement=verdict.agreement,
            usage=verdict.usage,
        )
        for row, verdict in zip(rows, verdicts, strict=True)
    }
    orders = [verdict.agreement for verdict in verdicts if verdict.agreement is not None]
    likewise = [
        (edits[row.id].better == "with") == (row.verdict == "approved")
        for row in rows
        if row.verdict and edits[row.id].better in ("with", "without")
    ]
    return JudgedEdits(
        judge=judge.name,
        edits=edits,
        agreed=sum(orders),
        compared=len(orders),
        right=sum(likewise),
        decided=len(likewise),
        usage=sum((verdict.usage for verdict in verdicts), Usage()),
        note=_note(likewise),
        simulated=model.simulated,
    )


async def _compared(judge: DirectJudge, row: ReviewRow) -> Verdict:
    edit = row.edit
    notes = "\n".join(map(str, row.records)) or "none were kept"
    target = f"{edit.file} {edit.target_section}".strip()
    prompt = (
        f"Lines of a skill, which an agent reads before it works on tasks of its kind ({target}). "
        f"Notes on the runs that the lines are to follow from:\n{notes}"
    )
    before = edit.old_text or "(nothing stands there)"
    after = edit.content or "(the lines are taken out)"
    return await judge.compare(Question(prompt=prompt, rubric=RUBRIC), before, after)


def _note(likewise: Sequence[bool]) -> str:
    """Summarise how far a person's decisions agree with the judge."""
    interval = rate_interval([[float(same)] for same in likewise]) if likewise else None
    if interval is None:
        return "uncalibrated: no edit that it has a verdict on is decided, its errors are not known"
    low, high = interval
    return f"as you decided: {sum(likewise)} of {len(likewise)} ({low:.0%} to {high:.0%})"

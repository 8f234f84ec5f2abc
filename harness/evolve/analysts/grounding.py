"""What an analyst concludes of a run, checked against the run before it may edit a skill.

A lesson is advice and cannot be looked up; the root cause that it rests on states what happened,
and the transcript says whether it did. Without a model: values by the numeric engine, sentences by
rule (:mod:`harness.rag.check`).
"""

from __future__ import annotations

import asyncio

from harness.core import Trajectory
from harness.evolve.analysts.single import Reading, lost
from harness.evolve.evidence import transcript
from harness.evolve.evolution import Read
from harness.evolve.types import AnalystRecord, AnalystType
from harness.rag.check import Outcome, Verdict, check


def checked(read: Read) -> Read:
    """A reader whose records are dropped, with the reason, where the run contradicts them."""

    async def reading(trajectory: Trajectory, kind: AnalystType) -> Reading:
        found = await read(trajectory, kind)
        if found.record is None:
            return found
        reason = await asyncio.to_thread(contradicted, found.record, transcript(trajectory))
        if not reason:
            return found
        return Reading(losses=(*found.losses, lost(trajectory, reason)), usage=found.usage)

    return reading


def contradicted(record: AnalystRecord, text: str) -> str:
    """Why a record's conclusion does not hold; "" where nothing speaks against it.

    Only contradictions count: an analyst may say more than the run shows in so many words. The
    policy is review-on-single: one wrong value, order or date, or two contradictions, refuse it.
    """
    if not record.summary.strip() or not text.strip():
        return ""
    found = check(record.summary, text, policy="review-on-single", verifier="rules")
    denied = [one for one in found.claims if one.verdict is Verdict.CONTRADICTED]
    if found.verdict is not Outcome.FAIL or not denied:
        return ""
    return f"the run contradicts the conclusion: {denied[0].text[:60]!r}: {denied[0].reason}"

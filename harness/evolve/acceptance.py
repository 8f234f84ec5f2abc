"""Acceptance of proposed edits by a judge, before any of them is merged: `--judge SPEC`.

The judge is a plugin (`harness.reviewers`), so that the spine stands without one. An edit that it
finds worse than nothing, or than what the edit replaces, is refused. So is an edit without a
verdict: what could not be judged has not been accepted. A tie is no reason to refuse, since a judge
that takes whatever is shown first has nothing but ties.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.core import BadInput, Edit, Patch, Unreachable
from harness.evolve.types import Acceptance, AnalystRecord, Discarded, Judged
from harness.skills import JudgedEdits, ReviewRow, open_review, review_rows, rows_of, sources_of

JudgeEdits = Callable[[Sequence[ReviewRow]], Coroutine[Any, Any, JudgedEdits]]


async def accept(
    patches: Sequence[Patch],
    records: Sequence[AnalystRecord],
    judge: JudgeEdits,
    seed: Path | None,
) -> tuple[tuple[Patch, ...], Judged]:
    """The patches without the edits that a judge does not accept, and what it said of those.

    Args:
        patches: one a record, as they were proposed.
        records: of the analysts: what the edits are to follow from.
        judge: compares the lines without and with each edit.
        seed: the skill that is deepened, if one is. The edits of it that a person has reviewed are
            judged, too: by them the judge is measured.

    Raises:
        Unreachable: if the judge has a verdict on no edit.
        LimitReached: when the budget is spent.
    """
    sources = sources_of(record.model_dump(mode="json") for record in records)
    edits = [edit for patch in patches for edit in patch.edits]
    rows, reviewed = review_rows(edits, sources), list[ReviewRow]()
    if seed is not None:
        with suppress(BadInput):  # no skill of an evolution, or one that was edited by hand
            reviewed = [row for row in rows_of(seed, *open_review(seed)) if row.verdict]
    judged = await judge([*rows, *reviewed])
    remaining, refused = iter(rows), list[Discarded]()
    accepted: list[Patch] = []
    for patch in patches:
        accepted_edits: list[Edit] = []
        for edit in patch.edits:
            judgement = judged.edits[next(remaining).id]
            if judgement.better in ("with", "neither"):
                accepted_edits.append(edit)
                continue
            verdict = "is worse with it" if judgement.better else "gives no verdict"
            reason = f"the judge: {verdict}: {judgement.reason}"
            update = {"judgement": judgement}
            refused.append(Discarded.of(edit, reason).model_copy(update=update))
        accepted.append(patch.model_copy(update={"edits": tuple(accepted_edits)}))
    invalid = sum(not row.judgement.better for row in refused if row.judgement)
    if invalid and invalid == len(edits):
        raise Unreachable(f"--judge: no verdict on any of {invalid} edits: {refused[0].reason}")
    counts = {"edits": len(edits), "refused": len(refused) - invalid, "invalid": invalid}
    account = Acceptance.model_validate({**judged.model_dump(exclude={"edits"}), **counts})
    return tuple(accepted), Judged(discarded=tuple(refused), acceptance=account)

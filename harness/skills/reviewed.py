"""From decisions to a skill: the approved edits, applied to the parent again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput, Patch
from harness.core.values import Value
from harness.skills.apply import apply_patch
from harness.skills.history import Version, read_version, record_version, version_skill
from harness.skills.provenance import provenance_of
from harness.skills.review import (
    Decision,
    Review,
    ReviewRow,
    Verdict,
    edit_id,
    rows_of,
    write_review,
)
from harness.skills.rollback import install_version
from harness.skills.types import Limits


class Reviewed(Value):
    """What applying a review gave.

    Attributes:
        skill: digest of the skill as it is now.
        approved: ids of the edits in it.
        rejected: the decisions against, with the reviewer's reasons.
        withheld: (id, reason) of approved edits that do not stand without a rejected one.
    """

    skill: str
    approved: tuple[str, ...]
    rejected: tuple[Decision, ...]
    withheld: tuple[tuple[str, str], ...]


def undecided(rows: Sequence[ReviewRow]) -> list[ReviewRow]:
    """The rows that nobody judged yet."""
    return [row for row in rows if not row.verdict]


def decisions(
    rows: Sequence[ReviewRow], names: Sequence[str], verdict: Verdict, reason: str = ""
) -> list[Decision]:
    """The same verdict on several edits.

    Args:
        rows: the edits under review.
        names: ids, numbers from 1, or `all` for every edit that is not judged yet.

    Raises:
        BadInput: if a name fits no edit.
    """
    by_name = {row.id: row for row in rows} | {str(row.number): row for row in rows}
    chosen: list[ReviewRow] = []
    for name in names:
        if name == "all":
            chosen += undecided(rows)
        elif name in by_name:
            chosen.append(by_name[name])
        else:
            known = ", ".join(row.id for row in rows)
            raise BadInput(f"no edit {name!r}: expected 1 to {len(rows)}, all, or one of {known}")
    return [Decision(id=row.id, verdict=verdict, reason=reason) for row in chosen]


def take_decisions(review: Review, given: Review, rows: Sequence[ReviewRow]) -> Review:
    """Add the decisions of a file (such as the report page writes) to a review.

    Raises:
        BadInput: if they judge another version, or an edit that this one does not have.
    """
    if given.skill != review.skill:
        raise BadInput(
            f"these decisions judge version {given.skill[:12]!r}, here is {review.skill[:12]!r}"
        )
    known = {row.id for row in rows}
    foreign = [one.id for one in given.decisions if one.id not in known]
    if foreign:
        raise BadInput(f"decisions on edits that this skill does not have: {', '.join(foreign)}")
    return review.decide(given.decisions)


def apply_review(
    skill_dir: Path, review: Review, version: Version, limits: Limits | None = None
) -> Reviewed:
    """Apply the approved edits to the version's parent and put the result in place.

    The review, the new version, the skill and its provenance are written in this order; the old
    skill stays a version (`harness skill rollback` undoes it).

    Raises:
        BadInput: if an edit is not judged yet, or the parent is missing.
    """
    rows = rows_of(skill_dir, review, version)
    if undecided(rows):
        raise BadInput(f"{len(undecided(rows))} edits are not judged yet")
    parent = read_version(skill_dir, version.parent)
    start = version_skill(skill_dir, parent)
    approved = [row for row in rows if row.verdict == "approved"]
    result = apply_patch(start, Patch(edits=tuple(row.edit for row in approved)), limits)
    if result.rolled_back:
        raise BadInput(f"the approved edits alone give no valid skill: {result.rolled_back}")
    provenance = provenance_of(result, start, parent.provenance)
    if version.provenance is not None and version.provenance.gate:
        # What a gate said holds for the skill that it ran, and for no other.
        same = result.skill.digest == version.digest
        gate = version.provenance.gate if same else "none"
        provenance = provenance.model_copy(update={"gate": gate})
    write_review(skill_dir, review.model_copy(update={"applied": result.skill.digest}))
    made = record_version(
        skill_dir,
        f"reviewed: {len(approved)} of {len(rows)} edits approved",
        provenance,
        parent=start,
        skill=result.skill,
    )
    install_version(skill_dir, made, result.skill)
    lost = {edit_id(edit): reason for edit, reason in result.withheld}
    return Reviewed(
        skill=result.skill.digest,
        approved=tuple(row.id for row in approved if row.id not in lost),
        rejected=tuple(one for one in review.decisions if one.verdict == "rejected"),
        withheld=tuple(lost.items()),
    )

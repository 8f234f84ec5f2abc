"""A person's verdict on every edit of an evolved skill, and the skill that follows from it.

Decisions lie beside the skill as `<skill>.review.json`. An edit is known by a short digest of its
content, so that decisions made on a report page elsewhere fit here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from harness.core import BadInput, Edit, Patch, Usage, Value, digest, render_page
from harness.skills.apply import apply_patch
from harness.skills.history import (
    Version,
    install_version,
    read_log,
    read_version,
    record_version,
    version_skill,
)
from harness.skills.provenance import (
    Source,
    matching,
    provenance_of,
    read_sources,
    read_value,
    write_value,
)
from harness.skills.skill import load_skill
from harness.skills.validate import Limits

ID_LENGTH = 8
FORM = Path(__file__).parent / "templates" / "review.html.j2"
Verdict = Literal["approved", "rejected"]


class Decision(Value):
    """A verdict on one edit; `reason` is the reviewer's, and may be empty."""

    id: str
    verdict: Verdict
    reason: str = ""


class Review(Value):
    """Decisions on the edits of one version.

    Attributes:
        skill: digest of the version whose edits are judged.
        decisions: at most one an edit.
        applied: digest of the skill that came of it, "" as long as nothing was applied.
    """

    skill: str
    decisions: tuple[Decision, ...] = ()
    applied: str = ""

    def decide(self, decisions: Iterable[Decision]) -> Review:
        """With further decisions; a later one on the same edit takes its place."""
        merged = {decision.id: decision for decision in (*self.decisions, *decisions)}
        return self.model_copy(update={"decisions": tuple(merged.values())})


class ReviewRow(Value):
    """One edit as a reviewer sees it.

    Attributes:
        number: position among the edits, from 1.
        verdict: "" as long as nobody decided.
        records: of the analysts, for each trajectory that the edit came from.
    """

    id: str
    number: int
    edit: Edit
    verdict: Literal["", "approved", "rejected"] = ""
    reason: str = ""
    records: tuple[Source, ...] = ()


class EditJudgement(Value):
    """Judgement of an edit: advice to a reviewer; `evolve --judge` acts on it.

    Attributes:
        better: the skill `with` or `without` the edit, `neither`, or "" where there is no verdict.
        reason: of the judge, or why there is no verdict.
        agreement: whether it says the same with the two shown in the other order; None where there
            is no verdict.
        usage: of its calls.
    """

    better: Literal["with", "without", "neither", ""]
    reason: str
    agreement: bool | None
    usage: Usage

    def __str__(self) -> str:
        if not self.better:
            return f"no verdict ({self.reason})"
        orders = "both orders agree" if self.agreement else "the orders disagree"
        better = f"better {self.better} it" if self.better != "neither" else "no difference"
        return f"{better}, {orders}: {self.reason}"


class JudgedEdits(Value):
    """The judgements of a review, by id of the edit, and what is known of the judge's errors.

    Attributes:
        judge: method and model.
        agreed: verdicts that were the same in both orders, of `compared`.
        right: verdicts that a person decided likewise, of `decided`.
        usage: of all calls.
        note: what is known of its errors.
        simulated: whether no real model judged.
    """

    judge: str
    edits: dict[str, EditJudgement]
    agreed: int
    compared: int
    right: int
    decided: int
    usage: Usage
    note: str
    simulated: bool


class Reviewed(Value):
    """The result of applying a review.

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


def edit_id(edit: Edit) -> str:
    """Eight characters that name an edit by its content."""
    return digest(edit.model_dump(mode="json"))[:ID_LENGTH]


def review_rows(
    edits: Sequence[Edit], sources: Sequence[Source] = (), review: Review | None = None
) -> list[ReviewRow]:
    """One row an edit, in the order given.

    Args:
        edits: those that changed the skill.
        sources: analyst records, for the quotes.
        review: decisions made so far.
    """
    judged = {decision.id: decision for decision in review.decisions} if review else {}
    rows: list[ReviewRow] = []
    for number, edit in enumerate(edits, 1):
        name = edit_id(edit)
        row = ReviewRow(id=name, number=number, edit=edit, records=matching(sources, edit.sources))
        if name in judged:
            update = {"verdict": judged[name].verdict, "reason": judged[name].reason}
            row = row.model_copy(update=update)
        rows.append(row)
    return rows


def review_form(rows: Sequence[ReviewRow], skill: str) -> str:
    """The rows as an HTML fragment that works offline: tick, and save a `review.json`.

    Args:
        rows: of :func:`review_rows`.
        skill: digest of the skill that holds the edits.
    """
    return render_page(FORM, rows=rows, skill=skill)


def review_path(skill_dir: Path) -> Path:
    """Return the path of the decisions on a skill, which lie beside it."""
    return skill_dir.parent / f"{skill_dir.name}.review.json"


def read_review(path: Path) -> Review:
    """Read a file of decisions.

    Raises:
        BadInput: if it is missing or of another shape.
    """
    return read_value(path, Review, "is no review")


def write_review(skill_dir: Path, review: Review) -> Path:
    """Write `<skill>.review.json`."""
    return write_value(review_path(skill_dir), review)


def open_review(skill_dir: Path) -> tuple[Review, Version]:
    """The review of what lies in `skill_dir`, and the version that it judges.

    A review that was applied goes on judging the version it started from: a rejected edit can
    still be approved.

    Raises:
        BadInput: if no version with edits was recorded, or the skill was edited by hand since.
    """
    current = load_skill(skill_dir).digest
    if current not in {entry.digest for entry in read_log(skill_dir)}:
        raise BadInput(
            f"{str(skill_dir)!r} is no recorded version (edited by hand, or not evolved here): "
            "see `harness skill versions`, go back with `harness skill rollback`"
        )
    path = review_path(skill_dir)
    review = read_review(path) if path.is_file() else Review(skill=current)
    if current not in (review.skill, review.applied):
        review = Review(skill=current)
    version = read_version(skill_dir, review.skill)
    if not version.edits or not version.parent:
        raise BadInput(f"version {version.digest[:12]} of {str(skill_dir)!r} has no edits to judge")
    return review, version


def rows_of(skill_dir: Path, review: Review, version: Version) -> list[ReviewRow]:
    """The rows of a review, with the analysts' records that lie beside the skill."""
    return review_rows(version.edits, read_sources(skill_dir), review)


def undecided(rows: Sequence[ReviewRow]) -> list[ReviewRow]:
    """The rows that nobody judged yet."""
    return [row for row in rows if not row.verdict]


def decisions(
    rows: Sequence[ReviewRow], names: Sequence[str], verdict: Verdict, reason: str = ""
) -> list[Decision]:
    """Give the same verdict on several edits.

    Args:
        rows: the edits under review.
        names: ids, numbers from 1, or `all` for every edit that is not judged yet.

    Raises:
        BadInput: if a name fits no edit.
    """
    by_name = {row.id: [row] for row in rows} | {str(row.number): [row] for row in rows}
    by_name["all"] = undecided(rows)
    for name in names:
        if name not in by_name:
            ids = ", ".join(row.id for row in rows)
            raise BadInput(f"no edit {name!r}: expected 1 to {len(rows)}, all, or one of {ids}")
    return [
        Decision(id=row.id, verdict=verdict, reason=reason)
        for name in names
        for row in by_name[name]
    ]


def take_decisions(review: Review, further: Review, rows: Sequence[ReviewRow]) -> Review:
    """Add the decisions of a file (such as the report page writes) to a review.

    Raises:
        BadInput: if they judge another version, or an edit that this one does not have.
    """
    if further.skill != review.skill:
        raise BadInput(
            f"these decisions judge version {further.skill[:12]!r}, here is {review.skill[:12]!r}"
        )
    ids = {row.id for row in rows}
    foreign = [decision.id for decision in further.decisions if decision.id not in ids]
    if foreign:
        raise BadInput(f"decisions on edits that this skill does not have: {', '.join(foreign)}")
    return review.decide(further.decisions)


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
    sizes = limits or Limits(scripts=True)  # someone has read what is approved
    result = apply_patch(start, Patch(edits=tuple(row.edit for row in approved)), sizes)
    if result.rolled_back:
        raise BadInput(f"the approved edits alone give no valid skill: {result.rolled_back}")
    provenance = provenance_of(result, start, parent.provenance)
    if version.provenance is not None and version.provenance.gate:
        # A gate's verdict holds for the skill that it ran, and for no other.
        same = result.skill.digest == version.digest
        gate = version.provenance.gate if same else "none"
        reason = version.provenance.gate_said if same else ""
        provenance = provenance.model_copy(update={"gate": gate, "gate_said": reason})
    write_review(skill_dir, review.model_copy(update={"applied": result.skill.digest}))
    new_version = record_version(
        skill_dir,
        f"reviewed: {len(approved)} of {len(rows)} edits approved",
        provenance,
        parent=start,
        skill=result.skill,
    )
    install_version(skill_dir, new_version, result.skill)
    lost = {edit_id(edit): reason for edit, reason in result.withheld}
    return Reviewed(
        skill=result.skill.digest,
        approved=tuple(row.id for row in approved if row.id not in lost),
        rejected=tuple(row for row in review.decisions if row.verdict == "rejected"),
        withheld=tuple(lost.items()),
    )

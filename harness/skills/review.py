"""A person's verdict on every edit of an evolved skill, and the skill that follows from it.

Decisions lie beside the skill as `<skill>.review.json`. An edit is known by a short digest of its
content, so that decisions made on a report page elsewhere fit here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from harness.core import BadInput, Edit, digest, write_atomic
from harness.core.pages import render_page
from harness.core.values import Value
from harness.skills.history import Version, read_log, read_version
from harness.skills.io import load_skill
from harness.skills.sources import Source, matching, read_sources, sources_of

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

    def of(self, edit_id: str) -> Decision | None:
        """The decision on an edit, None if there is none yet."""
        return next((one for one in self.decisions if one.id == edit_id), None)

    def decide(self, made: Iterable[Decision]) -> Review:
        """With further decisions; a later one on the same edit takes its place."""
        merged = {one.id: one for one in (*self.decisions, *made)}
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


def edit_id(edit: Edit) -> str:
    """Eight characters that name an edit by its content."""
    return digest(edit.model_dump(mode="json"))[:ID_LENGTH]


def review_rows(
    edits: Sequence[Edit],
    records: Iterable[Mapping[str, Any] | Source] = (),
    review: Review | None = None,
) -> list[ReviewRow]:
    """One row an edit, in the order given.

    Args:
        edits: those that changed the skill.
        records: analyst records as JSON (or sources), for the quotes.
        review: decisions made so far.
    """
    given = list(records)
    sources = [one for one in given if isinstance(one, Source)]
    sources += sources_of(one for one in given if not isinstance(one, Source))
    rows: list[ReviewRow] = []
    for number, edit in enumerate(edits, 1):
        made = review.of(edit_id(edit)) if review else None
        rows.append(
            ReviewRow(
                id=edit_id(edit),
                number=number,
                edit=edit,
                verdict=made.verdict if made else "",
                reason=made.reason if made else "",
                records=matching(sources, edit.sources),
            )
        )
    return rows


def review_path(skill_dir: Path) -> Path:
    """Where the decisions on a skill lie: beside it."""
    return skill_dir.parent / f"{skill_dir.name}.review.json"


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
    review = read_review(review_path(skill_dir)) if review_path(skill_dir).is_file() else None
    if review is None or current not in (review.skill, review.applied):
        review = Review(skill=current)
    version = read_version(skill_dir, review.skill)
    if not version.edits or not version.parent:
        raise BadInput(f"version {version.digest[:12]} of {str(skill_dir)!r} has no edits to judge")
    return review, version


def rows_of(skill_dir: Path, review: Review, version: Version) -> list[ReviewRow]:
    """The rows of a review, with the analysts' records that lie beside the skill."""
    return review_rows(version.edits, read_sources(skill_dir), review)


def read_review(path: Path) -> Review:
    """Read a file of decisions.

    Raises:
        BadInput: if it is missing or of another shape.
    """
    try:
        return Review.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(f"{str(path)!r} is no review: {_why(error)}") from error


def write_review(skill_dir: Path, review: Review) -> Path:
    """Write `<skill>.review.json`."""
    path = review_path(skill_dir)
    plain = review.model_dump(mode="json")
    write_atomic(path, json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    return path


def _why(error: OSError | ValidationError) -> str:
    return error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error.strerror)


def review_form(rows: Sequence[ReviewRow], skill: str) -> str:
    """The rows as an HTML fragment that works offline: tick, and save a `review.json`.

    Args:
        rows: of :func:`review_rows`.
        skill: digest of the skill that holds the edits.
    """
    return render_page(FORM, rows=rows, skill=skill)

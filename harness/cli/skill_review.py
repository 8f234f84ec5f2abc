"""`harness skill review`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.shared import emit, json_option
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from harness.skills import Decision, Review, Reviewed, ReviewRow, Version

ANSWERS = ["y", "n", "skip", "all", "quit"]


@click.command("review")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--list", "only_list", is_flag=True, help="Show the edits; decide nothing.")
@click.option("--approve", multiple=True, metavar="ID", help="ID, number, or all that are left.")
@click.option("--reject", multiple=True, metavar="ID", help="ID, number, or all that are left.")
@click.option("--reason", default="", help="Why the edits of --reject are rejected.")
@click.option(
    "--decisions",
    type=click.Path(path_type=Path),
    help="A review.json, as the report page of an evolution saves it.",
)
@json_option
def review_skill(
    folder: Path,
    only_list: bool,
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    reason: str,
    decisions: Path | None,
    as_json: bool,
) -> None:
    """Approve or reject the edits of an evolved skill, one by one.

    Decisions are kept beside the skill; once every edit is judged, the approved ones are applied
    to the skill as it was before them. `harness skill rollback` undoes it.

    Example: harness skill review evolved/skill/spreadsheet-basics --reject 3 --approve all
    """
    from harness.skills import open_review, rows_of, undecided, write_review

    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    given = bool(approve or reject or decisions)
    if only_list or (as_json and not given):
        _show(review, rows, None, as_json)
        return
    if given:
        review = _given(review, rows, approve, reject, reason, decisions)
    else:
        review = review.decide(_ask(rows))
    rows = rows_of(folder, review, version)
    if undecided(rows):
        write_review(folder, review)
        _show(review, rows, None, as_json)
        return
    _show(review, rows, _apply(folder, review, version), as_json)


def _given(
    review: Review,
    rows: list[ReviewRow],
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    reason: str,
    path: Path | None,
) -> Review:
    from harness.skills import decisions, read_review, review_rows, take_decisions

    if "all" in approve and "all" in reject:
        raise BadInput("expected `all` for --approve or for --reject, found both")
    if path is not None:
        review = take_decisions(review, read_review(path), rows)
    edits = [row.edit for row in rows]
    named = [one for one in approve if one != "all"], [one for one in reject if one != "all"]
    review = review.decide(decisions(rows, named[0], "approved"))
    review = review.decide(decisions(rows, named[1], "rejected", reason))
    left = review_rows(edits, (), review)
    if "all" in approve:
        review = review.decide(decisions(left, ["all"], "approved"))
    if "all" in reject:
        review = review.decide(decisions(left, ["all"], "rejected", reason))
    return review


def _apply(folder: Path, review: Review, version: Version) -> Reviewed:
    from harness.skills import apply_review

    return apply_review(folder, review, version)


def _ask(rows: list[ReviewRow]) -> list[Decision]:
    """Ask for each edit that is not judged yet; `all` approves the rest."""
    from harness.skills import Decision

    made: list[Decision] = []
    left = [row for row in rows if not row.verdict]
    for position, row in enumerate(left):
        click.echo(f"\n{_row(row)}\n")
        answer = click.prompt(
            "keep this edit?", type=click.Choice(ANSWERS), default="skip", show_default=True
        )
        if answer == "quit":
            break
        if answer == "all":
            made += [Decision(id=one.id, verdict="approved") for one in left[position:]]
            break
        if answer == "y":
            made.append(Decision(id=row.id, verdict="approved"))
        elif answer == "n":
            reason = click.prompt("why (may be empty)", default="", show_default=False)
            made.append(Decision(id=row.id, verdict="rejected", reason=reason))
    return made


def _show(review: Review, rows: list[ReviewRow], done: Reviewed | None, as_json: bool) -> None:
    left = [row.id for row in rows if not row.verdict]
    result = {
        "review": review.model_dump(mode="json"),
        "edits": [row.model_dump(mode="json") for row in rows],
        "undecided": left,
        "applied": done.model_dump(mode="json") if done else None,
    }
    if done is None:
        tail = [f"{len(left)} of {len(rows)} edits are not judged yet: nothing was applied"]
    else:
        tail = [f"rejected {one.id}: {one.reason or 'no reason given'}" for one in done.rejected]
        tail += [f"withheld {name}: {why}" for name, why in done.withheld]
        tail.append(f"{len(done.approved)} of {len(rows)} edits are in {done.skill[:12]} now")
    head = [] if done else [_row(row) + "\n" for row in rows]
    emit(result, as_json, "\n".join([*head, *tail]))


def _row(row: ReviewRow) -> str:
    edit = row.edit
    place = f"{edit.file} {edit.target_section}".strip()
    lines = [f"[{row.number}] {row.id}  {row.verdict or 'not judged'}  {edit.op} {place}"]
    lines += [f"  - {line}" for line in edit.old_text.splitlines()]
    lines += [f"  + {line}" for line in edit.content.splitlines()]
    tasks = "task" if edit.support == 1 else "tasks"
    lines.append(f"  support {edit.support} {tasks}, from {', '.join(edit.sources) or 'no source'}")
    shown = [one for one in row.records if one.summary or one.quotes]
    lines += [f"    {line}" for one in shown for line in str(one).splitlines()]
    return "\n".join(lines)

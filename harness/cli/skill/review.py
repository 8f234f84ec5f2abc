"""`harness skill review`."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.commands import (
    dollars,
    echo,
    emit,
    folder_argument,
    json_option,
    path_type,
    shared_option,
)
from harness.core.errors import BadInput

if TYPE_CHECKING:
    from harness.core import Edit
    from harness.skills import Decision, JudgedEdits, Review, Reviewed, ReviewRow

ANSWERS = ["y", "n", "skip", "all", "quit"]
SHOWN_SOURCES = 8
"""Runs that are named of an edit; --json has all."""


@click.command("review")
@folder_argument
@click.option("--list", "only_list", is_flag=True, help="Show the edits; decide nothing.")
@click.option("--approve", multiple=True, metavar="ID", help="ID, number, or all that are left.")
@click.option("--reject", multiple=True, metavar="ID", help="ID, number, or all that are left.")
@click.option("--reason", default="", help="Why the edits of --reject are rejected.")
@click.option(
    "--decisions",
    type=path_type,
    help="A review.json, as the report page of an evolution saves it.",
)
@click.option(
    "--judge",
    "spec",
    metavar="SPEC",
    help="Also show what this model says of each edit, in both orders, and how far to trust it.",
)
@shared_option("--base-url", help="Endpoint of --judge.")
@click.option("--budget-calls", type=click.IntRange(min=1), help="Of --judge: no more calls.")
@json_option
def review_skill(
    folder: Path,
    only_list: bool,
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    reason: str,
    decisions: Path | None,
    spec: str | None,
    base_url: str | None,
    budget_calls: int | None,
    as_json: bool,
) -> None:
    """Approve or reject the edits of an evolved skill, one by one.

    Decisions are kept beside the skill; once every edit is judged, the approved ones are applied
    to the skill as it was before them. `harness skill rollback` undoes it. A judge decides nothing.

    Example: harness skill review evolved/skill/spreadsheet-basics --reject 3 --approve all
    """
    from harness.skills import (
        apply_review,
        open_review,
        read_review,
        review_rows,
        rows_of,
        take_decisions,
        undecided,
        write_review,
    )
    from harness.skills import (
        decisions as decide,
    )

    review, version = open_review(folder)
    rows = rows_of(folder, review, version)
    judged = _judged(folder, rows, spec, base_url, budget_calls)
    decided = bool(approve or reject or decisions)
    if only_list or (as_json and not decided):
        _show(review, rows, None, as_json, judged)
        return
    if decided:
        if "all" in approve and "all" in reject:
            raise BadInput("expected `all` for --approve or for --reject, found both")
        if decisions is not None:
            review = take_decisions(review, read_review(decisions), rows)
        edits = [row.edit for row in rows]
        approved, rejected = (
            [name for name in names if name != "all"] for names in (approve, reject)
        )
        review = review.decide(decide(rows, approved, "approved"))
        review = review.decide(decide(rows, rejected, "rejected", reason))
        remaining = review_rows(edits, (), review)
        if "all" in approve:
            review = review.decide(decide(remaining, ["all"], "approved"))
        if "all" in reject:
            review = review.decide(decide(remaining, ["all"], "rejected", reason))
    else:
        review = review.decide(_ask(rows, judged))
    rows = rows_of(folder, review, version)
    if undecided(rows):
        write_review(folder, review)
        _show(review, rows, None, as_json, judged)
    else:
        _show(review, rows, apply_review(folder, review, version), as_json, judged)


def _judged(
    folder: Path, rows: list[ReviewRow], spec: str | None, base_url: str | None, calls: int | None
) -> JudgedEdits | None:
    """The judge's advice, of the wing that registers in `harness.reviewers`; None unless asked."""
    if spec is None:
        return None
    from harness.core import loops
    from harness.core.plugins import load
    from harness.models import Budget, CallStore, open_model

    judge_edits = load("reviewers", "judge")

    async def judged() -> JudgedEdits:
        with CallStore(folder.parent / f"{folder.name}.judge.sqlite") as store:
            model = open_model(
                spec, base_url=base_url, calls=store, budget=Budget(calls=calls), role="judge"
            )
            async with aclosing(model):
                return await judge_edits(rows, model)

    return loops.run(judged())


def _ask(rows: list[ReviewRow], judged: JudgedEdits | None) -> list[Decision]:
    """Ask for each edit that is not judged yet; `all` approves the rest."""
    from harness.skills import Decision

    answers: list[Decision] = []
    pending = [row for row in rows if not row.verdict]
    for position, row in enumerate(pending):
        echo(f"\n{_row(row, judged)}\n")
        answer = click.prompt(
            "keep this edit?", type=click.Choice(ANSWERS), default="skip", show_default=True
        )
        if answer == "quit":
            break
        if answer == "all":
            answers += [Decision(id=row.id, verdict="approved") for row in pending[position:]]
            break
        if answer == "y":
            answers.append(Decision(id=row.id, verdict="approved"))
        elif answer == "n":
            reason = click.prompt("why (may be empty)", default="", show_default=False)
            answers.append(Decision(id=row.id, verdict="rejected", reason=reason))
    return answers


def _show(
    review: Review,
    rows: list[ReviewRow],
    applied: Reviewed | None,
    as_json: bool,
    judged: JudgedEdits | None,
) -> None:
    total, pending = len(rows), [row.id for row in rows if not row.verdict]
    result = {
        "review": review.model_dump(mode="json"),
        "edits": [row.model_dump(mode="json") for row in rows],
        "undecided": pending,
        "applied": applied.model_dump(mode="json") if applied else None,
        "judge": judged.model_dump(mode="json") if judged else None,
    }
    if applied is None:
        lines = [_row(row, judged) + "\n" for row in rows]
        if judged is not None:
            used = judged.usage
            lines.append(
                f"judge {judged.judge}: {judged.note}; both orders agree in {judged.agreed} of "
                f"{judged.compared}; {used.tokens:,} tokens, {dollars(used.cost_usd)} "
                "('first': without the edit)"
            )
        lines.append(f"{len(pending)} of {total} edits are not judged yet: nothing was applied")
    else:
        lines = [
            f"rejected {edit.id}: {edit.reason or 'no reason given'}" for edit in applied.rejected
        ]
        lines += [f"withheld {name}: {why}" for name, why in applied.withheld]
        lines.append(f"{len(applied.approved)} of {total} edits are in {applied.skill[:12]} now")
    emit(result, as_json, "\n".join(lines))


def origin_text(edit: Edit) -> str:
    """Summarise the evidence for an edit: the number of tasks, and the first of its runs."""
    more = len(edit.sources) - SHOWN_SOURCES
    runs = ", ".join(edit.sources[:SHOWN_SOURCES]) or "no source"
    further = f" and {more} more" if more > 0 else ""
    return f"support {edit.support} task{'s'[: edit.support != 1]}, from {runs}{further}"


def _row(row: ReviewRow, judged: JudgedEdits | None) -> str:
    edit = row.edit
    target = f"{edit.file} {edit.target_section}".strip()
    lines = [f"[{row.number}] {row.id}  {row.verdict or 'not judged'}  {edit.op} {target}"]
    lines += [f"  - {line}" for line in edit.old_text.splitlines()]
    lines += [f"  + {line}" for line in edit.content.splitlines()]
    lines.append(f"  {origin_text(edit)}")
    if judged is not None:
        lines.append(f"  judge: {judged.edits[row.id]}")
    records = [record for record in row.records if record.summary or record.quotes]
    lines += [f"    {line}" for record in records for line in str(record).splitlines()]
    return "\n".join(lines)

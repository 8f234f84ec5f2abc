"""Check a ladder again: no model, only the skill, the tasks and the records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.core import BadInput, command_line
from harness.receipts.ladder.no_model import (
    matcher_of,
    replies_differ_from_code,
    replies_without_model,
)
from harness.receipts.ladder.records import (
    NO_MODEL,
    LadderHeader,
    LadderRecords,
    RungName,
    read_ladder,
    rows_of,
)
from harness.receipts.ladder.report import ladder_of, ladder_page
from harness.receipts.ladder.rungs import body_tokens, placebo, prose_of
from harness.receipts.records import genuine_run, replies_differ
from harness.receipts.verify import (
    Verified,
    files_differ,
    measured_files,
    measured_suite,
    rescore,
    scope_of,
    tasks_differ,
    unreadable,
    verify,
)
from harness.skills import (
    LADDER,
    LADDER_PAGE,
    LADDER_RECORDS,
    RECEIPT,
    Skill,
    beside,
    load_skill,
)


def verify_measured(
    skill: Path, *, suite: str | None = None, tasks: bool = True, run: Path | None = None
) -> Verified:
    """Check what lies beside a skill directory: the receipt of an audit, a ladder, or both.

    Args:
        skill: skill directory.
        suite: where the tasks are now.
        tasks: whether to compare the tasks.
        run: the folder of one of them, which alone is then checked.

    Raises:
        BadInput: as :func:`verify_ladder` and :func:`harness.receipts.verify`.
    """
    if skill.is_file():
        install = command_line("skill", "install", skill, "--into", ".")
        raise BadInput(f"{str(skill)!r} is an archive: `{install}`, and verify what that writes")
    of_ladder = run is not None and (run / LADDER).is_file()
    ladder = of_ladder or (run is None and beside(skill, LADDER).is_file())
    receipt = not of_ladder and (not ladder or beside(skill, RECEIPT).is_file())
    verified: list[Verified] = []
    if receipt:
        verified.append(verify(skill, suite=suite, tasks=tasks, run=run))
    if ladder:
        verified.append(verify_ladder(skill, suite=suite, tasks=tasks, run=run))
    first, *more = verified
    if not more:
        return first
    return first.model_copy(
        update={
            "valid": all(row.valid for row in verified),
            "differs": tuple(line for row in verified for line in row.differs),
            "rollouts": sum(row.rollouts for row in verified),
            "rescored": sum(row.rescored for row in verified),
        }
    )


def verify_ladder(
    skill: Path, *, suite: str | None = None, tasks: bool = True, run: Path | None = None
) -> Verified:
    """Compute the ladder of a skill directory again, and compare.

    Args:
        skill: skill directory; its ladder lies beside it.
        suite: where the tasks are now, if not where the ladder says.
        tasks: whether to compare the tasks.
        run: the folder of the ladder: its own receipt is checked, with the runs of its rungs.

    Raises:
        BadInput: if there is no ladder, or the skill or the suite cannot be read.
    """
    paths = [
        run / name if run else beside(skill, name) for name in (LADDER, LADDER_RECORDS, LADDER_PAGE)
    ]
    scope = scope_of(run)
    if not paths[0].is_file():
        ladder = command_line("skill", "ladder", skill, "--suite", "SUITE")
        raise BadInput(f"no ladder at {str(paths[0])!r}: `{ladder}` writes one")
    value = load_skill(skill)
    try:
        records = read_ladder(paths[1])
    except BadInput as error:
        return unreadable(error, scope)
    header = records.header
    value, differs = measured_files(value, header)
    if not differs:
        differs += rungs_differ(header, value)
    differs += attempts_differ(records)
    rescored = 0
    if tasks:
        loaded = measured_suite(suite or header.suite, header.split)
        differs += tasks_differ(loaded, header)
        wrong, rescored = rescore(loaded, records.rows)
        differs += wrong
        if any(rung.name == NO_MODEL for rung in header.rungs):
            train = measured_suite(suite or header.suite, "train")
            replies = replies_without_model(matcher_of(value, train.tasks), loaded.tasks)
            differs += replies_differ_from_code(records.rows, replies)
    if run is not None:
        differs += runs_differ(run, records)
    ladder = ladder_of(records)
    differs += files_differ("ladder", paths[0], paths[2], ladder.text, ladder_page(ladder))
    return Verified(
        valid=not differs,
        scope=scope,
        differs=tuple(differs),
        rollouts=len(records.rows),
        rescored=rescored,
        tasks=tasks,
    )


def rungs_differ(header: LadderHeader, skill: Skill) -> Iterator[str]:
    """Texts of rungs that are not what they are called."""
    if skill.digest != header.skill:
        yield "records: the digest of the skill does not fit those of its files"
    digests = {"skill": skill.digest, "repeat": skill.digest, "prose": prose_of(skill).digest}
    for rung in header.rungs:
        if rung.body and body_tokens(rung.body) != rung.tokens:
            yield f"records: the text of rung {rung.name} has other than {rung.tokens} tokens"
        if rung.name == "placebo" and rung.body != placebo(rung.target or 0).strip():
            yield f"records: the text of rung {rung.name} is another one"
        if rung.name in digests and rung.skill != digests[rung.name]:
            yield f"records: rung {rung.name} ran another skill"


def attempts_differ(records: LadderRecords) -> Iterator[str]:
    """Attempts that are missing, or that no rung should have made."""
    header = records.header
    names = [rung.name for rung in header.rungs if rung.run == rung.name]
    expected = {
        (name, task if epoch == 0 else f"{task}@{epoch}")
        for name in names
        for epoch in range(header.epochs)
        for task, _ in header.tasks
    }
    present = [(row.rung, row.id) for row in records.rows]
    wrong = sorted(expected.symmetric_difference(present))
    if wrong or len(present) != len(expected):
        name, id_ = wrong[0] if wrong else present[0]
        yield f"records: not one attempt {id_} of rung {name}"


def runs_differ(folder: Path, records: LadderRecords) -> Iterator[str]:
    """List differences between records and the rungs' run folders; one a kind and rung at most."""
    names: list[RungName] = [rung.name for rung in records.header.rungs]
    for name in names:
        if not any(row.rung == name for row in records.rows):
            continue
        contents = genuine_run(folder / name)
        rows = [row for row in records.rows if row.rung == name]
        ids = [row.id for row in rows]
        if missing := [id_ for id_ in ids if id_ not in contents.items]:
            yield f"run: attempt {missing[0]} of rung {name} is not in it"
            continue
        for row, now in zip(rows, rows_of(name, ids, contents), strict=True):
            if row != now:
                yield f"run: attempt {row.id} of rung {name} is another one there"
                break
        yield from replies_differ(contents, rows)

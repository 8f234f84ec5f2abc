"""Check a receipt again: no model, only the skill, the tasks and the records beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from harness.core import BadInput, Value, command_line, digest, read_foreign
from harness.evals import LoadedSuite, Split, column_of, load_suite
from harness.receipts.plan import design
from harness.receipts.receipt import UnitReceipt, card, receipt_of
from harness.receipts.records import (
    Attempted,
    Conditions,
    Records,
    read_records,
    run_differs,
    task_digests,
    task_groups,
)
from harness.receipts.units import cut
from harness.skills import (
    CARD,
    CODEX_FILE,
    RECEIPT,
    RECORDS,
    Skill,
    as_measured,
    beside,
    load_skill,
)
from harness.tasks import COMPARISONS, family

Scope = Literal[
    "consistency only: answers not verified",
    "answers compared with the recorded replies of the run",
]


class Verified(Value):
    """Findings of a check.

    Attributes:
        valid: whether nothing differs.
        scope: what was checked. Without the run, records that someone wrote and that fit one
            another are valid, too.
        differs: what does, one sentence each.
        rollouts: rollouts in the records.
        rescored: rollouts whose recorded answer was judged again.
        tasks: whether the tasks were at hand and compared.
        units: effects of the receipt's units, as they were computed again.
    """

    valid: bool
    scope: Scope
    differs: tuple[str, ...]
    rollouts: int
    rescored: int
    tasks: bool
    units: tuple[UnitReceipt, ...] = ()


def verify(
    skill: Path, *, suite: str | None = None, tasks: bool = True, run: Path | None = None
) -> Verified:
    """Compute the receipt beside a skill directory again, and compare.

    Args:
        skill: skill directory; its receipt and records lie beside it.
        suite: where the tasks are now, if not where the receipt says.
        tasks: whether to compare the tasks; without them the rest can be checked.
        run: the run folder of the audit, where it is at hand: its items and recorded calls are
            held against the records.

    Raises:
        BadInput: if there is no receipt, or the skill or the suite cannot be read.
    """
    path = beside(skill, RECEIPT)
    if not path.is_file():
        audit = command_line("skill", "audit", skill, "--suite", "SUITE")
        raise BadInput(f"no receipt at {str(path)!r}: `{audit}` writes one")
    value = load_skill(skill)
    scope = scope_of(run)
    try:
        records = read_records(beside(skill, RECORDS))
    except BadInput as error:
        return unreadable(error, scope)
    header = records.header
    value, differs = measured_files(value, header)
    if not differs and value.digest != header.skill:
        differs.append("records: the digest of the skill does not fit those of its files")
    differs += _rows_differ(records)
    rescored, units = 0, tuple[UnitReceipt, ...]()
    if tasks:
        loaded = measured_suite(suite or header.suite, header.split)
        differs += tasks_differ(loaded, header)
        wrong, rescored = rescore(loaded, records.rows)
        differs += wrong
        columns = {task.id: task.columns for task in loaded.tasks}
        columns = {task: columns[task] for task in header.by_values if task in columns}
        if not differs and columns and column_of(columns, header.by) != header.by_values:
            differs.append(f"groups: tasks have other values of {header.by!r} than the records say")
    parsed = cut(value)
    if run is not None:
        differs += run_differs(run, records, parsed)
    if len(parsed.units) != header.plan.units:
        differs.append(
            f"skill: it has {len(parsed.units)} units now, the records know {header.plan.units}"
        )
    else:
        try:
            computed = receipt_of(records, parsed)
        except BadInput as error:
            differs.append(f"records: {error}")
        else:
            units = computed.units
            differs += files_differ(
                "receipt", path, beside(skill, CARD), computed.text, card(computed)
            )
    return Verified(
        valid=not differs,
        scope=scope,
        differs=tuple(differs),
        rollouts=len(records.rows),
        rescored=rescored,
        tasks=tasks,
        units=units,
    )


def measured_suite(suite: str, split: Split | None) -> LoadedSuite:
    """Load the tasks that a receipt was measured on; of files only digests are made.

    Raises:
        BadInput: if they cannot be read; the message says how to do without.
    """
    try:
        return load_suite(suite, split, trusted=True)
    except BadInput as error:
        raise BadInput(
            f"{error}; --suite names where the tasks are now, --without-tasks checks the rest"
        ) from error


def scope_of(run: Path | None) -> Scope:
    """Describe what a check with that run folder, or with none, shows."""
    if run is None:
        return "consistency only: answers not verified"
    return "answers compared with the recorded replies of the run"


def unreadable(error: BadInput, scope: Scope) -> Verified:
    """The end of a check whose records cannot be read."""
    return Verified(
        valid=False, scope=scope, differs=(f"records: {error}",), rollouts=0, rescored=0,
        tasks=False,
    )  # fmt: skip


def measured_files(skill: Skill, header: Conditions) -> tuple[Skill, list[str]]:
    """The skill as it was measured, and which of its files are not as they were."""
    if CODEX_FILE not in header.files:
        skill = as_measured(skill)
    now = {path: digest(data) for path, data in skill.all_files.items()}
    return skill, [*changes("skill", header.files, now)]


def changes(kind: str, expected: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """List what has changed, by the digests of then and now."""
    for name in sorted(expected.keys() | now.keys()):
        if name not in now:
            yield f"{kind}: {name} is gone"
        elif name not in expected:
            yield f"{kind}: {name} was added"
        elif now[name] != expected[name]:
            yield f"{kind}: {name} was changed (now {now[name][:12]}, was {expected[name][:12]})"


def _rows_differ(records: Records) -> Iterator[str]:
    """Rows that are not those of the design that the header names."""
    header = records.header
    ids = tuple(task for task, _ in header.tasks)
    planned = design(ids, header.plan.units, header.plan.pairs, header.seed)
    if len(records.rows) not in header.plan.looks:
        yield (
            f"records: {len(records.rows)} rollouts, "
            f"expected {', '.join(map(str, header.plan.looks))}"
        )
    for row, rollout in zip(records.rows, planned, strict=False):
        if (row.id, row.task) != (rollout.id, rollout.task) or row.present != rollout.units:
            yield f"records: rollout {row.id} is not the one that the design has there"
            return


def tasks_differ(suite: LoadedSuite, header: Conditions) -> list[str]:
    """Tasks of the audit that are not as they were; the suite may have more by now."""
    expected = dict(header.tasks)
    present = {task.id: task for task in suite.tasks if task.id in expected}
    differs = [*changes("tasks", expected, dict(task_digests([*present.values()])))]
    if task_groups([*present.values()]) != header.groups:
        differs.append("groups: the suite names others than the records have: intervals differ")
    part = tuple(present[task] for task in expected if task in present)
    if not differs and suite.model_copy(update={"tasks": part}).digest != header.suite_digest:
        differs.append("tasks: the suite's settings or the files of its tasks were changed")
    return differs


def rescore(suite: LoadedSuite, attempts: Sequence[Attempted]) -> tuple[list[str], int]:
    """Judge recorded answers again where the answer alone decides."""
    tasks = {
        task.id: task
        for task in suite.tasks
        if not task.files and (task.check is None or task.check in COMPARISONS)
    }
    rows = [row for row in attempts if row.task in tasks and row.outcome != "invalid"]
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:  # one for all: these tasks leave no files in it
        for row in rows:
            task = tasks[row.task]
            score = family(task).score(task, suite.base, Path(folder), row.answer)
            if score.outcome != row.outcome:
                wrong.append(
                    f"records: rollout {row.id} is a {row.outcome}, its answer a {score.outcome}"
                )
    return wrong[:3], len(rows)


def files_differ(name: str, path: Path, page: Path, text: str, html: str) -> Iterator[str]:
    """List what of a receipt, and of the page that shows it, is not as it was computed.

    Args:
        name: of the receipt, for the sentences.
        path: of its file; `text` is what it should hold.
        page: that shows it; `html` is what it should hold.
    """
    raw, expected = read_foreign(path), dict(_leaves(json.loads(text)))
    if raw != text.encode():
        difference = "written in another way than it was"
        try:
            written = dict(_leaves(json.loads(raw)))
        except (ValueError, RecursionError):  # nested too deep for any reader
            written, difference = expected, "it is no JSON"
        for key in expected | written:
            if key not in written or key not in expected:
                difference = f"{key} stands in one only"
                break
            if written[key] != expected[key]:
                difference = f"{key} is {written[key]!r}, computed {expected[key]!r}"
                break
        yield f"{name}: {difference} (in {path.name})"
    if not page.is_file():
        yield f"card: {page.name} is gone"
    elif read_foreign(page) != html.encode():
        yield f"card: {page.name} does not show this {name}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values in a JSON document that hold no others, by their place."""
    if value and isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, f"{path}.{key}".lstrip("."))
    elif value and isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, f"{path}[{number}]")
    else:
        yield path, value

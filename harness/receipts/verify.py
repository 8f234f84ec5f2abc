"""Check a receipt again: no model, only the skill, the tasks and the records beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Value, digest
from harness.evals import LoadedSuite, load_suite
from harness.receipts.audit import task_digests
from harness.receipts.compute import receipt_of
from harness.receipts.plan import design
from harness.receipts.receipt import card
from harness.receipts.records import Records, read_records, run_differs
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


class Verified(Value):
    """What a check found.

    Attributes:
        valid: whether nothing differs.
        differs: what does, one sentence each.
        rollouts: rollouts in the records.
        rescored: rollouts whose recorded answer was judged again.
        tasks: whether the tasks were at hand and compared.
    """

    valid: bool
    differs: tuple[str, ...]
    rollouts: int
    rescored: int
    tasks: bool


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
        raise BadInput(f"no receipt at {str(path)!r}: `harness skill audit` writes one")
    value = load_skill(skill)
    try:
        records = read_records(beside(skill, RECORDS))
    except BadInput as error:
        return Verified(
            valid=False, differs=(f"records: {error}",), rollouts=0, rescored=0, tasks=False
        )
    if CODEX_FILE not in records.header.files:
        value = as_measured(value)
    differs = [*_skill_differs(value, records), *_rows_differ(records)]
    rescored = 0
    if tasks:
        loaded = load_suite(suite or records.header.suite, records.header.split)
        differs += _tasks_differ(loaded, records)
        wrong, rescored = _rescore(loaded, records)
        differs += wrong
    if run is not None:
        differs += run_differs(run, records, cut(value))
    differs += _receipt_differs(skill, value, records)
    return Verified(
        valid=not differs,
        differs=tuple(differs),
        rollouts=len(records.rows),
        rescored=rescored,
        tasks=tasks,
    )


def _skill_differs(skill: Skill, records: Records) -> Iterator[str]:
    expected = records.header.files
    now = {path: digest(data) for path, data in skill.all_files.items()}
    for path in sorted(expected.keys() | now.keys()):
        if path not in now:
            yield f"skill: {path} is gone"
        elif path not in expected:
            yield f"skill: {path} was added"
        elif now[path] != expected[path]:
            yield f"skill: {path} was changed (now {now[path][:12]}, was {expected[path][:12]})"
    if now == expected and skill.digest != records.header.skill:
        yield "records: the digest of the skill does not fit those of its files"


def _rows_differ(records: Records) -> Iterator[str]:
    """Rows that are not those of the design that the header names."""
    header = records.header
    ids = tuple(task for task, _ in header.tasks)
    planned = design(ids, header.plan.units, header.plan.pairs, header.seed)
    if len(records.rows) not in header.plan.looks:
        looks = ", ".join(map(str, header.plan.looks))
        yield f"records: {len(records.rows)} rollouts, expected {looks}"
    for row, rollout in zip(records.rows, planned, strict=False):
        if (row.id, row.task) != (rollout.id, rollout.task) or row.present != rollout.units:
            yield f"records: rollout {row.id} is not the one that the design has there"
            return


def _tasks_differ(suite: LoadedSuite, records: Records) -> Iterator[str]:
    now, expected = dict(task_digests(suite.tasks)), dict(records.header.tasks)
    for task in expected:
        if task not in now:
            yield f"tasks: {task} is gone"
        elif now[task] != expected[task]:
            yield f"tasks: {task} was changed"
    chosen = {task.id: task for task in suite.tasks}
    part = tuple(chosen[task] for task in expected if task in chosen)
    if suite.model_copy(update={"tasks": part}).digest != records.header.suite_digest and all(
        now.get(task) == expected[task] for task in expected
    ):
        yield "tasks: the suite's settings or the files of its tasks were changed"


def _rescore(suite: LoadedSuite, records: Records) -> tuple[list[str], int]:
    """Judge recorded answers again where the answer alone decides."""
    tasks = {
        task.id: task
        for task in suite.tasks
        if not task.files and (task.check is None or task.check in COMPARISONS)
    }
    wrong: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in records.rows:
            task = tasks.get(row.task)
            if task is None or row.outcome == "invalid":
                continue
            score = family(task).score(task, suite.base, Path(folder), row.answer)
            count += 1
            if score.outcome != row.outcome:
                wrong.append(
                    f"records: rollout {row.id} is a {row.outcome}, its answer a {score.outcome}"
                )
    return wrong[:3], count


def _receipt_differs(folder: Path, skill: Skill, records: Records) -> Iterator[str]:
    parsed = cut(skill)
    if len(parsed.units) != records.header.plan.units:
        count = records.header.plan.units
        yield f"skill: it has {len(parsed.units)} units now, the records know {count}"
        return
    try:
        computed = receipt_of(records, parsed)
    except BadInput as error:
        yield f"records: {error}"
        return
    path = beside(folder, RECEIPT)
    raw = path.read_bytes()
    if raw != computed.text.encode():
        try:
            difference = _differs(json.loads(raw), json.loads(computed.text), "")
        except ValueError:
            difference = "it is no JSON"
        yield f"receipt: {difference or 'written in another way than it was'} (in {path.name})"
    page = beside(folder, CARD)
    if page.is_file() and page.read_bytes() != card(computed).encode():
        yield f"card: {page.name} does not show this receipt"


def _differs(written: Any, computed: Any, place: str) -> str:
    """The first place where two JSON values differ, "" if they do not."""
    if isinstance(written, dict) and isinstance(computed, dict):
        old, new = cast("Mapping[str, Any]", written), cast("Mapping[str, Any]", computed)
        for key in (*new, *(key for key in old if key not in new)):
            if key not in old or key not in new:
                return f"{place}.{key} stands in one only".lstrip(".")
            if inner := _differs(old[key], new[key], f"{place}.{key}"):
                return inner
        return ""
    if isinstance(written, list) and isinstance(computed, list):
        rows, entries = cast("list[Any]", written), cast("list[Any]", computed)
        if len(rows) != len(entries):
            return f"{place} has {len(rows)} entries, computed {len(entries)}".lstrip(".")
        pairs = enumerate(zip(rows, entries, strict=True))
        return next((d for i, (a, b) in pairs if (d := _differs(a, b, f"{place}[{i}]"))), "")
    if written == computed:
        return ""
    return f"{place} is {written!r}, computed {computed!r}".lstrip(".")

"""Many answers checked blindly, several at a time: `harness check --batch FILE --model SPEC`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.core import BadInput, HarnessError, LimitReached, Unreachable
from harness.rag.check.batch import BatchReport, Row, documents_of, no_verdict, unusable
from harness.rag.check.blind.running import Roles, open_roles
from harness.rag.check.blind.session import march
from harness.rag.check.blind.settings import DEFAULTS, CheckSettings
from harness.rag.check.rollouts import Recorder, Rollout
from harness.rag.check.types import Report

CONCURRENCY = 8
"""Answers that are checked at a time."""


@dataclass(frozen=True)
class BlindRow:
    """A row's report, and what the roles said on the way to it."""

    row: Row
    found: BatchReport
    rollouts: tuple[Rollout, ...] = ()


def check_batch_blind(
    rows: Sequence[Row],
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    concurrency: int = CONCURRENCY,
    on_report: Callable[[BatchReport], None] | None = None,
) -> list[BlindRow]:
    """A report for each row, in their order; blocking.

    A row without an answer or a context, and one that an endpoint rejects, is `INVALID`: neither a
    pass nor a fault, and no reason to stop.

    Args:
        rows: answers with their contexts.
        models: `[ROLE=]SPEC`, roles `proposer` and `checker`.
        settings: policy, votes, endpoint, and limits over the whole batch.
        concurrency: rows at a time.
        on_report: told of every report when it is there, in any order.

    Raises:
        BadInput: for an unknown role or spec, or a number below 1.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if settings.votes < 1 or concurrency < 1:
        raise BadInput(
            f"expected 1 or more votes and rows at a time, got {settings.votes}, {concurrency}"
        )

    async def run() -> list[BlindRow]:
        slots = asyncio.Semaphore(concurrency)
        async with open_roles(models, settings) as roles:

            async def one(row: Row) -> BlindRow:
                async with slots:
                    found = await _one(row, roles)
                if on_report is not None:
                    on_report(found.found)
                return found

            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(row)) for row in rows]
        return [task.result() for task in tasks]

    try:
        return asyncio.run(run())
    except* (Unreachable, LimitReached) as errors:
        raise errors.exceptions[0] from None


async def _one(row: Row, roles: Roles) -> BlindRow:
    recorder, policy = Recorder(), roles.settings.policy
    report = unusable(row, policy)
    if report is None:
        context = roles.context(documents_of(row), recorder.tell)
        try:
            report = await march(context, asked=row.question, response=row.answer)
        except (Unreachable, LimitReached):
            raise
        except HarnessError as error:
            report = no_verdict(str(error), policy)
    found = BatchReport(id=row.id, question=row.question, answer=row.answer, report=report)
    return BlindRow(row, found, tuple(recorder.rollouts))


def calls_of(reports: Sequence[Report]) -> dict[str, float]:
    """Calls by role over all reports, and `median`: of Proposer and Checker for one answer.

    `again` (a reply before could not be read) is counted, but not in the median.
    """
    names = sorted({name for one in reports for name in one.calls})
    total: dict[str, float] = {
        name: sum(one.calls.get(name, 0) for one in reports) for name in names
    }
    each = [one.calls.get("proposer", 0) + one.calls.get("checker", 0) for one in reports]
    asked = [count for count in each if count]
    return total | ({"median": float(median(asked))} if asked else {})

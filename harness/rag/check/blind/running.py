"""Blind checking with models by spec: what `harness check --model` does, for one answer or many."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from harness.core import BadInput, HarnessError, LimitReached, Unreachable, loops
from harness.models import Budget, CallStore, ChatModel, Role, Sampling, open_model, parse_roles
from harness.rag.check.batch import BatchReport, Row
from harness.rag.check.blind.session import MarchContext, march
from harness.rag.check.checking import Documents, no_verdict, read_documents
from harness.rag.check.rollouts import Recorder
from harness.rag.check.types import PolicyName, Report

CONCURRENCY = 8
"""Answers that are checked at a time."""
# Tokens of one reply of an embedded model, which repeating itself would go on to the end of its
# context.
_LOCAL_REPLY = 768
_ROLES: tuple[Role, ...] = ("agent", "proposer", "checker")


@dataclass(frozen=True)
class CheckSettings:
    """Settings of checks by models.

    Attributes:
        policy: how verdicts become an outcome.
        votes: samples of the Checker.
        mixed: values that the numeric engine is sure of are not asked for.
        base_url: endpoint of `openai/` and `vllm/` models.
        budget: limits over all roles and calls.
        calls: where calls are recorded and answered from; default in memory.
    """

    policy: PolicyName = "zero-tolerance"
    votes: int = 1
    mixed: bool = False
    base_url: str | None = None
    budget: Budget | None = None
    calls: CallStore | None = None


DEFAULTS = CheckSettings()


@asynccontextmanager
async def open_roles(
    models: Sequence[str], settings: CheckSettings
) -> AsyncGenerator[MarchContext]:
    """A context without documents, with the models of `[ROLE=]SPEC` strings.

    Args:
        models: the strings, roles `agent`, `proposer` and `checker`; they may be of different
            families.
        settings: endpoint, limits and store of calls, and how the roles check.

    Raises:
        BadInput: for an unknown role or spec.
    """
    specs = parse_roles(models)
    budget, store = settings.budget or Budget(), settings.calls or CallStore()
    opened: list[ChatModel] = []
    async with AsyncExitStack() as stack:
        for role in _ROLES:
            model = open_model(
                specs[role],
                sampling=Sampling(max_tokens=_LOCAL_REPLY if specs[role].kind == "local" else None),
                base_url=settings.base_url,
                calls=store,
                budget=budget,
                role=role,
            )
            stack.push_async_callback(model.aclose)
            opened.append(model)
        solver, proposer, checker = opened
        yield MarchContext(
            solver,
            proposer,
            checker,
            policy=settings.policy,
            votes=settings.votes,
            mixed=settings.mixed,
        )


def check_blind(
    answer: str,
    documents: Documents,
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    question: str = "",
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> Report:
    """Check an answer with models that are kept apart; blocking.

    Args:
        answer: the text to check; empty to let the Solver (role `agent`) answer `question`.
        documents: as :func:`harness.rag.check.check` takes them.
        models: as :func:`open_roles` takes them.
        settings: policy, votes, endpoint and limits.
        question: what the user asked.
        on_event: called with every reply and with the report
            (:class:`harness.rag.check.rollouts.Recorder`).

    Raises:
        BadInput: for an unknown role or spec, a path that cannot be read, or nothing to check.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if not answer.strip() and not question.strip():
        raise BadInput("expected an answer to check, found no visible character in it")
    sources, _ = read_documents(documents)

    async def run() -> Report:
        async with open_roles(models, settings) as roles:
            context = replace(roles, documents=tuple(sources), on_event=on_event)
            return await march(context, question=question, response=answer)

    return loops.run(run())


def check_batch_blind(
    rows: Sequence[Row],
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    concurrency: int = CONCURRENCY,
    on_report: Callable[[BatchReport], None] | None = None,
) -> list[BatchReport]:
    """A report for each row, in their order, several rows at a time; blocking.

    A row without an answer or a context, and one that an endpoint rejects, is `INVALID`: neither a
    pass nor a fault, and no reason to stop.

    Args:
        rows: answers with their contexts.
        models: `[ROLE=]SPEC`, roles `proposer` and `checker`.
        settings: policy, votes, endpoint, and limits over the whole batch.
        concurrency: rows at a time.
        on_report: called with every report when it is there, in any order.

    Raises:
        BadInput: for an unknown role or spec, or a number below 1.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if settings.votes < 1 or concurrency < 1:
        raise BadInput(
            f"expected 1 or more votes and rows at a time, got {settings.votes}, {concurrency}"
        )

    async def check_row(row: Row, roles: MarchContext, slots: asyncio.Semaphore) -> BatchReport:
        recorder = Recorder()
        if row.missing:
            report = no_verdict(f"the row has no {row.missing}", settings.policy)
        else:
            context = replace(roles, documents=tuple(row.documents), on_event=recorder.tell)
            try:
                async with slots:
                    report = await march(context, question=row.question, response=row.answer)
            except (Unreachable, LimitReached):
                raise
            except HarnessError as error:
                report = no_verdict(str(error), settings.policy)
        result = BatchReport(**dict(row), report=report, rollouts=tuple(recorder.rollouts))
        if on_report is not None:
            on_report(result)
        return result

    async def run() -> list[BatchReport]:
        slots = asyncio.Semaphore(concurrency)
        async with open_roles(models, settings) as roles, asyncio.TaskGroup() as group:
            tasks = [group.create_task(check_row(row, roles, slots)) for row in rows]
        return [task.result() for task in tasks]

    try:
        return loops.run(run())
    except* (Unreachable, LimitReached) as errors:
        raise errors.exceptions[0] from None


def calls_of(reports: Sequence[Report]) -> dict[str, float]:
    """Calls by role over all reports, and `median`: of Proposer and Checker for one answer.

    `again` (a reply before could not be read) is counted, but not in the median.
    """
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.calls)
    calls: dict[str, float] = {name: total[name] for name in sorted(total)}
    sums = [report.calls.get("proposer", 0) + report.calls.get("checker", 0) for report in reports]
    counts = [count for count in sums if count]
    return calls | ({"median": float(median(counts))} if counts else {})

"""Blind checking with models by spec: what `harness check --model` does, for one answer or many."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from harness.core import BadInput, HarnessError, LimitReached, Unreachable
from harness.models import Budget, CallStore, ChatModel, Role, Sampling, open_model, parse_roles
from harness.rag.check.batch import BatchReport, Row, documents_of, unusable
from harness.rag.check.blind.session import MarchContext, march
from harness.rag.check.checking import Documents, no_verdict, read_documents
from harness.rag.check.rollouts import Recorder, Rollout, Rollouts
from harness.rag.check.types import PolicyName, Report
from harness.rag.retrieve import Document

CONCURRENCY = 8
"""Answers that are checked at a time."""
# Tokens of one reply of an embedded model, which repeating itself would go on to the end of its
# context.
_LOCAL_REPLY = 768
_ROLES: tuple[Role, ...] = ("agent", "proposer", "checker")


@dataclass(frozen=True)
class CheckSettings:
    """How models check, and where they are asked.

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


@dataclass(frozen=True)
class Roles:
    """The open models of a check, which may be of different families, and its settings."""

    solver: ChatModel
    proposer: ChatModel
    checker: ChatModel
    settings: CheckSettings

    def context(
        self,
        documents: Sequence[Document],
        on_event: Callable[[dict[str, Any]], None] | None = None,
    ) -> MarchContext:
        """What the graph needs for one answer, with a vault of its own."""
        return MarchContext(
            self.solver,
            self.proposer,
            self.checker,
            tuple(documents),
            policy=self.settings.policy,
            votes=self.settings.votes,
            mixed=self.settings.mixed,
            on_event=on_event,
        )


@asynccontextmanager
async def open_roles(models: Sequence[str], settings: CheckSettings) -> AsyncGenerator[Roles]:
    """The models of `[ROLE=]SPEC` strings, roles `agent`, `proposer` and `checker`.

    Args:
        models: the strings.
        settings: endpoint, limits and store of calls, and how the roles check.

    Raises:
        BadInput: for an unknown role or spec.
    """
    specs = parse_roles(models)
    budget, store = settings.budget or Budget(), settings.calls or CallStore()
    opened: list[ChatModel] = []
    try:
        for role in _ROLES:
            model = open_model(
                specs[role],
                sampling=Sampling(max_tokens=_LOCAL_REPLY if specs[role].kind == "local" else None),
                base_url=settings.base_url,
                calls=store,
                budget=budget,
                role=role,
            )
            opened.append(model)
        yield Roles(*opened, settings=settings)
    finally:
        for model in opened:
            await model.aclose()


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
            context = roles.context(sources, on_event)
            return await march(context, asked=question, response=answer)

    return asyncio.run(run())


@dataclass(frozen=True)
class BlindRow:
    """A row's report, and what the roles said on the way to it."""

    row: Row
    result: BatchReport
    rollouts: tuple[Rollout, ...] = ()

    def as_rollouts(self) -> Rollouts:
        """What :func:`harness.rag.check.export` writes of it."""
        row, report = self.row, self.result.report
        return row.id, row.question, row.answer, documents_of(row), self.rollouts, report


def check_batch_blind(
    rows: Sequence[Row],
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    concurrency: int = CONCURRENCY,
    on_report: Callable[[BatchReport], None] | None = None,
) -> list[BlindRow]:
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

    async def check_row(row: Row, roles: Roles, slots: asyncio.Semaphore) -> BlindRow:
        recorder = Recorder()
        async with slots:
            report = unusable(row, settings.policy)
            try:
                report = report or await march(
                    roles.context(documents_of(row), recorder.tell),
                    asked=row.question,
                    response=row.answer,
                )
            except (Unreachable, LimitReached):
                raise
            except HarnessError as error:
                report = no_verdict(str(error), settings.policy)
        result = BatchReport(id=row.id, question=row.question, answer=row.answer, report=report)
        if on_report is not None:
            on_report(result)
        return BlindRow(row, result, tuple(recorder.rollouts))

    async def run() -> list[BlindRow]:
        slots = asyncio.Semaphore(concurrency)
        async with open_roles(models, settings) as roles, asyncio.TaskGroup() as group:
            tasks = [group.create_task(check_row(row, roles, slots)) for row in rows]
        return [task.result() for task in tasks]

    try:
        return asyncio.run(run())
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
    each = [report.calls.get("proposer", 0) + report.calls.get("checker", 0) for report in reports]
    asked = [count for count in each if count]
    return calls | ({"median": float(median(asked))} if asked else {})

"""The MARCH graph on one answer, with models by spec: what `harness check --model` does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.check.blind.session import MarchContext, march
from harness.check.checking import Documents, read_documents
from harness.check.types import PolicyName, Report
from harness.core import BadInput
from harness.models import Budget, CallStore, Role, open_model, parse_roles


def check_blind(
    answer: str,
    documents: Documents,
    models: Sequence[str],
    *,
    question: str = "",
    policy: PolicyName = "zero-tolerance",
    votes: int = 1,
    base_url: str | None = None,
    budget: Budget | None = None,
    calls: CallStore | None = None,
) -> Report:
    """Check an answer with models that are kept apart; blocking.

    Args:
        answer: the text to check; empty to let the Solver (role `agent`) answer `question`.
        documents: as :func:`harness.check.check` takes them.
        models: `[ROLE=]SPEC`, roles `agent`, `proposer` and `checker`.
        question: what the user asked.
        policy: how verdicts become an outcome.
        votes: samples of the Checker.
        base_url: endpoint of `openai/` and `vllm/` models.
        budget: limits over all roles.
        calls: where calls are recorded and answered from; default in memory.

    Raises:
        BadInput: for an unknown role or spec, a path that cannot be read, or nothing to check.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if not answer.strip() and not question.strip():
        raise BadInput("expected an answer to check, found no visible character in it")
    read, _ = read_documents(documents)
    specs, limits, store = parse_roles(models), budget or Budget(), calls or CallStore()

    async def run() -> Report:
        roles: tuple[Role, ...] = ("agent", "proposer", "checker")
        solver, proposer, checker = (
            open_model(specs[role], base_url=base_url, calls=store, budget=limits, role=role)
            for role in roles
        )
        try:
            context = MarchContext(
                solver, proposer, checker, tuple(read), policy=policy, votes=votes
            )  # fmt: skip
            return await march(context, asked=question, response=answer)
        finally:
            for model in (solver, proposer, checker):
                await model.aclose()

    return asyncio.run(run())

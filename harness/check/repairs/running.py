"""Repair with models by spec: what `harness check --repair` does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.check.blind.running import open_roles
from harness.check.blind.session import march
from harness.check.checking import Documents, check, read_documents
from harness.check.repairs.loop import ROUNDS, repair
from harness.check.repairs.types import Repair
from harness.check.types import PolicyName, Report, Verifier
from harness.check.verifiers import open_verifier
from harness.core import BadInput
from harness.models import Budget, CallStore


def repair_answer(
    answer: str,
    documents: Documents,
    models: Sequence[str],
    *,
    question: str = "",
    policy: PolicyName = "zero-tolerance",
    verifier: str | Verifier = "auto",
    votes: int = 1,
    rounds: int = ROUNDS,
    base_url: str | None = None,
    budget: Budget | None = None,
    calls: CallStore | None = None,
    mixed: bool = False,
) -> Repair:
    """Check an answer, let the model of role `agent` rewrite what fails, check again; blocking.

    Args:
        answer: the text to repair.
        documents: as :func:`harness.check.check` takes them.
        models: `[ROLE=]SPEC`; with the role `agent` alone the check itself stays without a model
            and `verifier` gives the verdicts.
        question: what the user asked.
        policy: how verdicts become an outcome.
        verifier: for a check without models.
        votes: samples of the Checker, for a check with models.
        rounds: most rewritings.
        base_url: endpoint of `openai/` and `vllm/` models.
        budget: limits over all calls.
        calls: where calls are recorded and answered from; default in memory.
        mixed: values that the numeric engine is sure of are not asked for.

    Raises:
        BadInput: for an empty answer, no model, an unknown spec, or a path that cannot be read.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if not answer.strip():
        raise BadInput("expected an answer to repair, found no visible character in it")
    if not models:
        raise BadInput("a repair needs a model that rewrites: --model agent=SPEC")
    read, _ = read_documents(documents)
    blind = any(one.partition("=")[0].strip() != "agent" for one in models)
    judge = open_verifier(verifier) if isinstance(verifier, str) and not blind else verifier

    options: dict[str, Any] = {"base_url": base_url, "budget": budget, "calls": calls}

    async def run() -> Repair:
        async with open_roles(models, mixed=mixed, **options) as roles:

            async def checked(text: str) -> Report:
                if not blind:
                    return check(text, read, question=question, policy=policy, verifier=judge)
                context = roles.context(read, policy, votes)
                return await march(context, asked=question, response=text)

            return await repair(
                answer, read, checked, roles.solver, asked=question, rounds=rounds
            )  # fmt: skip

    return asyncio.run(run())

"""Repair with models by spec: what `harness check --repair` does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.core import BadInput
from harness.rag.check.blind.running import open_roles
from harness.rag.check.blind.session import march
from harness.rag.check.blind.settings import DEFAULTS, CheckSettings
from harness.rag.check.checking import Documents, check, read_documents
from harness.rag.check.repairs.loop import ROUNDS, repair
from harness.rag.check.repairs.types import Repair
from harness.rag.check.types import Report, Verifier
from harness.rag.check.verifiers import open_verifier


def repair_answer(
    answer: str,
    documents: Documents,
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    question: str = "",
    verifier: str | Verifier = "auto",
    rounds: int = ROUNDS,
) -> Repair:
    """Check an answer, let the model of role `agent` rewrite what fails, check again; blocking.

    Args:
        answer: the text to repair.
        documents: as :func:`harness.rag.check.check` takes them.
        models: `[ROLE=]SPEC`; with the role `agent` alone the check itself stays without a model
            and `verifier` gives the verdicts.
        settings: policy and limits; votes and `mixed` for a check with models.
        question: what the user asked.
        verifier: for a check without models.
        rounds: most rewritings.

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

    async def run() -> Repair:
        async with open_roles(models, settings) as roles:

            async def checked(text: str) -> Report:
                if not blind:
                    return check(
                        text, read, question=question, policy=settings.policy, verifier=judge
                    )
                return await march(roles.context(read), asked=question, response=text)

            return await repair(
                answer, read, checked, roles.solver, asked=question, rounds=rounds
            )  # fmt: skip

    return asyncio.run(run())

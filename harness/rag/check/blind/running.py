"""Blind checking with models by spec: what `harness check --model` does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from harness.core import BadInput
from harness.models import Budget, CallStore, ChatModel, Role, Sampling, open_model, parse_roles
from harness.rag.check.blind.session import MarchContext, march
from harness.rag.check.blind.settings import DEFAULTS, CheckSettings
from harness.rag.check.checking import Documents, read_documents
from harness.rag.check.types import Report
from harness.rag.retrieve import Document

LOCAL_REPLY = 768
"""Tokens of one reply of an embedded model."""
_ROLES: tuple[Role, ...] = ("agent", "proposer", "checker")


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
    limits, store = settings.budget or Budget(), settings.calls or CallStore()
    opened: list[ChatModel] = []
    try:
        for role in _ROLES:
            # A small embedded model that repeats itself would go on to the end of its context.
            bound = LOCAL_REPLY if specs[role].kind == "local" else None
            model = open_model(
                specs[role],
                sampling=Sampling(max_tokens=bound),
                base_url=settings.base_url,
                calls=store,
                budget=limits,
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
    read, _ = read_documents(documents)

    async def run() -> Report:
        async with open_roles(models, settings) as roles:
            context = roles.context(read, on_event)
            return await march(context, asked=question, response=answer)

    return asyncio.run(run())

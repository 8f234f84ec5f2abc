"""`ask`: a question to files or an index, an answer with citations that open the passage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from harness.core import BadInput, LimitReached, Unreachable
from harness.models import ChatModel
from harness.rag.ask.answering import extracted, nothing_found, unanswered, written
from harness.rag.ask.finding import find_passages
from harness.rag.ask.page import write_answer
from harness.rag.ask.types import Answer, AskSettings, Checker, Citation, Found

__all__ = ["Answer", "AskSettings", "Checker", "Citation", "Found", "ask", "write_answer"]


def ask(
    settings: AskSettings,
    *,
    checker: Checker | None = None,
    on_failure: Callable[[Answer], None] | None = None,
) -> Answer:
    """Find passages, and answer from them alone.

    Where nothing is found, nobody is asked. Citations that do not exist are dropped and said.

    Args:
        settings: what is asked of what.
        checker: gives a verdict on the answer.
        on_failure: told of the passages when the model cannot be asked, before the error.

    Raises:
        BadInput: for a question, files, index, budget or model that cannot be used; no model is
            called then.
        Unreachable: if the model does not answer.
        LimitReached: if the budget cannot hold the call.
    """
    model, note = _model(settings)
    found = find_passages(settings)
    if not found.passages:
        return nothing_found(found)
    if model is None:
        return extracted(found, note, checker)
    try:
        return asyncio.run(_written(found, model, settings, checker))
    except (Unreachable, LimitReached) as error:
        if on_failure is not None:
            on_failure(unanswered(found, model.spec, error))
        raise


async def _written(
    found: Found, model: ChatModel, settings: AskSettings, checker: Checker | None
) -> Answer:
    try:
        return await written(found, model, settings, checker)
    finally:
        await model.aclose()


def _model(settings: AskSettings) -> tuple[ChatModel | None, tuple[str, ...]]:
    """The model, opened before anything is read; None, and why, for the best sentences.

    The embedded model that nobody asked for may be missing; one that was named may not.
    """
    if settings.extract:
        return None, ()
    from harness.models import DEFAULT_SPEC, Budget, open_model

    budget = Budget(
        usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls
    )
    try:
        return open_model(
            settings.model or DEFAULT_SPEC, base_url=settings.base_url, budget=budget
        ), ()
    except BadInput as error:
        if settings.model is not None or not settings.question.strip():
            raise
        return None, (f"no model: {error}; these are the best sentences as they stand",)

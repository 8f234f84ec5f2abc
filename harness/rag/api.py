"""Functions that the wing adds to :mod:`harness.api`: ask, check and compress."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar, Unpack

from harness.core import from_keywords
from harness.rag.ask import Answer, AskSettings, passage_checker
from harness.rag.ask import ask as run_ask
from harness.rag.check import Report, check
from harness.rag.compress import Compressed, compress
from harness.rag.keywords import AskKeywords

P = ParamSpec("P")
T = TypeVar("T")

__all__ = [
    "Answer",
    "AskSettings",
    "Compressed",
    "Report",
    "aask",
    "acheck",
    "acompress",
    "ask",
    "check",
    "compress",
]


def ask(
    question: str,
    *paths: Path | str,
    index: Path | str | None = None,
    model: str | None = None,
    verifier: str = "rules",
    **settings: Unpack[AskKeywords],
) -> Answer:
    """Answer a question from files or an index with citations, as `harness ask` does.

    The checker's verdict on the answer stands in its `verdict`.

    Args:
        question: not empty.
        paths: files and folders to read; or
        index: folder of an index.
        model: model spec; default the embedded model.
        verifier: what gives the verdict without calling a model: "rules", "overlap", "auto";
            "none" for no verdict.
        settings: further fields of :class:`AskSettings` (`context`, `budget`, `extract`, ...).

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    fields = {"question": question, "paths": paths, "index": index, "model": model, **settings}
    checked = from_keywords(AskSettings, fields)
    return run_ask(checked, checker=passage_checker(verifier))


async def aask(
    question: str,
    *paths: Path | str,
    index: Path | str | None = None,
    model: str | None = None,
    verifier: str = "rules",
    **settings: Unpack[AskKeywords],
) -> Answer:
    """Run :func:`ask` where an event loop is running; the work is done in a thread."""
    work = partial(ask, question, *paths, index=index, model=model, verifier=verifier, **settings)
    return await to_thread(work)


def _in_thread(work: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Run the work in a thread, for a running event loop."""

    @wraps(work)
    async def beside(*args: P.args, **keywords: P.kwargs) -> T:
        return await to_thread(work, *args, **keywords)

    return beside


acheck = _in_thread(check)
acompress = _in_thread(compress)

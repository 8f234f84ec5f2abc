"""What the wing adds to :mod:`harness.api`: ask, check and compress."""

from __future__ import annotations

from pathlib import Path

from harness.rag.ask import Answer, AskSettings, passage_checker
from harness.rag.ask import ask as run_ask
from harness.rag.check import Report, check
from harness.rag.compress import Compressed, compress

__all__ = ["Answer", "AskSettings", "Compressed", "Report", "ask", "check", "compress"]


def ask(
    question: str,
    *paths: Path | str,
    index: Path | str | None = None,
    model: str | None = None,
    verifier: str = "rules",
    **settings: object,
) -> Answer:
    """Answer a question from files or an index with citations, as `harness ask` does.

    The checker's verdict on the answer stands in its `verdict`.

    Args:
        question: not empty.
        paths: files and folders to read; or
        index: folder of an index.
        model: model spec; default the embedded model.
        verifier: what gives the verdict without calling a model: "rules", "trained", "auto";
            "none" for no verdict.
        settings: further fields of :class:`AskSettings` (`context`, `budget`, `extract`, ...).

    Raises:
        HarnessError: as the command line does, with the exit code as an attribute.
    """
    fields = {"question": question, "paths": paths, "index": index, "model": model, **settings}
    return run_ask(AskSettings.model_validate(fields), checker=passage_checker(verifier))

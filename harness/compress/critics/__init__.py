"""Critics: each scores units for a query."""

from __future__ import annotations

from harness.compress.types import Critic
from harness.core import BadInput

NAMES = ("auto", "lexical", "embedding", "llm:SPEC")


def open_critic(name: str = "auto") -> Critic:
    """The critic of that name.

    Args:
        name: `lexical` (BM25), `embedding` (sentence encoder), `llm:SPEC` (a model spec, such as
            `llm:openai/gpt-4.1-mini`), or `auto`.

    Raises:
        BadInput: if there is no such critic, or its packages are not installed.
    """
    if name in ("auto", "lexical"):
        from harness.compress.critics.lexical import LexicalCritic

        return LexicalCritic()
    if name == "embedding":
        from harness.compress.critics.embedding import EmbeddingCritic

        return EmbeddingCritic()
    if name.startswith("llm:"):
        from harness.compress.critics.llm import ModelCritic

        return ModelCritic(name.removeprefix("llm:"))
    raise BadInput(f"expected a critic of {', '.join(NAMES)}, got {name!r}")

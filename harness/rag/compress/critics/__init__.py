"""Critics: each scores units for a query."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput
from harness.rag.compress.types import Critic

NAMES = ("auto", "fused", "token", "embedding", "lexical", "llm:SPEC", "cprs:FOLDER")
_FUSION = Path(__file__).parent.parent / "weights" / "fusion.json"


def open_critic(name: str = "auto") -> Critic:
    """The critic of that name.

    Args:
        name: `fused` (token critic, encoder and BM25 together), `token` (trained token critic),
            `embedding` (sentence encoder), `lexical` (BM25), `llm:SPEC` (a model spec, such as
            `llm:openai/gpt-4.1-mini`), `cprs:FOLDER` (published QwenLong-CPRS weights), or
            `auto`: `fused` where this version carries its weights, else `lexical`. What is
            installed never decides.

    Raises:
        BadInput: if there is no such critic, or its weights or packages are missing.
    """
    if name == "auto":
        name = "fused" if _FUSION.is_file() else "lexical"
    if name == "fused":
        from harness.rag.compress.critics.fused import FusedCritic

        return FusedCritic()
    if name == "token":
        from harness.rag.compress.critics.token import TokenCritic

        return TokenCritic()
    if name == "embedding":
        from harness.rag.compress.critics.embedding import EmbeddingCritic

        return EmbeddingCritic()
    if name == "lexical":
        from harness.rag.compress.critics.lexical import LexicalCritic

        return LexicalCritic()
    if name.startswith("llm:"):
        from harness.rag.compress.critics.llm import ModelCritic

        return ModelCritic(name.removeprefix("llm:"))
    if name.startswith("cprs:"):
        from harness.rag.compress.critics.cprs import CprsCritic

        return CprsCritic(Path(name.removeprefix("cprs:")))
    raise BadInput(f"expected a critic of {', '.join(NAMES)}, got {name!r}")

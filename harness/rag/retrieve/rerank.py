"""Order the best candidates again: cross-encoder, late interaction, or a rerank endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core import BadInput

Scorer = Callable[[str, list[str]], list[float]]

FORMS = """\
  <org>/<model> or ./<folder>       a cross-encoder of sentence-transformers
  late/<org>/<model> or late/./<folder>   late interaction (ColBERT and its kind)
  late/local                        token vectors of the default encoder, not trained for it
  http(s)://HOST/rerank#<model>     a rerank endpoint (Jina, Cohere, vLLM)"""


@dataclass(frozen=True)
class Reranker:
    """Scores texts against a query.

    Attributes:
        name: stands beside every result that rests on it.
    """

    name: str
    _score: Scorer

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Relevance of every text, higher is better; scales differ between models.

        Raises:
            Unreachable: if the endpoint does not answer.
        """
        return self._score(query, list(texts)) if texts else []


def open_reranker(spec: str) -> Reranker:
    """The reranker of that name.

    Raises:
        BadInput: if there is none, or it cannot be loaded.
    """
    if spec.startswith(("http://", "https://")):
        from harness.rag.retrieve.remote import rerank_by_url

        url, _, model = spec.partition("#")
        return Reranker(spec, lambda query, texts: rerank_by_url(url, model, query, texts))
    if spec.startswith("late/"):
        return Reranker(spec, _late(spec.removeprefix("late/")))
    if "/" in spec:
        return Reranker(spec, _cross(spec))
    raise BadInput(f"unknown reranker {spec!r}; expected one of\n{FORMS}")


def _cross(name: str) -> Scorer:
    from harness.rag.retrieve.hub import load_model

    model = load_model("CrossEncoder", name)

    def score(query: str, texts: list[str]) -> list[float]:
        pairs = [(query, text) for text in texts]
        return [float(one) for one in model.predict(pairs, show_progress_bar=False)]

    return score


def _late(name: str) -> Scorer:
    """Sum over query tokens of the best inner product (Khattab & Zaharia 2020, MaxSim)."""
    from harness.rag.retrieve.hub import load_model

    model: Any = _untrained() if name == "local" else load_model("MultiVectorEncoder", name)

    def score(query: str, texts: list[str]) -> list[float]:
        asked = model.encode_query([query], show_progress_bar=False)
        known = model.encode_document(texts, show_progress_bar=False)
        return [float(one) for one in model.similarity(asked, known)[0]]

    return score


def _untrained() -> Any:
    """The default encoder without its pooling: each token's vector, scaled to length one."""
    from importlib import import_module

    from harness.rag.retrieve.encoder import bundled_model

    package = import_module("sentence_transformers")
    base = package.SentenceTransformer(str(bundled_model()))
    modules = import_module("sentence_transformers.multi_vector_encoder.modules")
    normalize = import_module("sentence_transformers.base.modules").Normalize
    return package.MultiVectorEncoder(
        modules=[
            base[0],
            modules.MultiVectorMask(),
            normalize(module_input_name="token_embeddings"),
        ]
    )

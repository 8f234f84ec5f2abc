"""Order the best candidates again: cross-encoder, late interaction, or a rerank endpoint."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.core import BadInput, Unreachable, http_client, limit_reply
from harness.core.http import ACCEPTED

Scorer = Callable[[str, list[str]], list[float]]
TIMEOUT_S = 60.0

FORMS = """\
  <org>/<model> or ./<folder>       a cross-encoder of sentence-transformers
  late/<org>/<model> or late/./<folder>   late interaction (ColBERT and its kind)
  local/<path>.gguf                 a reranker in the embedded engine
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
        return Reranker(spec, _endpoint(spec, os.environ.get("RERANK_API_KEY")))
    if spec.startswith("local/"):
        from harness.core.plugins import load

        serve = load("servers", "local")
        name = spec.removeprefix("local/")
        serve(name, "rerank")

        def score(query: str, texts: list[str]) -> list[float]:
            url, key = serve(name, "rerank")  # the engine may have ended since
            return _endpoint(f"{url}/rerank", key)(query, texts)

        return Reranker(spec, score)
    if spec.startswith("late/"):
        return Reranker(spec, _late_interaction(spec.removeprefix("late/")))
    if "/" in spec:
        return Reranker(spec, _cross_encoder(spec))
    raise BadInput(f"unknown reranker {spec!r}; expected one of\n{FORMS}")


def _cross_encoder(name: str) -> Scorer:
    from harness.rag.retrieve.encoder import load_model

    model = load_model("CrossEncoder", name)

    def score(query: str, texts: list[str]) -> list[float]:
        pairs = [(query, text) for text in texts]
        return [float(value) for value in model.predict(pairs, show_progress_bar=False)]

    return score


def _late_interaction(name: str) -> Scorer:
    """Sum over query tokens of the best inner product (Khattab & Zaharia 2020, MaxSim)."""
    from harness.rag.retrieve.encoder import load_model

    model = load_model("MultiVectorEncoder", name)

    def score(query: str, texts: list[str]) -> list[float]:
        query_vectors = model.encode_query([query], show_progress_bar=False)
        text_vectors = model.encode_document(texts, show_progress_bar=False)
        return [float(value) for value in model.similarity(query_vectors, text_vectors)[0]]

    return score


def _endpoint(spec: str, key: str | None) -> Scorer:
    """Relevance by a `/rerank` endpoint (the form of Jina, Cohere and vLLM).

    Of keys in the environment only `RERANK_API_KEY` is sent: others are none of its business.
    """
    import httpx

    url, _, model = spec.partition("#")

    def score(query: str, texts: list[str]) -> list[float]:
        body = {"model": model, "query": query, "documents": texts, "top_n": len(texts)}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            hooks = {"response": [limit_reply]}
            with http_client(url, TIMEOUT_S, headers=ACCEPTED, event_hooks=hooks) as client:
                reply = client.post(url, json=body, headers=headers)
            reply.raise_for_status()
            results = reply.json()["results"]
            scores = {int(row["index"]): float(row["relevance_score"]) for row in results}
            return [scores[number] for number in range(len(texts))]
        except httpx.HTTPError as error:
            raise Unreachable(f"the reranker at {url} does not answer: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise Unreachable(
                f"the reranker at {url}: expected results with index and relevance_score "
                f"({error!r})"
            ) from error

    return score

"""Embeddings and rerank endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, Unreachable
from harness.models import parse_spec
from harness.models.endpoints import Endpoint, resolve
from harness.rag.retrieve.encoder import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

BATCH = 128
RETRIES = 4
TIMEOUT_S = 60.0


def remote_encoder(spec: str, base_url: str | None = None) -> Encoder:
    """An encoder behind `/v1/embeddings`; its dimension is asked for with one short text.

    Raises:
        BadInput: for a missing key, or a request that the endpoint rejects.
        Unreachable: if the endpoint does not answer or refuses the key.
    """
    encode = _embeddings(resolve(parse_spec(spec), base_url))
    return Encoder(spec, encode(["dimension"]).shape[1], encode, spec)


def _embeddings(endpoint: Endpoint) -> Callable[[list[str]], Vectors]:
    import openai

    client = openai.OpenAI(
        api_key=endpoint.key,
        base_url=endpoint.urls[0],
        max_retries=RETRIES,
        timeout=TIMEOUT_S,
    )

    def encode(texts: list[str]) -> Vectors:
        import numpy as np

        rows: list[list[float]] = []
        for at in range(0, len(texts), BATCH):
            batch = [text or " " for text in texts[at : at + BATCH]]
            try:
                answer = client.embeddings.create(
                    model=endpoint.model, input=batch, encoding_format="float"
                )
            except openai.APIError as error:
                raise _refusal(error, endpoint) from error
            rows.extend(one.embedding for one in sorted(answer.data, key=lambda one: one.index))
        found = np.asarray(rows, dtype=np.float32)
        if found.shape[:1] != (len(texts),):
            raise Unreachable(
                f"{endpoint.urls[0]}: expected {len(texts)} vectors of one length, got {len(rows)}"
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.where(lengths == 0, 1, lengths), dtype=np.float32)

    return encode


def _refusal(error: Any, endpoint: Endpoint) -> BadInput | Unreachable:
    where = f"{endpoint.urls[0]}, model {endpoint.model!r}"
    status = getattr(error, "status_code", None)
    if status in (400, 404, 422):
        return BadInput(f"{where} rejected the texts: {error}")
    if status in (401, 403):
        return Unreachable(f"{where} refused the key in {endpoint.key_variable}: {error}")
    return Unreachable(f"{where} does not answer: {error}")


def rerank_by_url(url: str, model: str, query: str, texts: list[str]) -> list[float]:
    """Relevance of every text by a `/rerank` endpoint (the form of Jina, Cohere and vLLM).

    A key is sent only if `RERANK_API_KEY` is set: that of another endpoint is none of its business.

    Raises:
        Unreachable: if it does not answer, or not in that form.
    """
    import os

    import httpx

    key = os.environ.get("RERANK_API_KEY")
    body = {"model": model, "query": query, "documents": texts, "top_n": len(texts)}
    try:
        answer = httpx.post(
            url,
            json=body,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=TIMEOUT_S,
        )
        answer.raise_for_status()
        results = answer.json()["results"]
        scores = {int(one["index"]): float(one["relevance_score"]) for one in results}
        return [scores[number] for number in range(len(texts))]
    except httpx.HTTPError as error:
        raise Unreachable(f"the reranker at {url} does not answer: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise Unreachable(
            f"the reranker at {url}: expected results with index and relevance_score ({error!r})"
        ) from error

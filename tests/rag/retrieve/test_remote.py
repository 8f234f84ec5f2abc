"""Encoders and rerankers behind an endpoint, and models from a folder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.core import BadInput, Unreachable
from harness.engines import pull
from harness.rag.retrieve import (
    Document,
    Encoder,
    bundled_model,
    create_index,
    open_encoder,
    open_index,
    open_reranker,
)

LEXICAL = open_encoder("lexical")


class Endpoint(BaseHTTPRequestHandler):
    """Embeddings and reranking, as servers of either kind answer; some models are refused."""

    def do_POST(self) -> None:  # the name that the base class calls
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] == "none":
            return self._send(404, {"error": {"message": "no such model"}})
        if body["model"] == "locked":
            return self._send(401, {"error": {"message": "wrong key"}})
        if self.path == "/v1/embeddings":
            rows = LEXICAL.encode(body["input"]) * 3
            data = [
                {"object": "embedding", "index": number, "embedding": row.tolist()}
                for number, row in enumerate(rows)
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            answer = {"object": "list", "model": body["model"], "usage": usage}
            return self._send(200, {**answer, "data": data[::-1]})
        if body["model"] == "odd":
            return self._send(200, {"scores": []})
        asked = LEXICAL.encode([body["query"]])[0]
        scores = LEXICAL.encode(body["documents"]) @ asked
        found = [
            {"index": number, "relevance_score": float(score)}
            for number, score in enumerate(scores)
        ]
        return self._send(200, {"results": sorted(found, key=lambda one: -one["relevance_score"])})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Address of the endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


TEXTS = ["Seals wear out.", "The bank raised its rate.", "Orbits decay."]


def test_an_endpoint_makes_vectors_of_length_one_in_order(url: str) -> None:
    encoder = open_encoder("openai/some-embedding", url)
    assert (encoder.name, encoder.dimension) == ("openai/some-embedding", LEXICAL.dimension)
    assert np.allclose(encoder.encode(TEXTS * 60), LEXICAL.encode(TEXTS * 60), atol=1e-5)
    assert encoder.encode([]).shape == (0, LEXICAL.dimension)


def test_an_endpoint_that_refuses_says_why(url: str) -> None:
    with pytest.raises(BadInput, match=r"model 'none' rejected the texts"):
        open_encoder("vllm/none", url)
    with pytest.raises(Unreachable, match="refused the key in OPENAI_API_KEY"):
        open_encoder("openai/locked", url)
    with pytest.raises(BadInput, match="expected a base URL"):
        open_encoder("openai/any", "nonsense")


def test_an_index_from_elsewhere_sends_no_question_to_who_made_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "https://collector.example/v1"
    for name, address in (("ours", url), ("theirs", place)):
        new = create_index(tmp_path / name, open_encoder("openai/any", url), base_url=address)
        new.add([Document(id="seals", text=TEXTS[0])])
    assert open_index(tmp_path / "ours").encoder.name == "openai/any"  # on this machine
    asked: list[str | None] = []

    def encoder(spec: str, base_url: str | None) -> Encoder:
        asked.append(base_url)
        return open_encoder(spec, url)

    monkeypatch.setattr("harness.rag.retrieve.index.open_encoder", encoder)
    with pytest.raises(BadInput, match=r"collector\.example/v1.*set OPENAI_BASE_URL"):
        open_index(tmp_path / "theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:word@collector.example/v1")
    open_index(tmp_path / "theirs")
    assert asked == [place]


def test_a_rerank_endpoint_scores_in_the_order_of_the_texts(url: str) -> None:
    reranker = open_reranker(f"{url}/rerank#some-model")
    scores = reranker.score("interest rate of the bank", TEXTS)
    assert max(range(3), key=scores.__getitem__) == 1
    assert reranker.score("anything", []) == []
    with pytest.raises(Unreachable, match="expected results with index"):
        open_reranker(f"{url}/rerank#odd").score("q", TEXTS)
    with pytest.raises(Unreachable, match="does not answer"):
        open_reranker(f"{url}/rerank#none").score("q", TEXTS)


def test_an_unknown_reranker_lists_the_forms() -> None:
    with pytest.raises(BadInput, match=r"unknown reranker 'best'; expected"):
        open_reranker("best")


@pytest.mark.slow
def test_models_from_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    encoder = open_encoder(str(bundled_model()))
    local = open_encoder("local")
    assert np.allclose(encoder.encode(TEXTS), local.encode(TEXTS), atol=1e-5)
    assert np.allclose(encoder.encode_queries(TEXTS), local.encode(TEXTS), atol=1e-5)
    package: Any = import_module("sentence_transformers")
    modules: Any = import_module("sentence_transformers.multi_vector_encoder.modules")
    normalize: Any = import_module("sentence_transformers.base.modules").Normalize
    package.MultiVectorEncoder(
        modules=[
            package.SentenceTransformer(str(bundled_model()))[0],
            modules.MultiVectorMask(),
            normalize(module_input_name="token_embeddings"),
        ]
    ).save_pretrained(str(tmp_path / "late"))
    late = open_reranker(f"late/{tmp_path / 'late'}").score("interest rate", TEXTS)
    assert max(range(3), key=late.__getitem__) == 1
    transformers: Any = import_module("transformers")
    config = transformers.BertConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    transformers.set_seed(7)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "cross")
    transformers.AutoTokenizer.from_pretrained(bundled_model()).save_pretrained(tmp_path / "cross")
    cross = open_reranker(str(tmp_path / "cross"))
    scores = cross.score("interest rate", TEXTS)
    assert len(set(scores)) == 3
    assert cross.score("interest rate", TEXTS[::-1]) == pytest.approx(scores[::-1], abs=1e-5)
    with pytest.raises(BadInput, match=r"cannot load .* as a SentenceTransformer"):
        (tmp_path / "empty").mkdir()
        open_encoder(str(tmp_path / "empty"))


def test_the_embedded_engine_encodes_and_ranks() -> None:
    """With a chat model: its vectors are poor, but they are those of the texts."""
    pull("smollm2-135m")
    encoder = open_encoder("local/smollm2-135m#mean")
    texts = ["The cat sat on the mat.", "A cat was sitting on a mat.", "Taxes fell in 1997."]
    vectors = encoder.encode(texts)
    assert vectors.shape == (3, encoder.dimension)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    scores = open_reranker("local/smollm2-135m").score("cats", ["a cat", "taxes"])
    assert len(set(scores)) == 2

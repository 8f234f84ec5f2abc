"""Any sentence-transformers model, by its name on the hub or its folder."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.rag.retrieve.encoder import ENGLISH, Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_ENGLISH_NAME = re.compile(r"(?:^|[-_/])en(?:[-_.]|$)|english|all-minilm|all-mpnet", re.IGNORECASE)


def hub_encoder(name: str) -> Encoder:
    """The encoder of that name, with the prompts that its configuration gives for queries.

    Raises:
        BadInput: if it cannot be loaded.
    """
    model = load_model("SentenceTransformer", name)
    dimension = model.get_embedding_dimension()
    if not isinstance(dimension, int):
        raise BadInput(f"the encoder {name!r} has no fixed dimension: it makes no dense vectors")

    def documents(texts: list[str]) -> Vectors:
        return model.encode_document(texts, normalize_embeddings=True, show_progress_bar=False)

    def queries(texts: list[str]) -> Vectors:
        return model.encode_query(texts, normalize_embeddings=True, show_progress_bar=False)

    languages = ENGLISH if _ENGLISH_NAME.search(name) else None
    return Encoder(Path(name).name, dimension, documents, name, languages, queries)


@cache
def load_model(kind: str, name: str) -> Any:
    """A model of sentence-transformers, loaded once.

    Args:
        kind: its class: SentenceTransformer, CrossEncoder or MultiVectorEncoder.
        name: hub name or folder.

    Raises:
        BadInput: if the package is missing, or the model is not there.
    """
    try:
        import_module("transformers.utils.logging").disable_progress_bar()
        opener = getattr(import_module("sentence_transformers"), kind)
    except ImportError as error:
        raise BadInput(
            f"{name!r} needs sentence-transformers ({error}): "
            "pip install 'agent-skill-harness[rag]'"
        ) from error
    try:
        return opener(name)
    except Exception as error:  # whatever the hub, the network or the files raise
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInput(
            f"cannot load {name!r} as a {kind}: {first} (offline, name a folder that holds it)"
        ) from error

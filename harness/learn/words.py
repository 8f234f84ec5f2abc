"""A classifier of what a user's words say of the work before them, where no pattern reads them.

Logistic regression over words and pieces of words, fitted to `utterances.txt` when the first words
have to be read. What it is not sure of is not decided.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

# Probabilities: of what is taken as said, of praise in words of praise, and of a complaint that is
# none.
SURE, LIKELY, HARMLESS = 0.85, 0.75, 0.1


@cache
def complaint_and_praise(text: str) -> tuple[float, float]:
    """Return the probabilities that a text is dissatisfied with the work, and satisfied.

    A complaint counts in whichever sentence it stands.
    """
    parts = [part for part in re.split(r"(?<=[.!?;])\s+|\n+", text) if len(part.split()) > 3]
    rows = _classifier().predict_proba([text, *parts])
    return float(rows[:, 0].max()), float(rows[0, 2])


@cache
def _classifier() -> Any:
    names = ("linear_model", "multiclass", "pipeline", "feature_extraction.text")
    linear, multiclass, pipeline, text = (import_module(f"sklearn.{name}") for name in names)

    def lowered(text: str) -> str:
        return re.sub(r"\d[\d.,]*", "0", text.lower().replace("\u2019", "'"))

    table = files(__package__ or "").joinpath("utterances.txt").read_text("utf-8")
    blocks = [block.split("\n") for block in table.split("\n[")[1:]]
    pairs = [(line, block[0]) for block in blocks for line in block[1:] if line]
    shared: dict[str, Any] = {"preprocessor": lowered, "sublinear_tf": True}
    learner = linear.LogisticRegression(C=20, solver="liblinear", class_weight="balanced")
    return pipeline.make_pipeline(
        pipeline.make_union(
            text.TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"[\w']+|[?!]", **shared),
            text.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **shared),
        ),
        multiclass.OneVsRestClassifier(learner),
    ).fit(*zip(*pairs, strict=True))

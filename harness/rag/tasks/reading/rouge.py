"""ROUGE (Lin 2004), by the package `rouge-score`, which reproduces the original Perl script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from harness.core import BadInput

KINDS = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def rouge(prediction: str, answers: Sequence[str], *, stemmer: bool = True) -> dict[str, float]:
    """F-measure of every kind with the accepted answer that fits best, kind by kind.

    `geometric` is the geometric mean of ROUGE-1, -2 and -L (SCROLLS, section 4; L-Eval).

    Args:
        prediction: what was said.
        answers: references.
        stemmer: whether words are compared by their stems (Porter); L-Eval does not.

    Raises:
        BadInput: if rouge-score is not installed.
    """
    scores = _scorer(stemmer).score_multi(list(answers), prediction)
    found = {kind: float(scores[kind].fmeasure) for kind in KINDS}
    product = found["rouge1"] * found["rouge2"] * found["rougeL"]
    return {**found, "geometric": product ** (1 / 3)}


@cache
def _scorer(stemmer: bool) -> Any:
    try:
        module: Any = import_module("rouge_score.rouge_scorer")
    except ImportError as error:
        raise BadInput(f"ROUGE needs rouge-score ({error}): pip install rouge-score") from error
    return module.RougeScorer(list(KINDS), use_stemmer=stemmer)

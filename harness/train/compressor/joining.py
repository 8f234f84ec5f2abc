"""Joins a trained critic to the fusion, on held-out groups.

The fusion without it and the critic both give log-odds of a unit; a share of the critic's is added.
From there all coefficients are fitted once more, a penalty drawing them back. Fitted from nothing
they were worse on sources that were left out: a few hundred questions are too few for that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.rag.compress.critics.features import NAMES
from harness.rag.compress.types import Critic
from harness.rag.retrieve.encoder import Encoder
from harness.train.compressor.examples import Example
from harness.train.compressor.fusion import (
    TALK,
    Case,
    Scored,
    cases_of,
    coefficients,
    left_out,
    margins,
)
from harness.train.compressor.questions import asked_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIZES = {"nq": 100, "nq long": 12, "qed": 80, "wice": 24, "qmsum": 0}
"""Held-out questions of each source, at most: the critic reads a document anew for each."""
SEED = 43
START, PULL = 0.7, 0.3
"""Share of the critic's log-odds to begin with, and weight of the penalty: by left-out sources."""
WITHOUT, WITH, REFUSED = "without critic", "with critic", "critic that did not help"


def joined(
    facts: dict[str, Any], critic: Critic, encoder: Encoder, examples: Sequence[Example]
) -> dict[str, Any]:
    """The facts of a fusion, with coefficients for this critic if it helps.

    Whether it helps is asked of each source with coefficients that were fitted on the others; those
    without it were fitted on all groups, these too, so that the comparison favours doing without.
    Talk is left as it is: there every turn would have to be read, and averages over many turns tell
    more than any critic of single ones.

    Args:
        facts: of `fusion.json`, with coefficients without a critic.
        critic: was trained on none of the held-out groups.
        encoder: of the fusion.
        examples: all; those held out are used.

    Raises:
        BadInput: if the coefficients are of other features.
    """
    if tuple(facts["features"]) != NAMES:
        raise BadInput(f"expected a fusion of the features {NAMES}, found {facts['features']!r}")
    held = [one for one in examples if one.passage.held_out]
    return joined_by(facts, cases_of(asked_of(held, SEED, SIZES), encoder, critic))


def joined_by(facts: dict[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """The same from cases whose features are known.

    Raises:
        BadInput: if they are all of one source, or of talk.
    """
    import numpy as np

    read = [one for one in cases if one.source != TALK]
    sources = sorted({one.source for one in read})
    if len({_family(name) for name in sources}) < 2:
        raise BadInput(f"expected held-out questions of two sources, found {sources!r}")
    base = np.asarray(facts[WITHOUT]["weights"], dtype=np.float64)
    start = scaled(base, START)
    scored: dict[str, list[Scored]] = {}
    for name in sources:
        others = [one for one in read if _family(one.source) != _family(name)]
        weights = coefficients(others, start, PULL)
        scored[name] = [(one, one.matrix @ weights) for one in read if one.source == name]
    rows = left_out(scored, base)
    gains = [row["fused"] - row["before"] for budgets in rows.values() for row in budgets.values()]
    fitted = {
        "weights": [round(float(one), 5) for one in coefficients(read, start, PULL)],
        "margins": margins(scored),
        "left_out": rows,
        "cases": {name: len(pairs) for name, pairs in scored.items()},
    }
    kept = {key: value for key, value in facts.items() if key not in (WITH, REFUSED)}
    return {**kept, WITH if sum(gains) > 0 else REFUSED: fitted}


def scaled(base: Array, scale: float) -> Array:
    """Coefficients with the critic's logit added, times `scale`."""
    weights = base.copy()
    weights[NAMES.index("critic logit")] += scale
    return weights


def read_facts(folder: Path) -> dict[str, Any]:
    """The facts of the fusion in `folder`."""
    return json.loads((folder / "fusion.json").read_text(encoding="utf-8"))


def _family(source: str) -> str:
    """Stacks of few and of many passages hold the same questions."""
    return source.split(" ")[0]

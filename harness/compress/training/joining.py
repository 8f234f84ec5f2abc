"""Joins a trained critic to the fusion: fitted on held-out groups, kept only where it helps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.compress.critics.features import NAMES
from harness.compress.training.examples import Example
from harness.compress.training.fusion import TALK, Case, cases_of, fit
from harness.compress.training.questions import asked_of
from harness.compress.types import Critic
from harness.core import BadInput
from harness.retrieve.encoder import Encoder

SIZES = {"nq": 100, "nq long": 12, "qed": 80, "wice": 24, "qmsum": 12}
"""Held-out questions of each source, at most: the critic reads a document anew for each."""
SEED = 43
WITHOUT, WITH, REFUSED = "without critic", "with critic", "critic that did not help"


def joined(
    facts: dict[str, Any], critic: Critic, encoder: Encoder, examples: Sequence[Example]
) -> dict[str, Any]:
    """The facts of a fusion, with coefficients for this critic if it helps.

    Coefficients begin at those without a critic. Whether it helps is asked of sources (of
    meetings: halves) that a fit left out; the coefficients without it were fitted on all groups,
    these too, so that the comparison favours doing without. For talk, of which every turn has to
    be read, the critic is asked apart.

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
    """The same from cases whose features are known."""
    prior: list[float] = facts[WITHOUT]["weights"]
    kept = {key: value for key, value in facts.items() if key not in (WITH, REFUSED)}
    quiet = fit([_silent(one) for one in cases], prior)
    if any(one.source == TALK for one in cases):
        heard = fit(cases, prior)
        fitted = heard if _gain(heard, [TALK]) > max(0.0, _gain(quiet, [TALK])) else quiet
    else:
        fitted = quiet
    rest = [name for name in fitted["left_out"] if name != TALK]
    return {**kept, WITH if _gain(fitted, rest) >= 0 else REFUSED: fitted}


def read_facts(folder: Path) -> dict[str, Any]:
    """The facts of the fusion in `folder`."""
    return json.loads((folder / "fusion.json").read_text(encoding="utf-8"))


def _silent(case: Case) -> Case:
    """A talk as it is without the critic; other cases as they are."""
    if case.source != TALK:
        return case
    matrix = case.matrix.copy()
    matrix[:, [at for at, name in enumerate(NAMES) if name.startswith("talk: critic")]] = 0.0
    return replace(case, matrix=matrix)


def _gain(fitted: dict[str, Any], sources: Sequence[str]) -> float:
    """Mean recall above the fusion without the critic, over sources and budgets."""
    gains = [
        row["fused"] - row["before"]
        for name in sources
        for row in fitted["left_out"][name].values()
    ]
    return sum(gains) / len(gains) if gains else 0.0

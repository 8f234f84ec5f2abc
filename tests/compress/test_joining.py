"""A trained critic joins the fusion where held-out sources say that it helps, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harness.compress.critics.features import NAMES
from harness.compress.training.fusion import TALK, Case
from harness.compress.training.joining import REFUSED, WITH, WITHOUT, joined, joined_by
from harness.core import BadInput
from harness.retrieve.encoder import open_encoder
from tests.compress.test_fused import example

PRIOR = [float(name in ("embedding", "talk: embedding")) for name in NAMES]
FACTS: dict[str, Any] = {"features": list(NAMES), WITHOUT: {"weights": PRIOR, "margins": {}}}


def cases(source: str, seed: int, told_by: str) -> list[Case]:
    """The embedding says a little of what is gold, the feature `told_by` much; others are noise."""
    rng = np.random.default_rng(seed)
    talk = source == TALK
    found: list[Case] = []
    for number in range(10):
        matrix = rng.normal(size=(20, len(NAMES))) * 0.5
        matrix[:, [at for at, name in enumerate(NAMES) if name.startswith("talk: ") != talk]] = 0
        gold = np.zeros(20, dtype=bool)
        gold[rng.integers(20)] = True
        mark = "talk: " if talk else ""
        matrix[gold, NAMES.index(f"{mark}embedding")] += 0.6
        matrix[gold, NAMES.index(f"{mark}{told_by}")] += 2.0
        found.append(Case(source, matrix, gold, np.ones(20), f"{source} {number % 2}"))
    return found


def weight(fitted: dict[str, Any], name: str) -> float:
    return dict(zip(NAMES, fitted["weights"], strict=True))[name]


def test_a_critic_that_helps_gets_coefficients() -> None:
    facts = joined_by(FACTS, [*cases("a", 1, "critic"), *cases("b", 2, "critic")])
    assert weight(facts[WITH], "critic") > 0.5
    assert facts[WITHOUT] == FACTS[WITHOUT]
    rows = facts[WITH]["left_out"]["a"]["5%"]
    assert rows["fused"] > rows["before"] + 0.2
    assert facts[WITH]["margins"]["0.9"] <= facts[WITH]["margins"]["0.99"]


def test_a_critic_that_harms_is_refused() -> None:
    """What one source teaches about it, the other contradicts."""
    other = cases("b", 2, "critic")
    for one in other:
        one.matrix[:, NAMES.index("critic")] *= -1
    facts = joined_by({**FACTS, WITH: "of weights before"}, [*cases("a", 1, "critic"), *other])
    assert WITH not in facts
    assert facts[REFUSED]["left_out"]["a"]["5%"]["fused"] <= 1.0


@pytest.mark.parametrize(("told_by", "read"), [("critic", True), ("lexical", False)])
def test_talk_is_read_only_where_that_helps(told_by: str, read: bool) -> None:
    both = [*cases("a", 1, "critic"), *cases("b", 2, "critic"), *cases(TALK, 3, told_by)]
    fitted = joined_by(FACTS, both)[WITH]
    told = [weight(fitted, name) for name in NAMES if name.startswith("talk: critic")]
    assert any(told) == read
    assert weight(fitted, "critic") > 0.5


class Oracle:
    """A critic that knows."""

    name = "oracle"

    def score(self, query: Any, units: Any) -> list[float]:
        return [float(unit.text.startswith("Fact")) for unit in units]


def test_held_out_questions_alone_are_used() -> None:
    examples = [example(at, answer=f"value {at}") for at in range(30)]
    facts = joined(FACTS, Oracle(), open_encoder("lexical"), examples)
    fitted = facts.get(WITH) or facts[REFUSED]
    held = sum(one.passage.held_out for one in examples)
    assert 0 < held < 20
    assert fitted["cases"]["nq"] == held
    with pytest.raises(BadInput, match="expected a fusion of the features"):
        joined({**FACTS, "features": ["x"]}, Oracle(), open_encoder("lexical"), examples)

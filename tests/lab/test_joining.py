"""A trained critic joins the fusion where held-out sources say that it helps, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.core import BadInput
from harness.rag.compress.critics.features import NAMES
from harness.rag.retrieve import open_encoder
from lab.training.compressor.fusion import (
    REFUSED,
    START,
    TALK,
    WITH,
    WITHOUT,
    Case,
    joined,
    joined_by,
)
from tests.rag.compress.test_fused import example

PRIOR = [float(name in ("embedding", "talk: embedding")) for name in NAMES]
FACTS: dict[str, Any] = {"features": list(NAMES), WITHOUT: {"weights": PRIOR, "margins": {}}}


def cases(source: str, seed: int, critic: float) -> list[Case]:
    """The embedding says a little of what is gold, the critic so much more; others are noise."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    for number in range(20):
        matrix = rng.normal(size=(20, len(NAMES))) * 0.5
        matrix[:, [name.startswith("talk: ") for name in NAMES]] = 0  # as in all that is no talk
        gold = np.zeros(20, dtype=bool)
        gold[rng.integers(20)] = True
        matrix[gold, NAMES.index("embedding")] += 0.6
        matrix[gold, NAMES.index("critic logit")] += critic
        found.append(Case(source, matrix, gold, np.ones(20), f"{source} {number % 2}"))
    return found


def weight(fitted: dict[str, Any], name: str) -> float:
    return dict(zip(NAMES, fitted["weights"], strict=True))[name]


def test_a_critic_that_helps_gets_its_weight() -> None:
    facts = joined_by(FACTS, [*cases("nq", 1, 2.0), *cases("qed", 2, 2.0)])
    fitted = facts[WITH]
    assert weight(fitted, "critic logit") > START
    assert weight(fitted, "embedding") > 0.5
    assert weight(fitted, "talk: embedding") == 1.0
    assert facts[WITHOUT] == FACTS[WITHOUT]
    rows = fitted["left_out"]["nq"]["5%"]
    assert rows["fused"] > rows["before"] + 0.2
    assert fitted["margins"]["0.9"] <= fitted["margins"]["0.99"]


def test_a_critic_that_helps_one_source_and_lies_in_the_other_is_refused() -> None:
    """Each source's fit is judged by the other's."""
    before = {**FACTS, WITH: "of weights before"}
    facts = joined_by(before, [*cases("nq", 1, 2.0), *cases("qed", 2, -2.0)])
    assert WITH not in facts
    for source in ("nq", "qed"):
        rows = facts[REFUSED]["left_out"][source]["20%"]
        assert rows["fused"] < rows["before"] - 0.1


def test_one_source_is_not_enough() -> None:
    with pytest.raises(BadInput, match="two sources"):
        joined_by(FACTS, [*cases("nq", 1, 2.0), *cases("nq long", 2, 2.0), *cases(TALK, 3, 2.0)])


class Oracle:
    """A critic that knows."""

    name = "oracle"

    def score(self, query: Any, units: Any) -> list[float]:
        return [float(unit.text.startswith("Fact")) for unit in units]


def test_held_out_questions_alone_are_used() -> None:
    examples = [
        replace(one, passage=replace(one.passage, source=source))
        for source in ("nq_oracle", "qed")
        for one in (example(at, answer=f"value {at}") for at in range(30))
    ]
    facts = joined(FACTS, Oracle(), open_encoder("lexical"), examples)
    held = sum(one.passage.held_out for one in examples) // 2
    assert 0 < held < 20
    fitted = facts.get(WITH) or facts[REFUSED]  # the embedding knows as much
    assert fitted["cases"] == {"nq": held, "nq long": held, "qed": held}
    with pytest.raises(BadInput, match="expected a fusion of the features"):
        joined({**FACTS, "features": ["x"]}, Oracle(), open_encoder("lexical"), examples)

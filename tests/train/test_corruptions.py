"""Rules that change what a sentence says, and the split of the evaluation sets."""

from __future__ import annotations

import random

import pytest

from harness.train.verifier.corruptions import (
    Context,
    Rule,
    change_number,
    exchange,
    negate,
    shift_month,
    shorten,
    splice,
    strengthen,
    truncate,
)
from harness.train.verifier.features import is_tuning
from harness.train.verifier.wordnet import Replacements

SENTENCE = (
    "In March 1912 Arlen Mills, a company of weavers, was sold to Bexley Council after many "
    "years of debt in the valley."
)
OTHER = "The harbour of Corin was widened twice before the railway came to the coast at last."


def _context() -> Context:
    words = Replacements({"same": {}, "opposite": {"open": ["close"]}, "sibling": {}})
    return Context([SENTENCE, OTHER], [OTHER], words, random.Random(1))


@pytest.mark.parametrize("rule", [change_number, exchange, negate, shift_month, splice, strengthen])
def test_changing_rules_change(rule: Rule) -> None:
    found = rule(SENTENCE, _context())
    assert found is not None
    assert found != SENTENCE


@pytest.mark.parametrize("rule", [shorten, truncate])
def test_keeping_rules_only_leave_out(rule: Rule) -> None:
    found = rule(SENTENCE, _context())
    assert found is not None
    assert len(found) < len(SENTENCE)
    assert set(found.replace(",", "").split()) <= set(SENTENCE.replace(",", "").split()) | {
        found.split()[-1]
    }


def test_negation_goes_in_and_out() -> None:
    without = negate("It was not sold.", _context())
    assert without == "It was sold."
    assert negate("It was sold.", _context()) in ("It was not sold.", "It was never sold.")


def test_replacement_keeps_the_inflection() -> None:
    words = _context().words
    assert words.pick("opened", "opposite", random.Random(0)) == "closed"
    assert words.pick("Opening", "opposite", random.Random(0)) == "Closing"
    assert words.pick("sang", "opposite", random.Random(0)) is None


def test_split_is_by_text_and_about_three_tenths() -> None:
    share = sum(is_tuning(f"document {number}") for number in range(2000)) / 2000
    assert 0.26 < share < 0.34
    assert [is_tuning(one) for one in "abcd"] == [False, False, False, True]

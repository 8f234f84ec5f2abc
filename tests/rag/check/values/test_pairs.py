"""Claimed values in sentences, by both verifiers: cases of an issue, 300 pairs.

    python -m tests.rag.check.values.test_pairs [--part development|kept|issue]

prints what is judged wrong. Each pair is the document's sentence and the claim's, alike but for the
value; right claims must pass, wrong ones must not.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from harness.rag.check import check

HERE = Path(__file__).parent
Part = Literal["development", "kept"]
LEAST = 0.95
"""Share of right claims that must pass, and of wrong ones that must not."""


class Pair(NamedTuple):
    """A document's sentence and a claim, of a kind; whether the claim is right."""

    kind: str
    document: str
    claim: str
    right: bool


def pairs(name: str) -> list[Pair]:
    """The pairs of a file."""
    kind, frame, cases = "", "{}", list[Pair]()
    for line in (HERE / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line.startswith("@ "):
            frame = line[2:]
        elif line and not line.startswith("#"):
            right = " = " in line
            stated, claimed = line.split(" = " if right else " ! ")
            cases.append(Pair(kind, frame.format(stated), frame.format(claimed), right))
    return cases


def halves(cases: list[Pair]) -> dict[Part, list[Pair]]:
    """Pairs for development and pairs kept for the end, by a seeded coin."""
    coin = random.Random(22)
    parts: dict[Part, list[Pair]] = {"development": [], "kept": []}
    for pair in cases:
        parts["development" if coin.random() < 0.5 else "kept"].append(pair)
    return parts


ISSUE, PAIRS = pairs("issue.txt"), pairs("pairs.txt")


def passes(pair: Pair, verifier: str) -> bool:
    """Return True if the claim passes against the document."""
    return check(pair.claim, pair.document, verifier=verifier).verdict == "PASS"


@pytest.mark.parametrize("verifier", ["rules", "auto"])
@pytest.mark.parametrize("pair", ISSUE, ids=lambda pair: f"{pair.kind}: {pair.claim}"[:60])
def test_cases_of_the_issue(pair: Pair, verifier: str) -> None:
    assert passes(pair, verifier) is pair.right


@pytest.mark.parametrize("verifier", ["rules", "auto"])
@pytest.mark.parametrize("right", [True, False])
def test_most_of_300_pairs(right: bool, verifier: str) -> None:
    chosen = [pair for pair in PAIRS if pair.right is right]
    wrong = [pair for pair in chosen if passes(pair, verifier) is not right]
    assert len(chosen) == 150
    assert len(wrong) <= (1 - LEAST) * len(chosen), wrong


def main() -> None:
    """Print the errors and their share."""
    part = sys.argv[2] if len(sys.argv) > 2 else "issue"
    cases = ISSUE if part == "issue" else halves(PAIRS)["kept" if part == "kept" else "development"]
    for verifier in ("rules", "auto"):
        for right in (True, False):
            chosen = [pair for pair in cases if pair.right is right]
            wrong = [pair for pair in chosen if passes(pair, verifier) is not right]
            done = len(chosen) - len(wrong)
            print(f"{verifier}, {'right' if right else 'wrong'}: {done} of {len(chosen)}")
            for pair in wrong if part != "kept" else ():
                print(f"  {pair.kind}: {pair.document} | {pair.claim}")


if __name__ == "__main__":
    main()

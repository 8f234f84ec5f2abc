"""Careful claims about invented documents: wrong ones in one subtle thing, true ones that compute.

    python -m tests.rag.check.careful.test_claims [FILE] [rules|auto]

prints shares found and flagged in FILE (a name below); for development also the errors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.rag.check import check
from harness.rag.check.types import Verdict

HERE = Path(__file__).parent
COUNTS = {
    "development": (28, 50), "kept": (40, 20), "fresh": (36, 24), "later": (24, 18),
    "last": (40, 20), "new": (38, 30), "unread": (40, 20), "independent": (40, 20),
}  # fmt: skip
"""Wrong and true claims of each file."""
MOST_FLAGGED = {"rules": 0.1, "auto": 0.2}
"""Share of true claims, of files that the rules were developed on; new ones fare worse."""


class Case(NamedTuple):
    """A claim about a document, and whether it is true."""

    document: str
    claim: str
    true: bool


def cases(name: str) -> list[Case]:
    """The claims of a file."""
    document, claims = "", list[Case]()
    for line in (HERE / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith(("+ ", "- ")):
            claims.append(Case(document, line[2:], line[0] == "+"))
        elif line and not line.startswith(("#", "==")):
            document = line
    return claims


def flagged(case: Case, verifier: str) -> bool:
    """Return True if the claim does not pass."""
    return check(case.claim, case.document, verifier=verifier).verdict != "PASS"


def contradicted(case: Case, verifier: str) -> bool:
    """Return True if something in the claim is contradicted, and not only found nowhere."""
    claims = check(case.claim, case.document, verifier=verifier).claims
    return any(claim.verdict is Verdict.CONTRADICTED for claim in claims)


def test_every_file_has_its_claims() -> None:
    for name, counts in COUNTS.items():
        true = [case.true for case in cases(name)]
        assert (true.count(False), true.count(True)) == counts


@pytest.mark.parametrize("verifier", ["rules", "auto"])
@pytest.mark.parametrize("name", ["development", "kept", "fresh"])
def test_most_wrong_claims_are_found_and_few_true_ones_flagged(name: str, verifier: str) -> None:
    claims = cases(name)
    wrong = [flagged(case, verifier) for case in claims if not case.true]
    true = [flagged(case, verifier) for case in claims if case.true]
    assert (len(wrong), len(true)) == COUNTS[name]
    assert sum(wrong) >= 0.75 * len(wrong)
    assert sum(true) <= MOST_FLAGGED[verifier] * len(true)


def main() -> None:
    """Print shares, those of contradictions apart, and errors of the development part."""
    name, *verifiers = sys.argv[1:] or ["development"]
    for verifier in verifiers or ["rules", "auto"]:
        for true in (False, True):
            claims = [case for case in cases(name) if case.true is true]
            marked = [case for case in claims if flagged(case, verifier)]
            kind = "true, flagged" if true else "wrong, found"
            denied = sum(contradicted(case, verifier) for case in claims)
            print(f"{verifier}, {kind}: {len(marked)}, contradicted {denied}, of {len(claims)}")
            for case in claims if "-v" in sys.argv or name == "development" else ():
                if (case in marked) is true:
                    for claim in check(case.claim, case.document, verifier=verifier).claims:
                        print(f"  {case.claim} [{claim.text}] {claim.verdict}: {claim.reason}")


if __name__ == "__main__":
    main()

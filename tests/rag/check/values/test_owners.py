"""Claims with a value of somebody else: refused, where the same claim of the right one passes.

    python -m tests.rag.check.values.test_owners [FILE]

prints how many are judged right. `owners.txt` was written in this house while the rule was made:
cases, not a figure. `owners_outside.txt` is by an author who had seen no code; it was run once when
it came, and nothing was chosen on it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.rag.check import check

LEAST = 0.95
"""Share of right claims that must pass, and of swapped ones that must not."""
OUTSIDE = {True: 0.77, False: 0.69}
"""Shares of right claims that passed and of swapped ones that were refused, by the other author."""
TABLE = """\
| Room | Seats 2023 | Seats 2024 |
|---|---|---|
| {0} | 40 | 51 |
| {1} | 43 | 53 |
"""


class Case(NamedTuple):
    """A claim about a document; whether it is right."""

    document: str
    claim: str
    right: bool


def cases(name: str) -> list[Case]:
    """Claims of a file."""
    document, rows = "", list[Case]()
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        mark, text = line.split(" ", 1)
        if mark == "@":
            document = text.replace("\\n", "\n")
        else:
            rows.append(Case(document, text, mark == "="))
    return rows


def wrongly_judged(name: str, right: bool) -> tuple[list[Case], int]:
    """Claims that are right, or swapped, and judged otherwise; and how many there are."""
    chosen = [case for case in cases(name) if case.right is right]
    passed = [check(case.claim, case.document).verdict == "PASS" for case in chosen]
    pairs = zip(chosen, passed, strict=True)
    return [case for case, verdict in pairs if verdict is not right], len(chosen)


@pytest.mark.parametrize("right", [True, False])
def test_a_value_belongs_to_whom_the_document_gives_it(right: bool) -> None:
    wrong, count = wrongly_judged("owners.txt", right)
    assert len(wrong) <= (1 - LEAST) * count, wrong


@pytest.mark.parametrize("right", [True, False])
def test_values_belong_to_their_row_and_column(right: bool) -> None:
    wrong, count = wrongly_judged("rows.txt", right)
    assert len(wrong) <= (1 - LEAST) * count, wrong


@pytest.mark.parametrize("right", [True, False])
def test_claims_by_another_author_are_judged_no_worse(right: bool) -> None:
    wrong, count = wrongly_judged("owners_outside.txt", right)
    assert len(wrong) <= (1 - OUTSIDE[right]) * count, wrong


@pytest.mark.parametrize(
    ("own", "other"),
    [("Hall A", "Hall B"), ("Booth 12", "Booth 14"), ("Studio East", "Studio West"),
     ("Cabin K-7", "Cabin K-9"), ("Anvil", "Bellows")],
)  # fmt: skip
def test_a_row_is_no_other_row(own: str, other: str) -> None:
    table = TABLE.format(own, other)
    assert check(f"In 2024, {own} had 51 seats.", table).verdict == "PASS"
    assert check(f"In 2024, {other} had 51 seats.", table).verdict != "PASS"


@pytest.mark.parametrize(
    "claim",
    [
        "Sven is 29 years old.",  # nobody of that name
        "The lathe was repaired in 2017.",  # no such thing
        "In the evening, the gate was locked at 9 pm.",
    ],
)
def test_whom_no_document_knows_has_no_value(claim: str) -> None:
    document = "Petra is 29 years old. The drill was repaired in 2017. The door was locked at 9 pm."
    assert check(claim, document).verdict != "PASS"


@pytest.mark.parametrize(
    ("document", "claim"),
    [
        ("Nordwind Ltd was founded in 1990. The firm has 300 employees.",
         "Nordwind Ltd has 300 employees."),
        ("Irene Moreau came to Lyon in 2004. She opened a bakery in 2009.",
         "Irene Moreau opened a bakery in 2009."),
        ("| Name | Born |\n|---|---|\n| Otto Falk | 3 May 1970 |\n| Ida Krey | 9 June 1981 |\n\n"
         "Irene Moreau came to Lyon in 2004. She opened a bakery in 2009.",
         "Irene Moreau opened a bakery in 2009."),
        ("The UN sent 40 trucks.", "The United Nations sent 40 trucks."),
        ("Dr. Irene Moreau signed the lease in 2011.", "Moreau signed the lease in 2011."),
        ("40 trucks were sent by the northern depot.", "The northern depot sent 40 trucks."),
    ],
)  # fmt: skip
def test_other_words_for_the_same_pass(document: str, claim: str) -> None:
    assert check(claim, document).verdict == "PASS"


def main() -> None:
    """Print the share of each kind that is judged right."""
    for right in (True, False):
        wrong, count = wrongly_judged([*sys.argv[1:], "owners_outside.txt"][0], right)
        print("right" if right else "swapped", f"{count - len(wrong)} of {count}")


if __name__ == "__main__":
    main()

"""Rules that an agent cannot follow both."""

from __future__ import annotations

import pytest

from harness.evolve.merge.contradictions import contradictions, disagreement, sides
from harness.evolve.merge.lessons import Lesson

OPPOSED = [
    (
        "For summaries, prefer calculating the final values in Python over copying formulas.",
        "Never evaluate formulas before writing; keep the formula string.",
    ),
    ("Always create a fresh workbook for the output.", "Copy the source workbook, then edit it."),
    ("Clear all existing fills first.", "Apply styles without overwriting existing formats."),
    ("Start from row 2 to skip the header.", "Find columns rather than assuming fixed positions."),
    ("Prefer INDEX over VLOOKUP.", "Use VLOOKUP to look a price up."),
    ("Avoid nested array formulas.", "Match two columns with boolean multiplication."),
    ("Iterate over the specified range.", "Use ws.max_row, not boundaries from the task."),
    ("openpyxl does not compute formulas.", "Read back computed values of the formula cells."),
    ("Add 1 to pandas row indices.", "Add 2 to pandas row indices."),
    ("Sort dates in ascending order.", "Sort dates in descending order."),
]
COMPATIBLE = [
    ("Never use copy.deepcopy on styles.", "Always copy the source workbook first."),
    ("Verify that formulas give computed values.", "Preserve the formula string of moved cells."),
    ("Use pandas for sums.", "Use openpyxl for styles."),
    ("Check whether a formula or a computed value is wanted.", "Never evaluate formulas."),
    ("When a total is asked for, compute the values.", "When text is moved, preserve formulas."),
    ("Use both VLOOKUP and INDEX.", "Check not just VLOOKUP but its result."),
    ("Sort the names in ascending order.", "Delete rows in descending order."),
]


def lesson(text: str, source: str) -> Lesson:
    return Lesson(title="", text=text, sources=(source,))


@pytest.mark.parametrize(("first", "second"), OPPOSED)
def test_opposite_sides_of_one_matter(first: str, second: str) -> None:
    assert disagreement(sides(first), sides(second))
    assert disagreement(sides(second), sides(first))


@pytest.mark.parametrize(("first", "second"), COMPATIBLE)
def test_rules_that_can_be_followed_together(first: str, second: str) -> None:
    assert disagreement(sides(first), sides(second)) == ""


def test_equal_lessons_are_one_side_and_one_run_does_not_contradict_itself() -> None:
    fresh, copied = OPPOSED[1]
    lessons = [lesson(fresh, "a"), lesson(fresh, "b"), lesson(copied, "c")]
    assert [(pair.one, pair.two) for pair in contradictions(lessons)] == [((0, 1), (2,))]
    assert contradictions([lesson(fresh, "a"), lesson(copied, "a")]) == []

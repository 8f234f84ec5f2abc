"""Rules that an agent cannot follow both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.evolve.merge.contradictions import (
    contradictions,
    disagreement,
    settle,
    sides,
)
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.speakers import parted

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
    ("openpyxl does not compute formulas.", "Read back computed values of the formula cells."),
    ("Add 1 to pandas row indices.", "Add 2 to pandas row indices."),
    ("Always round to two digits.", "Never round to two digits."),
    ("Sort dates in ascending order.", "Sort dates in descending order."),
]
COMPATIBLE = [
    ("For totals, compute the values.", "When text is moved, preserve formulas."),
    ("Identify columns by position as a fallback.", "Avoid hardcoded column positions."),
    ("Rather than VLOOKUP, use INDEX.", "Prefer old functions (VLOOKUP) over new ones."),
    ("Never use copy.deepcopy on styles.", "Always copy the source workbook first."),
    ("Verify that formulas give computed values.", "Preserve the formula string of moved cells."),
    ("Use pandas for sums.", "Use openpyxl for styles."),
    ("Check whether a formula or a computed value is wanted.", "Never evaluate formulas."),
    ("When a total is asked for, compute the values.", "When text is moved, preserve formulas."),
    ("Use both VLOOKUP and INDEX.", "Check not just VLOOKUP but its result."),
    ("Sort the names in ascending order.", "Delete rows in descending order."),
    ("To clear fills, create an empty pattern.", "Apply styles without overwriting formats."),
    ("Never evaluate formulas.", "Prefer relative references or pre-computed values."),
    ("Do not evaluate formulas unless asked.", "If text is wanted, use computed values."),
    ("Write the rows starting at row 2.", "Find columns rather than assuming fixed positions."),
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


def test_of_contradicting_rules_the_far_better_supported_stays_or_neither() -> None:
    fresh, copied = OPPOSED[1]
    clear, keep = OPPOSED[2]
    texts = [copied, fresh, clear, keep, "Name every sheet."]
    rules = [lesson(text, name) for text, name in zip(texts, "abcde", strict=True)]
    withheld, conflicts = settle(rules, [3, 1, 1, 1, 1])
    assert sorted(withheld) == [1, 2, 3]
    assert copied in withheld[1] and "fresh workbook" in withheld[1]
    assert [(row.kept, len(row.withheld)) for row in conflicts] == [(copied, 1), ("", 2)]


def test_a_rule_that_is_withheld_withholds_no_other() -> None:
    fresh, copied = OPPOSED[1]
    texts = [copied, fresh, "Copy the input file first."]
    rules = [lesson(text, name) for text, name in zip(texts, "abc", strict=True)]
    withheld, conflicts = settle(rules, [3, 1, 1])
    assert list(withheld) == [1] and len(conflicts) == 1


def test_opposites_that_sound_alike_are_parted() -> None:
    up, down = OPPOSED[9]
    lessons = [lesson(text, name) for text, name in zip((up, down, up), "abc", strict=True)]
    assert parted([0, 1, 2], lessons) == [[0, 2], [1]]
    assert parted([0, 2], lessons) == [[0, 2]]


PATCHES = "data/dev/spreadsheet_skill_patches.jsonl"


def test_contradictions_of_recorded_lessons_are_found_as_the_benchmark_says(shared: Path) -> None:
    """A floor under precision and recall on the labelled pairs."""
    from benchmarks.evolution import contradictions as benchmark

    stored = json.loads(benchmark.LABELS.read_text("utf-8"))
    texts = benchmark.read(shared / PATCHES, stored["run"])

    def flags(pair: str) -> bool:
        first, second = pair.split()
        return disagreement(sides(texts[first]), sides(texts[second])) != ""

    labels = stored["labels"]
    result = benchmark.row(labels, flags)
    assert benchmark.kappa(labels) > 0.9
    assert result["precision"]["share"] >= 0.85
    assert result["recall"]["share"] >= 0.35

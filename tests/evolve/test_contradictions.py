"""Rules that an agent cannot follow both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core import Edit
from harness.evolve.merge.contradictions import contradictions, disagreement, settle, sides
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


def rule(text: str, *sources: str) -> Edit:
    content = f"- {text}"
    return Edit(
        file="SKILL.md", op="append_to_section", content=content, sources=sources,
        support=len(sources),
    )  # fmt: skip


def test_of_contradicting_rules_the_far_better_supported_stays_or_neither() -> None:
    fresh, copied = OPPOSED[1]
    clear, keep = OPPOSED[2]
    rules = [rule(copied, "a", "b", "c"), rule(fresh, "d"), rule(clear, "e"), rule(keep, "f")]
    remaining, discarded, conflicts = settle([*rules, rule("Name every sheet.", "g")])
    assert [edit.content for edit in remaining] == [f"- {copied}", "- Name every sheet."]
    assert [row.sources for row in discarded] == [("d",), ("e",), ("f",)]
    assert all("contradicts" in row.reason for row in discarded)
    assert [(row.kept, len(row.withheld)) for row in conflicts] == [(f"- {copied}", 1), ("", 2)]


def test_a_rule_that_is_withheld_withholds_no_other() -> None:
    fresh, copied = OPPOSED[1]
    again = "Start with a blank workbook for the result."
    rules = [rule(copied, "a", "b", "c"), rule(fresh, "d"), rule("Copy the input file first.", "e")]
    remaining, _, conflicts = settle(rules)
    assert [edit.sources for edit in remaining] == [("a", "b", "c"), ("e",)]
    assert len(conflicts) == 1
    assert len(settle([*rules, rule(again, "f")])[2]) == 2


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
    assert result["recall"]["share"] >= 0.45

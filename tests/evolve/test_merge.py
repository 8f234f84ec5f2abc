"""The deterministic merge: support, contradictions, wording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.core import Patch
from harness.evolve.analysts.records import to_patch
from harness.evolve.merge.contradictions import contradictions
from harness.evolve.merge.deterministic import merge_deterministic
from harness.evolve.merge.lessons import Cause, Lesson, Lessons
from harness.evolve.merge.speakers import distinct, joined, parted, speakers
from harness.evolve.merge.wording import compact, residue
from harness.evolve.types import AnalystRecord, MemoryItem

VERIFY = "Reload the saved workbook and verify that the changes persisted."


# The first four ask for the same report, in two pairs of like wordings.
REPORTS = [
    "Log a summary at the end: which columns were changed, and which rows.",
    "Print a summary of changes: formulas, styles and rows that were changed.",
    "Log how many rows were changed, and where the output begins.",
    "Print the number of rows before and after, and where the output ends.",
    "Round amounts to cents before you add them up.",
    "Write dates as dates, so that they sort.",
    "Copy fonts and borders with each cell.",
]


def patch(trajectory: str, *lessons: str, task: str = "") -> Patch:
    items = tuple(MemoryItem(title="Some rule", lesson=text) for text in lessons)
    record = AnalystRecord(
        kind="error", trajectory_id=trajectory, task_id=task or trajectory, items=items
    )
    return to_patch(record, 1)


def test_support_is_counted_in_distinct_tasks() -> None:
    patches = [patch("a", VERIFY), patch("a@1", VERIFY), patch("b", VERIFY)]
    merged = merge_deterministic(patches, {"a": "a", "a@1": "a", "b": "b"})
    assert [(edit.support, edit.sources) for edit in merged.patch.edits] == [(2, ("a", "a@1", "b"))]


def test_every_source_is_kept_or_listed() -> None:
    patches = [
        patch("a", VERIFY, "Sort the deletions from the highest row to the lowest."),
        patch("b", "Reload the workbook after saving and verify the changes."),
        patch("c", "Write results to /tmp/run_17/out.xlsx before anything else happens."),
    ]
    merged = merge_deterministic(patches, {name: name for name in "abc"})
    kept = {source for edit in merged.patch.edits for source in edit.sources}
    listed = {source for row in merged.discarded if not row.rule for source in row.sources}
    assert kept | listed == {"a", "b", "c"}
    assert listed == {"c"}
    (said,) = (row for row in merged.discarded if row.rule)
    assert said.sources == ("b",) and VERIFY in said.rule
    assert merged.patch.edits[0].support == 2


def test_the_same_patches_give_the_same_bytes() -> None:
    patches = [patch(name, VERIFY, f"Rule number {name} about another thing.") for name in "abcd"]
    tasks = {name: name for name in "abcd"}
    assert merge_deterministic(patches, tasks) == merge_deterministic(patches, tasks)


def test_equal_sides_of_a_contradiction_are_both_withheld() -> None:
    sums = ["Prefer pandas for sums.", "Never use pandas for sums."]
    patches = [patch("a", sums[0]), patch("b", sums[1]), patch("c", VERIFY)]
    merged = merge_deterministic(patches, {name: name for name in "abc"})
    (conflict,) = merged.conflicts
    assert sorted(conflict.withheld) == sorted(f"Some rule. {text}" for text in sums)
    assert all("pandas" not in edit.content for edit in merged.patch.edits)


def test_far_more_support_settles_a_contradiction() -> None:
    prefer = [patch(name, "Prefer pandas for the aggregation of large tables.") for name in "abc"]
    never = patch("d", "Never use pandas for the aggregation of large tables.")
    merged = merge_deterministic([*prefer, never], {name: name for name in "abcd"})
    assert "3 tasks teach the opposite" in merged.discarded[0].reason
    assert [edit.support for edit in merged.patch.edits] == [3]


def test_what_running_confirms_is_not_outvoted() -> None:
    prefer = [patch(name, "Prefer pandas for the aggregation of large tables.") for name in "abc"]
    never = patch("d", "Never use pandas for the aggregation of large tables.")
    wording = "Some rule. Never use pandas for the aggregation of large tables."
    tasks = {name: name for name in "abcd"}
    merged = merge_deterministic([*prefer, never], tasks, confirmed=frozenset({wording}))
    assert all("teach the opposite" not in row.reason for row in merged.discarded)


def test_refusing_one_thing_does_not_contradict_using_another() -> None:
    lessons = [
        Lesson(title="", text="Never use copy.deepcopy on style objects.", sources=("a",)),
        Lesson(title="", text="Always copy the source workbook first.", sources=("b",)),
        Lesson(title="", text="Never assume pandas column names are right.", sources=("c",)),
        Lesson(title="", text="Use pandas for aggregation.", sources=("d",)),
        Lesson(title="", text="Cells do not have an address attribute.", sources=("e",)),
    ]
    assert contradictions(lessons) == []


def test_opposite_ends_of_a_scale() -> None:
    lessons = [
        Lesson(title="", text="Always delete rows in reverse order.", sources=("a",)),
        Lesson(title="", text="Always delete rows in forward order.", sources=("b",)),
    ]
    assert len(contradictions(lessons)) == 1


def test_residue_of_a_benchmark_is_seen() -> None:
    terms = frozenset({"answer_position"})
    assert residue("Write only inside answer_position.", terms) == "answer_position"
    assert residue("Read task 120-24 first.") == "120-24"
    assert residue("Save to /data/x/y.xlsx.") != ""
    assert residue("Parse both ends of the range before iterating.", terms) == ""


def test_asides_go_and_a_full_stop_comes() -> None:
    lesson = Lesson(title="Bounds Check Pattern", text="parse ranges (e.g., 'H1:I10') to numbers")
    assert compact(lesson).markdown() == "- **Bounds Check**: Parse ranges to numbers."


def causes_of(
    texts: list[str], causes: list[list[int]], quotes: str = ""
) -> tuple[Lessons, list[Cause]]:
    """Causes, each of some of the lessons, one lesson a task."""
    lessons = Lessons(
        rows=[Lesson(title="", text=text, sources=(f"t{n}",)) for n, text in enumerate(texts)],
        tasks={},
        quotes=[(quotes,) if quotes else ()] * len(texts),
        praise=[False] * len(texts),
    )
    return lessons, [
        Cause(number, members, lessons.rows[members[0]], lessons.sources(members), praise=False)
        for number, members in enumerate(causes)
    ]


def said_by(texts: list[str], causes: list[list[int]], quotes: str = "") -> list[int]:
    """Number, for every cause, the first cause whose rule says the same."""
    lessons, rules = causes_of(texts, causes, quotes)
    return [cause.number for cause in speakers(lessons, rules)]


def test_lessons_without_quotes_that_one_rule_says_support_it() -> None:
    texts = ["Copy fonts.", "Round amounts.", "Round amounts to cents.", "Amounts have cents."]
    lessons, rules = causes_of(texts, [[0], [1], [2], [3]])
    speaking = [rules[0], *[rules[1]] * 3]
    whole = joined(lessons, rules, speaking)
    assert [(cause.number, list(cause.members), swallowed) for cause, swallowed in whole] == [
        (1, [1, 2, 3], []), (0, [0], []),
    ]  # fmt: skip
    assert whole[0][0].sources == ("t1", "t2", "t3")


def test_lessons_that_one_rule_says_support_it_whatever_their_runs_show() -> None:
    lessons, rules = causes_of(["Round amounts.", "Round amounts to cents."], [[0], [1]], "a run")
    ((cause, echoes),) = joined(lessons, rules, [rules[0], rules[0]])
    assert (cause.members, echoes) == ([0, 1], [])
    praise = replace(rules[1], praise=True)
    ((cause, echoes),) = joined(lessons, [rules[0], praise], [rules[0], rules[0]])
    assert (cause.members, echoes) == ([0], [[1]])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Escalate refunds over 500 to legal.", "Escalate refunds over 50 to finance."),
        ("Escalate refunds over 500.", "Escalate refunds over 50."),
        ("Escalate refunds of guests to legal.", "Escalate refunds of guests to finance."),
        ("Answer returns when the seal is broken.", "Answer returns when the seal is not broken."),
        ("Grant it within the first month.", "Grant it after the first month."),
    ],
)
def test_a_number_a_name_or_a_negation_keeps_lessons_apart(first: str, second: str) -> None:
    patches = [patch(f"a{n}", first) for n in range(3)] + [patch(f"b{n}", second) for n in range(3)]
    merged = merge_deterministic(patches, {})
    texts = {edit.content.partition("**: ")[2]: edit.support for edit in merged.patch.edits}
    withheld = {text for conflict in merged.conflicts for text in conflict.withheld}
    assert texts == {first: 3, second: 3} or len(withheld) == 2


@pytest.mark.parametrize(
    "other",
    [
        "Refuse refunds for orders that were delivered over 30 days ago.",
        "Deny a refund when the order was delivered more than 30 days ago!",
        "Deny a refund if an order was delivered more than 30 days ago.",
    ],
)
def test_other_words_for_the_same_do_not(other: str) -> None:
    own = "Deny a refund when the order was delivered more than 30 days ago."
    assert not distinct(own, other) and not distinct(other, own)


def test_other_answers_keep_lessons_apart() -> None:
    lessons = [
        Lesson(title="", text=f"{word} means {label}.", sources=(word,))
        for word, label in [("Straw", "risk"), ("A straw roof", "high_risk"), ("Thatch", "risk")]
    ]
    assert parted([0, 1, 2], lessons, ("risk", "high_risk")) == [[0, 2], [1]]


def test_what_is_one_cause_in_two_groups_has_the_tasks_of_both() -> None:
    merged = merge_deterministic([patch(f"t{n}", text) for n, text in enumerate(REPORTS)], {})
    assert [edit.support for edit in merged.patch.edits] == [4, 1, 1, 1]
    assert [len(rule.members) for rule in merged.rules] == [4, 1, 1, 1]


def test_a_rule_that_says_no_more_than_lessons_of_a_better_one_is_no_rule() -> None:
    texts = [
        "List the sheets before you choose.",
        "Inspect the columns as soon as the file is read.",
        "Look at every header for typos.",
        "As soon as a file is read, inspect its columns for names.",
        "Round the amounts to cents.",
    ]
    assert said_by(texts, [[0, 1, 2], [3], [4]]) == [0, 0, 2]
    assert said_by(texts, [[3], [0, 1, 2], [4]]) == [1, 1, 2]
    assert said_by(texts, [[0, 1, 2], [3], [4]], quotes="what the run did") == [0, 1, 2]


def test_rules_that_state_the_same_fact_of_code_are_one() -> None:
    texts = [
        "Formulas with MATCH that are set by openpyxl are stored as text; no cell gets a number.",
        "Mind that openpyxl keeps all formulas as strings.",
        "Write formulas with openpyxl, which keeps formulas as strings, before you save.",
        "openpyxl counts rows from 1.",
    ]
    causes = [[0], [1], [2], [3]]
    assert said_by(texts, causes, quotes="what the run did") == [0, 0, 2, 3]


def test_rules_for_the_same_report_in_other_words_are_one() -> None:
    assert said_by(REPORTS, [[0, 1], [2, 3], [4], [5], [6]]) == [0, 0, 2, 3, 4]


def test_the_better_supported_of_two_rules_stays_wherever_it_stands() -> None:
    texts = [
        "Check that a cell is no empty text before it becomes a number.",
        "Check the type of a cell before it becomes a number.",
        "A cell may be empty: check the type before it becomes a number.",
        "Copy fonts and borders with each cell.",
    ]
    assert said_by(texts, [[0], [3], [1, 2]]) == [2, 1, 2]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (
            "Take two points off for a late hand-in.",
            "Take 2 points off if the hand-in is late.",
            "",
        ),
        (
            "Take two points off for a late hand-in.",
            "Take one point off for a late hand-in.",
            "number",
        ),
        (
            "Take two points off for a late hand-in.",
            "Take two points off for a wrong formula.",
            "case",
        ),
        ("Award 3 points if a step is missing.", "Give 4 of 5 if one step is missing.", "number"),
        ("Use one sheet.", "Use a single sheet.", ""),
    ],
)
def test_rules_on_points_differ_by_their_amount_and_their_case(
    first: str, second: str, reason: str
) -> None:
    assert distinct(first, second) == distinct(second, first) == reason

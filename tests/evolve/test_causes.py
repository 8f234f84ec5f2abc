"""Lessons become one rule if their evidence shows the same cause."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import Patch
from harness.evolve.analysts.records import to_patch
from harness.evolve.merge.deterministic import merge_deterministic
from harness.evolve.merge.evidence import opposition, outvoted, typical
from harness.evolve.merge.lessons import Lesson
from harness.evolve.types import AnalystRecord, MemoryItem, Merge

CAPITALS, COPIED = "Convert names to capitals.", "I copy the spelling of the table."
PERCENT, QUOTIENT = "Convert the quotient to percent.", "I leave the quotient as it is."
CANCELLED = "Row 4 was cancelled, I count it all the same."
IDLE = "Think step by step and stay calm."

Said = tuple[str, str]
"""A lesson and what it quotes."""


def merged(*records: list[Said]) -> Merge:
    """The merge of one record a task."""
    patches: list[Patch] = []
    citations: dict[tuple[str, str], tuple[str, ...]] = {}
    for number, lines in enumerate(records):
        name = f"t{number}"
        items = tuple(MemoryItem(title="Advice", lesson=lesson) for lesson, _ in lines)
        record = AnalystRecord(kind="error", trajectory_id=name, task_id=name, items=items)
        patches.append(to_patch(record, number + 1))
        citations |= {(name, lesson): (quote,) for lesson, quote in lines if quote}
    return merge_deterministic(patches, {}, citations=citations)


def supports(merge: Merge) -> dict[str, int]:
    return {edit.content.partition("**: ")[2]: edit.support for edit in merge.patch.edits}


def test_lessons_that_sound_alike_but_quote_otherwise_are_two_rules() -> None:
    merge = merged(*[[(CAPITALS, COPIED)]] * 6, [(PERCENT, QUOTIENT)])
    assert supports(merge) == {CAPITALS: 6, PERCENT: 1}


def test_the_same_words_from_other_evidence_add_up() -> None:
    merge = merged(*[[(CAPITALS, COPIED)]] * 3, [(CAPITALS, QUOTIENT)], [(CAPITALS, CANCELLED)])
    assert supports(merge) == {CAPITALS: 5}
    assert not merge.discarded


def test_paraphrases_meet_at_what_they_quote() -> None:
    merge = merged(
        [("Skip cancelled orders.", CANCELLED)],
        [("What was called off is void.", "Row 7 was cancelled, I count it all the same.")],
    )
    assert list(supports(merge).values()) == [2]
    assert [member.sources for member in merge.rules[0].members] == [("t0",), ("t1",)] or [
        member.sources for member in merge.rules[0].members
    ] == [("t1",), ("t0",)]


def test_a_lesson_supports_the_rule_that_says_it_and_not_the_one_that_quotes_what_it_quotes() -> (
    None
):
    merge = merged(*[[(CAPITALS, COPIED)]] * 4, *[[(PERCENT, QUOTIENT)]] * 4, [(PERCENT, COPIED)])
    assert supports(merge) == {CAPITALS: 4, PERCENT: 5}
    assert not merge.discarded


def test_equal_quotes_alone_make_no_rule_of_lessons_that_share_no_words() -> None:
    decision = "Nothing fits, so it is filed under other."
    merge = merged(
        *[[("Forward alarms of the boiler to the fitter.", decision)]] * 3,
        *[[("Refuse visitors without a badge.", decision)]] * 2,
    )
    assert sorted(supports(merge).values()) == [2, 3]
    assert not merge.discarded


def test_a_number_that_several_tasks_teach_is_no_trace_of_one() -> None:
    merge = merged(
        [("Reject parcels above 120 kilos.", "It weighs 131 kilos.")],
        [("Reject parcels that weigh more than 120 kilos.", "It weighs 150 kilos.")],
    )
    assert sum(supports(merge).values()) == 2
    alone = merged([("Reject parcels above 120 kilos.", "It weighs 131 kilos.")])
    assert "particulars" in alone.discarded[0].reason and not alone.rules


def test_without_quotes_lessons_are_grouped_by_wording() -> None:
    merge = merged([(CAPITALS, "")], [("Convert the names to capitals.", "")], [(IDLE, "")])
    assert sorted(supports(merge).values()) == [1, 2]


def taught(*texts: str) -> tuple[list[Lesson], list[frozenset[str]]]:
    """A lesson a task, and the tasks."""
    names = [f"t{number}" for number in range(len(texts))]
    rows = [
        Lesson(title="", text=text, sources=(name,))
        for text, name in zip(texts, names, strict=True)
    ]
    return rows, [frozenset({name}) for name in names]


def test_an_analyst_does_not_speak_against_itself() -> None:
    texts = (
        "Write the sheets into the given workbook.",
        "Never write the sheets of the given workbook into a new book.",
    )
    rows, _ = taught(*texts)
    alike = [row.model_copy(update={"sources": ("t0",)}) for row in rows]
    assert typical([0, 1], rows, [False] * 2) == []
    assert typical([0, 1], alike, [False] * 2) == [0]


def test_a_rule_has_no_wording_that_other_tasks_refuse() -> None:
    """The best supported words are told from their opposite where a rule has too few to tell."""
    before, after = "I round before the summing.", "Do the rounding after the summing."
    taught_right = [[(f"{after[:-1]} of {name}.", "")] for name in ("costs", "weights", "hours")]
    twisted = [[("Do the rounding before the summing.", before)]]
    forbidden = [[("Never do the rounding before the summing.", before)]]
    merge = merged(*taught_right, *twisted, *forbidden)
    assert all("Do the rounding before" not in edit.content for edit in merge.patch.edits)
    rows, tasks = taught("Skip the totals.", *["Never skip the totals."] * 2)
    assert [score > 0 for score in opposition(rows, tasks)] == [True, False, False]


def test_quotes_without_a_word_of_what_is_asked_are_unrelated() -> None:
    aside = "Keep remarks short (e.g. in the first rows)."
    (rule,) = merged(*[[(aside, "The table has 12 rows.")]] * 2).rules
    assert rule.signs and not rule.related


def test_a_fact_is_no_refusal() -> None:
    fact = "Objects of a cell do not have an address attribute; read the coordinate."
    rows, tasks = taught(fact, *["Read the address attribute of objects."] * 3)
    assert outvoted(rows, tasks) == {}
    refusal = "Do not read the address attribute of objects."
    rows, tasks = taught(refusal, *["Read the address attribute of objects."] * 3)
    assert list(outvoted(rows, tasks)) == [0]


def test_a_short_phrase_in_a_long_lesson_is_no_opposite() -> None:
    refusal = "Never copy style objects with the deep function of the copy module"
    rows, tasks = taught(refusal, *["Copy objects."] * 3)
    assert outvoted(rows, tasks) == {}


lessons = st.sampled_from(
    [CAPITALS, PERCENT, IDLE, "Convert the names to capitals.", "Skip cancelled orders.", "Never."]
)
quotes = st.sampled_from(["", COPIED, QUOTIENT, CANCELLED, "Row 9 was cancelled, I count it."])
records = st.lists(st.lists(st.tuples(lessons, quotes), max_size=3), max_size=12)


@given(lines=records)
@settings(max_examples=40, deadline=None)
def test_no_lesson_vanishes(lines: list[list[Said]]) -> None:
    merge = merged(*lines)
    listed = {(row.content, source) for row in merge.discarded for source in row.sources}
    for number, record in enumerate(lines):
        for lesson in {lesson for lesson, _ in record}:
            own = any(
                lesson in edit.content and f"t{number}" in edit.sources
                for edit in merge.patch.edits
            )
            assert own or (f"Advice. {lesson}", f"t{number}") in listed
    for edit in merge.patch.edits:
        assert edit.support == len(edit.sources)


@given(lines=records, seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_the_order_of_records_does_not_matter(lines: list[list[Said]], seed: int) -> None:
    names = [f"t{number}" for number in range(len(lines))]
    order = random.Random(seed).sample(range(len(lines)), len(lines))
    one = merged(*lines)
    two = merged(*(lines[number] for number in order))
    turned = {
        (edit.content, frozenset(names[order[int(source[1:])]] for source in edit.sources))
        for edit in two.patch.edits
    }
    assert turned == {(edit.content, frozenset(edit.sources)) for edit in one.patch.edits}

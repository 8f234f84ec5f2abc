"""The wording of a rule: a source's own words, never joined, and short for its reader."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.wording import (
    MAX_WORDS,
    best_wording,
    compact,
    condition_first,
    content_words,
    fault,
    says_something,
    vague,
)

WORDS = ["when", "the", "cell", "is", "empty", "read", ".value", "`ws.max_row`", "before", "saving",
         "check", "if", "not", "(e.g., one)", "(like this)", "twice,", "rows;", "it.", "Keep",
         ":", ".", ",", "because", "-", "func(like=3)", "ensuring", "\u2014"]  # fmt: skip


def shortened(text: str) -> str:
    return compact(Lesson(title="", text=text)).text


def test_a_word_that_begins_with_a_dot_is_not_joined_to_the_one_before() -> None:
    text = "Read back the .value property of formula cells."
    assert shortened(text) == text
    assert shortened("Use the method . Then save , twice .") == "Use the method. Then save, twice."


def test_code_is_no_aside() -> None:
    text = "Select columns with `df.filter (like='price')` and drop the others."
    assert shortened(text) == text
    assert shortened("Skip rows (likely empty) in the sheet.") == (
        "Skip rows (likely empty) in the sheet."
    )
    assert shortened("Skip rows (like totals) in it.") == "Skip rows in it."


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join))
def test_no_word_comes_that_the_source_does_not_have(text: str) -> None:
    def bare(words: str) -> Counter[str]:
        return Counter(word.strip(".,;:").casefold() for word in words.split())

    short = bare(shortened(text))
    del short[""]
    assert not short - bare(text)


def test_a_rule_has_thirty_words_at_most_and_loses_its_reason_first() -> None:
    rule = "When rows are deleted, go from the last row to the first"
    reason = ", because " + " ".join(["every deletion moves all the rows below it"] * 4)
    assert shortened(rule + reason + ".") == rule + "."
    assert shortened(f"{rule}{reason}. Then save.").startswith(rule)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            "Delete rows from the bottom when removing several.",
            "When removing several, delete rows from the bottom.",
        ),
        (
            "List the sheet names before writing any formula.",
            "Before writing any formula, list the sheet names.",
        ),
        (
            "Never delete sheets unless asked explicitly.",
            "Unless asked explicitly, never delete sheets.",
        ),
    ],
)  # fmt: skip
def test_a_closing_condition_goes_to_the_front(text: str, first: str) -> None:
    assert condition_first(text) == first


@pytest.mark.parametrize(
    "text",
    [
        "Check if the cell is empty.",  # no condition, but what is checked
        "Sort the rows and save the file when the total is right.",  # of the second verb only?
        "Use a flag that is set when the data ends.",
        "Read the value before the comma.",  # a place
        "Verify formulas do not include the target cell unless asked to.",  # to include
        "Excel shows an error when the range is empty.",  # a statement
        "Write `x if y else z` where needed.",
        "Skip the header row when it is merged.",  # "it" would come before what it stands for
    ],
)
def test_what_could_change_its_meaning_stays(text: str) -> None:
    assert condition_first(text) == text


def test_the_reader_gets_condition_and_action_before_a_statement() -> None:
    texts = [
        "Row deletion may require careful handling of indices.",
        "The indices of rows shift when rows are deleted from a sheet.",
        "When deleting several rows, go from the last row to the first.",
    ]
    lessons = [Lesson(title="Deletion", text=text) for text in texts]
    wording = best_wording(lessons, [0, 1, 2], frozenset())
    assert wording is not None and wording.text == texts[2]


def test_what_claims_something_of_all_data_comes_last() -> None:
    texts = [
        "After writing, verify that only the new rows contain data.",
        "Verify that only the new rows changed.",
    ]
    lessons = [Lesson(title="Rows", text=text) for text in texts]
    wording = best_wording(lessons, [0, 1], frozenset())
    assert wording is not None and wording.text == texts[1]


def test_a_heading_is_no_rule() -> None:
    assert not says_something("Full Data Coverage.")
    assert says_something("Cover all of the data.")
    assert says_something("Convert names to capitals.")
    assert best_wording([Lesson(title="", text="Full Data Coverage.")], [0], frozenset()) is None
    assert not says_something(" ".join(["word"] * (MAX_WORDS + 1)))


def test_what_is_refused_stands_in_capitals() -> None:
    def line(text: str) -> str:
        return Lesson(title="A title", text=text).for_readers()

    assert line("Avoid hardcoded ranges.") == "- AVOID hardcoded ranges."
    assert line("When saving, do not overwrite it.") == "- When saving, DO NOT overwrite it."
    assert line("Keep what you did not write.") == "- Keep what you did not write."


SOURCES = (
    "When deleting rows, never go from top to bottom.",
    "Use `ws.delete_rows` from the last row to the first.",
)
VOCABULARY = frozenset(word for text in SOURCES for word in content_words(text)) | {"alway"}


@pytest.mark.parametrize(
    ("rewrite", "reason"),
    [
        ("When deleting rows, never go from top to bottom.", ""),
        ("Never go from top to bottom when deleting rows.", ""),
        ("Use `ws.delete_cols` from the last row to the first.", "no source has"),
        ("When deletingrows, never go from top to bottom.", "no source or lesson has"),
        ("When deleting rows, go from top to bottom.", "the reverse"),
    ],
)
def test_a_rewrite_must_say_what_its_sources_say(rewrite: str, reason: str) -> None:
    assert reason in fault(rewrite, SOURCES, VOCABULARY)
    assert bool(fault(rewrite, SOURCES, VOCABULARY)) == bool(reason)


def test_words_of_other_lessons_are_no_meaning() -> None:
    vocabulary = VOCABULARY | frozenset(content_words("Paint every header green"))
    assert "sources do not" in fault("Paint every header green.", SOURCES, vocabulary)


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("Array formulas may require special handling.", True),
        ("When rows follow a header, the offset depends on where they begin.", True),
        ("A formula does not guarantee a value; testing requires a spreadsheet program.", True),
        ("Array formulas may require special handling: set the array attribute.", False),
        ("A formula does not guarantee a value; compute it before you compare.", False),
        ("Array formulas require a marker.", False),
    ],
)
def test_a_wording_that_only_asks_for_care_is_vague(text: str, empty: bool) -> None:
    assert vague(text) is empty
    assert (best_wording([Lesson(title="", text=text)], [0], frozenset()) is None) is empty


def test_of_equally_central_wordings_one_with_its_reason_is_preferred() -> None:
    rows = [
        Lesson(title="", text="When you delete rows, begin with the last one of them."),
        Lesson(
            title="", text="When you delete rows, begin at the end. This prevents that they shift."
        ),
        Lesson(title="", text="When you delete rows, begin at the end. Count the rows twice."),
    ]
    for order in ([0, 1, 2], [2, 1, 0]):
        assert best_wording(rows, order, frozenset()) == compact(rows[1])


def test_of_equally_good_wordings_the_one_that_says_most_is_taken() -> None:
    rows = [
        Lesson(title="", text="When you read a table, look at it."),
        Lesson(title="", text="When you read a table, look for its columns in the header row."),
    ]
    assert best_wording(rows, [0, 1], frozenset()) == compact(rows[1])

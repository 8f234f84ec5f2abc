"""Names and numbers that take the place of others keep order, shape and distinctness."""

from __future__ import annotations

import datetime
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.evolve.analysts.agentic.replacements import (
    can_move,
    later,
    plain_number,
    renamed,
    renaming,
    renumbered,
    renumbering,
)

WORDS = st.sets(st.text(string.ascii_lowercase, min_size=3, max_size=9), min_size=1, max_size=20)
NUMBERS = st.sets(st.integers(0, 100_000).map(lambda n: n / 100), min_size=1, max_size=20)


@given(WORDS, st.integers(0, 5))
def test_new_names_sort_as_the_old_ones_did(known: set[str], seed: int) -> None:
    names = renaming(known, known, (), seed)
    new = [names.get(word, word) for word in sorted(known)]
    assert new == sorted(new) and len(set(new)) == len(known)
    assert all(len(old) == len(fresh) and old != fresh for old, fresh in names.items())


@given(NUMBERS, st.sampled_from([0.3, 0.5]))
@example({3.17, 3.18}, 0.5)
def test_new_numbers_sort_as_the_old_ones_did(known: set[float], share: float) -> None:
    numbers = renumbering(known, known, (), share)
    new = [numbers.get(number, number) for number in sorted(known)]
    assert new == sorted(new) and len(set(new)) == len(known)
    assert all(old != fresh for old, fresh in numbers.items())


def test_fixed_words_stay_and_capitals_are_kept() -> None:
    names = renaming(["Total", "North", "Harbour"], ["Total", "North", "Harbour"], ["north"], 1)
    assert set(names) == {"harbour"}
    text = renamed("HARBOUR north, Harbour total; harbour_2", names)
    new = names["harbour"]
    assert text == f"{new.upper()} north, {new.capitalize()} total; {new}_2"


@pytest.mark.parametrize(
    ("value", "plain", "new"),
    [
        (-12.5, 12.5, -20.25),
        (12, 12.0, 15),
        ("EUR 1,250.00", 1250.0, "EUR 1,300.00"),
        ("(1250.00)", 1250.0, "(1300.00)"),
        ("AB-1250", None, "AB-1250"),
        ("01250", None, "01250"),
        (True, None, True),
        (None, None, None),
    ],
)
def test_a_number_keeps_its_way_of_writing(value: object, plain: object, new: object) -> None:
    assert plain_number(value) == plain
    assert renumbered(value, {12.5: 20.25, 12.0: 15.0, 1250.0: 1300.0}) == new


def test_dates_move_by_a_cycle_of_the_calendar() -> None:
    leap = datetime.datetime(2024, 2, 29)
    moved = later(leap)
    assert moved == datetime.datetime(2052, 2, 29) and f"{moved:%A}" == f"{leap:%A}"
    assert later("29 February 2024") == "29 February 2052"
    assert later("29.2.24") == "29.2.52"
    assert later("room 2024") == "room 2024"
    assert can_move([leap, "29.2.24", "x"], "sort by date")
    assert not can_move([leap], "what happened in 2024?")
    assert not can_move([datetime.date(2080, 1, 1)], "") and not can_move(["1.1.85"], "")

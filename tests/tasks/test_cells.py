"""Equality of cell values."""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks import cells_equal
from harness.tasks.comparison import shown

_DAY = datetime.datetime(2024, 3, 1)


@pytest.mark.parametrize(
    ("expected", "got", "equal"),
    [
        (1, 1.0, True),
        (1.004, 1.0, True),
        (1.006, 1.0, False),
        (3, "3.00", True),
        ("3.001", 3, True),
        ("", None, True),
        (None, None, True),
        (" ", None, False),
        (0, None, False),
        (0, "", False),
        ("a", "A", False),
        ("a", "a ", False),
        (_DAY, datetime.datetime(2024, 3, 1, 9), True),
        (_DAY, datetime.datetime(2024, 3, 2), False),
        (_DAY, 45352, True),
        (_DAY, "2024-03-01", False),
        (datetime.time(9, 30, 1), datetime.time(9, 30, 59), True),
        (datetime.time(9, 30), datetime.time(9, 31), False),
        (datetime.time(9, 30), "09:30", True),
        (datetime.timedelta(hours=30), datetime.timedelta(hours=30), True),
        # bool is an int to the official scorer
        (True, 1, True),
        (False, 0, True),
        (True, "1", True),
        (True, "TRUE", False),
        (False, None, False),
        (True, False, False),
        ("#N/A", "#N/A", True),
        # not a number is equal to nothing there, itself included
        ("nan", "nan", False),
    ],
)
def test_official_semantics(expected: object, got: object, equal: bool) -> None:
    assert cells_equal(expected, got) is equal
    assert cells_equal(got, expected) is equal


_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(max_size=10).filter(lambda text: text.strip().lower().lstrip("+-") != "nan"),
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(9999, 1, 1)),
    st.times(),
)


@given(_values)
def test_a_value_is_equal_to_itself(value: object) -> None:
    assert cells_equal(value, value)


@given(_values, _values)
def test_equality_is_symmetric(left: object, right: object) -> None:
    assert cells_equal(left, right) == cells_equal(right, left)


@given(st.floats(-1e9, 1e9))
def test_numbers_and_their_text_are_equal(value: float) -> None:
    assert cells_equal(value, repr(value))
    assert not cells_equal(value, value + 1)


@given(_values)
def test_what_is_shown_is_json(value: object) -> None:
    result = shown(value)
    assert result is None or isinstance(result, (bool, int, float, str))
    if isinstance(value, float) and math.isfinite(value):
        assert result == value

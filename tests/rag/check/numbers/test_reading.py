"""Values keep their places; prose around them is not taken for values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rag.check.numbers import Period, Quantity, equal, read

SENTENCE = (
    "Net sales rose from $5.1 million in 2018 to $8 million in fiscal 2019, up 57%, "
    "while a net loss of €3-4 bn hit 12,500 staff on March 5, 2019 at 3:30 pm."
)


def test_every_value_with_its_place() -> None:
    found = read(SENTENCE)
    assert [one.text for one in found] == [
        "$5.1 million", "2018", "$8 million", "fiscal 2019", "57%", "€3-4 bn", "12,500",
        "March 5, 2019", "3:30 pm",
    ]  # fmt: skip
    assert all(SENTENCE[one.start : one.end] == one.text for one in found)


@pytest.mark.parametrize(
    "text", ["COVID-19 and GPT-4", "the A320 flew", "one of them", "a version v1.2.3", "He may go."]
)
def test_no_values_in_names(text: str) -> None:
    assert read(text) == []


def test_sign_words_reach_their_own_number_only() -> None:
    fell, level = read("Sales fell 5% to 80 million.")
    assert isinstance(fell, Quantity)
    assert isinstance(level, Quantity)
    assert (fell.value, level.value) == (-5, 80_000_000)


def test_a_text_with_decimal_commas_is_read_with_them() -> None:
    found = read("Der Umsatz stieg um 12,5 % auf 1.234 und dann auf 2.345,75 Euro.")
    assert [one.value for one in found if isinstance(one, Quantity)] == [
        Fraction(25, 2), 1234, Fraction(234575, 100),
    ]  # fmt: skip


def test_from_to_of_a_change_is_no_range() -> None:
    assert [one.text for one in read("It grew from 5 to 8 km.")] == ["5", "8 km"]
    assert [one.text for one in read("It ranges from 5 to 8 km.")] == ["5 to 8 km"]


def test_two_years_are_two_periods_or_one_span() -> None:
    assert [one.text for one in read("in 2018 and 2019")] == ["2018", "2019"]
    (span,) = read("the 2018-19 season")
    assert isinstance(span, Period)
    assert (span.year, span.until) == (2018, 2019)


@given(st.text(max_size=60))
def test_any_text_is_read_without_error_and_verbatim(text: str) -> None:
    found = read(text)
    assert all(text[one.start : one.end] == one.text and one.text for one in found)
    assert sorted(one.start for one in found) == [one.start for one in found]


@given(st.integers(0, 10**12), st.sampled_from(["{:,}", "{}", "{:.0f}"]))
def test_an_integer_is_itself_in_every_form(number: int, form: str) -> None:
    if 1000 <= number <= 2099:
        return  # a bare year
    assert equal(form.format(number), str(number))
    assert not equal(form.format(number), str(number + 1))


@given(st.decimals(min_value="0.01", max_value=10**7, places=2))
def test_rescaling_keeps_and_a_changed_scale_loses_the_value(number: object) -> None:
    assert equal(f"${number} million", f"${number}m")
    assert not equal(f"${number} million", f"${number} billion")

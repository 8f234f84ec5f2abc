"""A value written in any of twenty ways is read back as itself, and a changed one as another."""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rag.check.numbers import (
    Agreement,
    Period,
    Quantity,
    agreement,
    equal,
    read,
)

AMOUNTS = st.integers(1, 999_999).map(lambda cents: Fraction(cents, 100))
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def amounts(value: Fraction) -> list[tuple[str, int]]:
    """A sum of money in twenty ways, each with its dollars for one of the value."""
    plain, grouped, thousands = (
        form.format(float(amount))
        for form, amount in (("{:.2f}", value), ("{:,.2f}", value), ("{:.5f}", value / 1000))
    )
    million = 10**6
    return [
        (f"${plain}", 1), (f"${grouped}", 1), (f"US${grouped}", 1), (f"USD {plain}", 1),
        (f"{grouped} USD", 1), (f"{plain} dollars", 1), (f"{grouped} US dollars", 1),
        (f"$ {grouped}", 1), (f"about ${plain}", 1), (f"roughly {plain} dollars", 1),
        (f"${thousands} thousand", 1), (f"${thousands}k", 1), (f"${plain} million", million),
        (f"${plain}m", million), (f"${grouped} mn", million), (f"USD {plain} million", million),
        (f"{plain} million dollars", million), (f"-${plain}", -1), (f"$({plain})", -1),
        (f"a loss of ${plain}", -1),
    ]  # fmt: skip


@given(AMOUNTS, st.data())
def test_money(value: Fraction, data: st.DataObject) -> None:
    text, dollars = data.draw(st.sampled_from(amounts(value)))
    [number] = [each for each in read(f"It cost {text}.") if isinstance(each, Quantity)]
    assert (number.value, number.unit) == (value * dollars, "USD")
    assert equal(number, replace(number, alternatives=()))
    assert not equal(number, replace(number, value=number.value * 2 + 1))


def dates(day: datetime.date) -> list[str]:
    """A date; numbers alone only with the year first, since their order is ambiguous else."""
    month, short = MONTHS[day.month - 1], MONTHS[day.month - 1][:3]
    return [
        f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", day.isoformat(),
        f"{day.year}/{day.month:02}/{day.day:02}", f"{day.day} {short} {day.year}",
        f"{short} {day.day}, {day.year}", f"{day:%A}, {day.day} {month} {day.year}",
    ]  # fmt: skip


@given(st.dates(datetime.date(1000, 1, 1), datetime.date(2099, 12, 31)), st.data())
def test_dates(day: datetime.date, data: st.DataObject) -> None:
    text, other = (data.draw(st.sampled_from(dates(day))) for _ in range(2))
    (read_one,), (read_other,) = (
        [each for each in read(f"It happened on {form}.") if isinstance(each, Period) and each.day]
        for form in (text, other)
    )
    assert agreement(read_one, read_other) is Agreement.SAME
    later = day + datetime.timedelta(days=1)
    [changed] = [each for each in read(dates(later)[0]) if isinstance(each, Period) and each.day]
    assert agreement(read_one, changed) is Agreement.DIFFERENT


@given(st.integers(0, 23), st.integers(0, 59), st.sampled_from(["CET", "EST", "JST", "GMT"]))
def test_times_in_zones(hour: int, minute: int, zone: str) -> None:
    ahead = {"CET": 60, "EST": -300, "JST": 540, "GMT": 0}[zone]
    utc = (60 * hour + minute - ahead) % 1440
    [local], [world] = (
        read(text)
        for text in (f"{hour:02}:{minute:02} {zone}", f"{utc // 60:02}:{utc % 60:02} UTC")
    )
    assert agreement(local, world) is agreement(world, local) is Agreement.SAME


@given(st.integers(2, 500), st.integers(1, 400), st.sampled_from(["mg", "km", "%", "litres", ""]))
def test_ranges_contain_what_lies_in_them(low: int, width: int, unit: str) -> None:
    high = low + width
    space = "" if unit == "%" else " "
    inside = low + width // 2
    [stretch] = read(f"{low}-{high}{space}{unit}")
    [worded] = read(f"between {low} and {high}{space}{unit}")
    assert agreement(stretch, worded) is agreement(worded, stretch) is Agreement.SAME
    [point], [beyond] = (read(f"{n}{space}{unit}") for n in (inside, high + 2))
    assert agreement(stretch, point) is Agreement.SAME
    assert agreement(point, stretch) is Agreement.INCOMPARABLE
    assert agreement(stretch, beyond) is Agreement.DIFFERENT


@given(st.integers(10, 900))
def test_strict_bounds_leave_their_end_out(number: int) -> None:
    for bound, near in (("more than", number + 1), ("fewer than", number - 1)):
        [bounded] = read(f"{bound} {number}")
        [end], [inside] = read(str(number)), read(str(near))
        assert agreement(bounded, end) is Agreement.DIFFERENT
        assert agreement(bounded, inside) is Agreement.SAME
    [least], [end] = read(f"at least {number}"), read(str(number))
    assert agreement(least, end) is Agreement.SAME


@given(st.integers(1000, 999_999), st.integers(1, 99))
def test_text_taken_apart_into_tokens(number: int, age: int) -> None:
    grouped = f"{number:,}"
    tokens = grouped.replace(",", " , ")
    assert equal(f"they paid $ {tokens} .", f"They paid ${grouped}.")
    assert equal(f"the {age} - year - old man", f"the {age}-year-old man")


@pytest.mark.parametrize(
    "text", ["As Section 4.2 explains", "See Table 3", "2. The pump", "(a) text. 7. The crew"]
)
def test_numbers_of_sections_and_lists_are_no_amounts(text: str) -> None:
    [label] = read(text)
    assert isinstance(label, Quantity) and label.unit.startswith("#")
    [amount] = read(str(label.value))
    assert agreement(amount, label) is Agreement.INCOMPARABLE

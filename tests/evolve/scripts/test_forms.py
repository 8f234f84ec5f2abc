"""Values are found in the words of people, in the forms in which programs hold them."""

from __future__ import annotations

import pytest

from harness.evolve.scripts.forms import enumerations, mentions, states


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("due before 3 June 2026", "2026-06-03"),
        ("due before June 3rd, 2026", "2026-06-03"),
        ("due before 03.06.2026", "2026-06-03"),
        ("due before 2026/06/03", "03/06/2026"),
        ("all of Sept. 2026", "2026-09"),
        ("all of 09/2026", "2026-09"),
        ("in November", 11),
        ("from 9:30 on", "09:30"),
        ("from 5 pm on", 17),
        ("slower than 1.2 seconds", 1200),
        ("slower than 250 ms", 0.25),
        ("quiet for half an hour", 30),
        ("at least a dozen", 12),
        ("more than 1,500 pieces", 1500),
        ("more than 2k pieces", 2000),
        ("files over 5 MB", 5_000_000),
        ("a tax of 7 %", 0.07),
        ("a tax of 19 percent", 1.19),
        ("15 % off", 0.85),
        ("the p95 of all times", 95),
        ("bill Ash & Elder Ltd. today", "Ash & Elder Ltd"),
        ("whose state is 'on hold'", "on hold"),
        ("whose state is “on hold”", "on hold"),
        ("only the fixed ones", "Fixed"),
        ("upgrade from 2.1.3 please", "2.1.3"),
        ("set cache.size in app.ini", "cache"),
        ("all the engineers", "engineer"),
    ],
)
def test_a_value_is_read_in_the_form_of_programs(text: str, value: object) -> None:
    assert states(text, value)
    assert not states("of nothing in particular", value)


def test_numbers_within_other_values_are_none() -> None:
    assert not states("version 2.1.3 of 127.0.0.1", 127)
    assert not states("on 2026-06-03", -6)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("people from Bergen, Cork and Delft", ["Bergen", "Cork", "Delft"]),
        ("one of 'on hold', 'open' or 'new'", ["on hold", "open", "new"]),
        ("the columns sku, name and price", ["sku", "name", "price"]),
    ],
)
def test_an_enumeration_of_any_length_is_one_value(text: str, members: list[str]) -> None:
    rows = [[str(m.readings["exact"]) for m in run] for run in enumerations(text)]
    assert any(row[-len(members) :] == members for row in rows), rows


def test_a_text_states_no_value_twice_in_one_form() -> None:
    found = [(m.start, m.end, m.form, repr(m.readings)) for m in mentions("7 of 7 on 7 May 2026")]
    assert len(found) == len(set(found))

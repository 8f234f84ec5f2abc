"""The house gets no larger, and nothing in it gets a second copy: each figure may only fall."""

from __future__ import annotations

from tests.house.measure import figures, ratchets
from tests.house.one_of_each import places


def test_no_figure_exceeds_its_ratchet() -> None:
    # Simplify before you add, or say in the change why a figure of ratchets.json must rise.
    limits = ratchets()
    assert {
        name: f"{value:g}, at most {limits[name]:g}"
        for name, value in figures().items()
        if value > limits[name]
    } == {}


def test_no_second_place_for_what_has_one() -> None:
    limits, rows = ratchets(), places()
    assert {
        name: rows[name.removeprefix("places that ")]
        for name in limits
        if name.startswith("places that ")
        if len(rows[name.removeprefix("places that ")]) > limits[name]
    } == {}

"""The house gets no larger, and nothing in it gets a second copy: each figure may only fall."""

from __future__ import annotations

import pytest

from tests.house.measure import RATCHETS, figures, ratchets
from tests.house.one_of_each import places

MEASURED = figures()


@pytest.mark.parametrize("name", MEASURED)
def test_no_figure_exceeds_its_ratchet(name: str) -> None:
    assert MEASURED[name] <= ratchets()[name], (
        f"{name}: simplify before you add, or say in the change why {RATCHETS.name} must rise"
    )


@pytest.mark.parametrize("name", [name for name in ratchets() if name.startswith("places")])
def test_no_second_place_for_what_has_one(name: str) -> None:
    rows = places()[name.removeprefix("places that ")]
    assert len(rows) <= ratchets()[name], "\n".join(rows)

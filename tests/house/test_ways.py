"""A command enters few files: the way of the data through the house may only get shorter."""

from __future__ import annotations

import pytest

from tests.house.measure import ratchets
from tests.house.ways import WAYS, walk


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.full if name == "demo" else ()) for name in WAYS],
)
def test_a_command_enters_few_files(name: str) -> None:
    entered, imported = walk(name)
    assert len(entered) <= ratchets()[f"files entered: {name}"], "\n".join(entered)
    assert imported <= ratchets()[f"modules imported: {name}"]

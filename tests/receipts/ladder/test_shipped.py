"""The ladders that ship with our skills of functions hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.receipts.ladder import verify_ladder
from harness.receipts.ladder.records import NO_MODEL, read_ladder
from harness.skills import LADDER_RECORDS, beside


@pytest.mark.parametrize("name", ["log-wrangling", "table-cleaning", "workbook-programs"])
def test_a_ladder_of_functions_holds_and_says_what_code_passes(repository: Path, name: str) -> None:
    skill = repository / "skills" / name
    verified = verify_ladder(skill)
    assert verified.valid, verified.differs
    rows = read_ladder(beside(skill, LADDER_RECORDS)).rows
    passed = Counter(row.rung for row in rows if row.outcome == "pass")
    assert passed[NO_MODEL] >= passed["skill"] > 0
    assert {row.tokens for row in rows if row.rung == NO_MODEL} == {0}

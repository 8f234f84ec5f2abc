"""Recorded answers of nine sets give nothing away; benchmarks/check/leaks.py takes all of them."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from benchmarks.check.leaks import answers, measured

EACH = 6


def test_no_leak_in_recorded_answers(shared: Path) -> None:
    sets = answers(shared / "data" / "dev")
    assert len(sets) == 9
    calls: list[float] = []
    for name, recorded in sets.items():
        step = max(1, len(recorded) // EACH)
        found = measured(recorded[::step][:EACH])
        for way in ("rules", "hostile"):
            assert found[way]["questions"] > 0, (name, way)
            assert found[way]["leaks"] == 0, (name, way)
        calls.append(found["rules"]["calls_median"])
    assert median(calls) <= 3  # biographies of twenty names need a fourth
    assert max(calls) <= 4

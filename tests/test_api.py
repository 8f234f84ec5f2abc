"""The programming interface has the command line's defaults and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.api import EvalSettings, compare_runs, evaluate, evolve
from harness.core import BadInput


def test_evaluate_evolve_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = "simulated/lookup"
    before = evaluate("demo", model=model, limit=40, sandbox="none", out=tmp_path / "before")
    assert before.simulated
    assert before.items == 40
    evolved = evolve(
        tmp_path / "evolved", model=model, suite="demo", create="short-answers",
        analyst="exemplar", gate="none", limit=40, sandbox="none",
    )  # fmt: skip
    assert evolved.simulated
    assert evolved.accepted is None
    after = evaluate(
        "demo", model=model, limit=40, sandbox="none", skill=evolved.skill, out=tmp_path / "after"
    )
    assert after.skill == "short-answers"
    paired = compare_runs(tmp_path / "before", tmp_path / "after")
    assert paired.paired.tasks == 40
    assert set(paired.differs) == {"skill", "skill_name"}


def test_defaults_are_the_command_lines() -> None:
    settings = EvalSettings(suite="demo")
    assert (settings.seed, settings.concurrency, settings.sandbox) == (41, 16, "auto")


def test_errors_carry_exit_codes() -> None:
    with pytest.raises(BadInput) as caught:
        evaluate("no-such-suite")
    assert caught.value.exit_code == 2

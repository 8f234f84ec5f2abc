"""A model that answers badly now and then costs an evolution nothing, or one record, never all."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import Unreachable
from harness.evolve import EvolveOptions, EvolveResult, evolve
from harness.models import open_model, transport
from tests.evolve.conftest import trajectory, write_trajectories
from tests.models.http_server import Answer, completion, error, serve

PLACES = [f"Place{n}" for n in range(20)]
CUT: Answer = (200, {}, completion("never")[2][:35])
BUSY: Answer = (200, {}, b'{"error": {"message": "provider is full", "code": 429}}')


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "BASE_S", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def record(place: str) -> Answer:
    if not place:
        return completion("Use for questions about capitals.")
    lesson = "Look every name up in the register before you answer."
    row = {
        "root_cause": "guessed",
        "evidence": [f"I would guess that {place} is it."],
        "memory_items": [{"title": "Look up", "lesson": lesson, "generalization": ""}],
    }
    return completion(f"<think>{{}} or so?</think>{json.dumps(row)}")


def place_of(body: dict[str, Any]) -> str:
    """The place that an analyst is asked about; "" for what others ask."""
    named = re.search(r"I would guess that (Place\d+) is it", body["messages"][0]["content"])
    return named[1] if named else ""


def runs_in(folder: Path) -> Path:
    runs = [trajectory(place, "fail", f"I would guess that {place} is it.") for place in PLACES]
    return write_trajectories(folder / "runs", runs)


def evolved(
    folder: Path, name: str, answer: Callable[[dict[str, Any]], Answer], concurrency: int = 16
) -> EvolveResult:
    options = EvolveOptions.model_validate({
        "out": folder / name, "create": "capitals", "trajectories": runs_in(folder),
        "concurrency": concurrency,
    })  # fmt: skip
    with serve(answer) as server:
        return asyncio.run(evolve(options, model=open_model("openai/m", base_url=server.url)))


def test_one_bad_reply_in_twenty_changes_nothing(tmp_path: Path) -> None:
    faults, asked = {3: CUT, 11: BUSY, 15: error(500), 20: CUT}, count(1)

    def sometimes(body: dict[str, Any]) -> Answer:
        return faults.pop(next(asked), None) or record(place_of(body))

    good = evolved(tmp_path, "good", lambda body: record(place_of(body)))
    bad = evolved(tmp_path, "bad", sometimes)
    assert not faults
    assert (good.records, good.losses) == (bad.records, bad.losses) == (len(PLACES), 0)
    texts = [(tmp_path / name / "skill/capitals/SKILL.md").read_text() for name in ("good", "bad")]
    assert texts[0] == texts[1]


def test_a_fault_that_stays_costs_one_record_and_is_named(tmp_path: Path) -> None:
    result = evolved(
        tmp_path, "out", lambda body: BUSY if place_of(body) == "Place7" else record(place_of(body))
    )
    assert (result.records, result.losses) == (len(PLACES) - 1, 1)
    lost = [
        text
        for file in (tmp_path / "out").rglob("*.json*")
        if "provider is full" in (text := file.read_text())
    ]
    assert any("Place7" in text for text in lost)


def test_a_model_that_is_down_ends_it_and_resuming_asks_what_is_open(tmp_path: Path) -> None:
    asked: list[str] = []

    def down(body: dict[str, Any]) -> Answer:
        asked.append(place_of(body))
        return record(asked[-1]) if asked[-1] in PLACES[:5] else BUSY

    with pytest.raises(Unreachable, match=r"of 20 analysts got no answer: .*provider is full"):
        evolved(tmp_path, "out", down, concurrency=2)
    assert len(asked) < 20 * transport.ATTEMPTS, "a model that is down is not asked for all"
    kept = set(asked) & set(PLACES[:5])
    asked.clear()

    def up(body: dict[str, Any]) -> Answer:
        asked.append(place_of(body))
        return record(asked[-1])

    # The same address, as for the user who resumes.
    result = evolved(tmp_path, "out", up)
    assert (result.records, result.losses) == (len(PLACES), 0)
    assert kept
    assert set(asked[: len(PLACES) - len(kept)]) == set(PLACES) - kept


def test_the_command_names_the_one_that_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with serve(lambda _: BUSY) as server:
        words = ["evolve", "--trajectories", str(runs_in(tmp_path)), "--create", "capitals"]
        words += ["--model", "openai/m", "--base-url", server.url, "--analyst", "single"]
        monkeypatch.setattr("sys.argv", ["harness", *words, "--out", str(out)])
        done = CliRunner().invoke(cli, [*words, "--out", str(out)])
    assert isinstance(done.exception, Unreachable), done.output
    assert f"--resume {out}" in done.output

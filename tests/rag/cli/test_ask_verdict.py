"""`harness ask` says whether the passages bear the answer out, without a further call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.rag.cli.ask import ask
from tests.browser import examine_file
from tests.models.http_server import Answer, completion, serve

NOTES = "# Pumps\n\nPump P-7 was replaced in 2019. It moves 320 litres per minute.\n"
ASKED = "How much does pump P-7 move?"


def run(tmp_path: Path, said: str, *more: str) -> tuple[Result, int]:
    (tmp_path / "pumps.md").write_text(NOTES)

    def answer(_: dict[str, Any]) -> Answer:
        return completion(said)

    with serve(answer) as served:
        options = ["--arm", "lexical", "--model", "openai/x", "--base-url", served.url]
        done = CliRunner().invoke(ask, [ASKED, str(tmp_path / "pumps.md"), *options, *more])
    assert done.exit_code == 0, done.output
    return done, len(served.bodies)


def test_the_verdict_stands_beside_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    right, calls = run(tmp_path, "Pump P-7 moves 320 litres per minute [1].")
    assert "Checked against the passages: PASS" in right.stdout
    assert calls == 1
    wrong, _ = run(tmp_path, "Pump P-7 moves 420 litres per minute [1].", "--json")
    verdict = json.loads(wrong.stdout)["verdict"]
    assert verdict["verdict"] == "FAIL"
    assert [one["text"] for one in verdict["faults"]] == ["420 litres per minute"]
    without, _ = run(tmp_path, "Pump P-7 moves 420 litres per minute [1].", "--check", "none")
    assert "Checked" not in without.stdout


def test_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    page = tmp_path / "answer.html"
    run(tmp_path, "Pump P-7 moves 420 litres per minute [1].", "--out", str(page))
    assert "Checked against the passages: FAIL: " in page.read_text()
    examine_file(page, "answer")

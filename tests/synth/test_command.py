"""`harness synth` over HTTP: a plan, a factory with a solver, resuming, budgets, the sheet."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, LimitReached, Refused
from harness.evals import load_suite
from harness.models import Sampling
from harness.synth.audit import read_sheet
from harness.synth.cli.synth import report_text
from harness.synth.session import SynthCommand, report_of
from harness.synth.types import Proposal, Record
from lab.worlds.proposals import World
from tests.models.http_server import Answer, completion, serve
from tests.synth.cases import world


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def answer_of(planted: World, solves: str = "some") -> Any:
    """Plays proposer, checker and solver, by what the prompts are."""
    check, attempts = planted.checker(), Counter[str]()

    def answer(body: dict[str, Any]) -> Answer:
        messages = body["messages"]
        if "The answer: " in messages[0]["content"]:
            return completion(planted.propose(messages, Sampling(seed=body.get("seed"))))
        if "<passage>" in messages[-1]["content"] or "[[YES]]" in messages[-1]["content"]:
            return completion(check(messages, None))  # pyright: ignore[reportArgumentType]
        asked = messages[-1]["content"]
        houses = [house for house in planted.houses.values() if f"{house.building}?" in asked]
        attempts[asked] += 1
        right = houses and (solves == "all" or attempts[asked] % 2)
        return completion(f"Answer: {houses[0].town if right else 'Nowhere'}")

    return answer


def synth(planted: World, folder: Path, *words: object, solves: str = "some") -> tuple[Result, int]:
    with serve(answer_of(planted, solves)) as served:
        command = [
            "synth", "--from", folder / "documents", "--kind", "search", "--json",
            "--model", "openai/writer", "--base-url", served.url, "--sandbox", "none", *words,
        ]  # fmt: skip
        result = CliRunner().invoke(cli, [*map(str, command)])
        return result, len(served.bodies)


def test_a_plan_shows_the_cost_and_makes_no_call(tmp_path: Path) -> None:
    words = ("--n", 10, "--for", "openai/gpt-4.1-mini", "--dry-run", "--out", tmp_path / "run")
    result, calls = synth(world(tmp_path), tmp_path, *words)
    planned = json.loads(result.stdout)
    assert (planned["proposals"], planned["proposals_at_most"], calls) == (20, 50, 0)
    assert planned["calls"]["solver"] == 20 * 4 * 5
    assert planned["cost_usd"] is None  # the writer has no price
    assert not (tmp_path / "run" / "run.json").exists()


def test_tasks_are_made_solved_kept_and_run(tmp_path: Path) -> None:
    planted = world(tmp_path, {"good": 8, "unanswerable": 4})
    out = tmp_path / "run"
    words = ("--n", 4, "--for", "openai/solver", "--attempts", 4, "--tries", 3)
    result, calls = synth(planted, tmp_path, *words, "--out", out)
    report = json.loads(result.stdout)
    assert (report["accepted"], report["difficulty"]) == (4, {"2/4": 4})
    assert sum(report["splits"].values()) == 4
    assert len(report["samples"]) == 4
    assert set(report["rejected"]) <= {"evidence"}
    assert report["tokens"] == calls * 12
    again, more = synth(planted, tmp_path, *words, "--resume", out)
    assert (json.loads(again.stdout)["accepted"], more) == (4, 0)
    with serve(answer_of(planted)) as served:
        command = ["eval", str(out), "--model", "openai/solver", "--base-url", served.url]
        command += [
            "--json",
            "--sandbox",
            "none",
            "--out",
            str(tmp_path / "eval"),
            "--split",
            "test",
        ]
        done = CliRunner().invoke(cli, command)
    assert json.loads(done.stdout)["items"] == report["splits"]["test"]
    shown, _ = synth(planted, tmp_path, *words, "--resume", out)
    assert shown.exit_code == 0


@pytest.mark.parametrize(("most", "even"), [(8, True), (40, False)])
def test_the_report_compares_difficulty_with_the_band(most: int, even: bool) -> None:
    counts = {1: 8, 2: 9, 3: most, 4: 7}  # right attempts of five, in the band of 0.2 to 0.8
    rows = [
        Record(proposal=Proposal(id=f"t-{right}-{n}"), decision="accepted", right=right, attempts=5)
        for right, count in counts.items()
        for n in range(count)
    ]
    settings = SynthCommand(n=100, solver="openai/solver", out=Path("run"))
    report = report_of(settings, rows, {})
    assert report.evenness is not None
    assert (report.evenness[1] > 0.05) is even
    assert f"chi-square {report.evenness[0]:.1f}, p = " in report_text(report)
    few = report_of(settings, rows[:10], {})
    assert few.evenness is None  # fewer than five of each level are expected
    assert "chi-square" not in report_text(few)


def test_a_source_is_needed_but_for_an_audit(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["synth", "--out", str(tmp_path / "run")])
    assert isinstance(result.exception, BadInput)
    assert "--from" in str(result.exception)


def test_what_everybody_solves_is_refused(tmp_path: Path) -> None:
    planted = world(tmp_path, {"good": 4})
    words = ("--n", 2, "--for", "openai/solver", "--attempts", 2, "--tries", 2)
    result, _ = synth(planted, tmp_path, *words, "--out", tmp_path / "run", solves="all")
    assert isinstance(result.exception, Refused)
    assert "too easy" in str(result.exception)


def test_a_budget_stops_and_the_folder_resumes(tmp_path: Path) -> None:
    planted, out = world(tmp_path, {"good": 8}), tmp_path / "run"
    stopped, calls = synth(planted, tmp_path, "--n", 4, "--budget-calls", 9, "--out", out)
    assert isinstance(stopped.exception, LimitReached)
    assert calls == 9
    assert "0 proposals decided, 0 accepted of 4 wanted" in stopped.stderr  # said nothing before
    with pytest.raises(BadInput, match="resume it"):
        load_suite(str(out))
    result, more = synth(planted, tmp_path, "--n", 4, "--resume", out)
    assert json.loads(result.stdout)["accepted"] == 4
    whole, needed = synth(planted, tmp_path, "--n", 4, "--out", tmp_path / "whole")
    assert json.loads(whole.stdout)["accepted"] == 4
    assert calls + more == needed  # nothing was paid for twice


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--band", "0.9:0.1"), "LOW:HIGH"),
        (("--band", "x"), "LOW:HIGH"),
        (("--against", "nowhere"), "no suite"),
        (("--reward", "fame"), "harness.bands"),
    ],
)
def test_what_cannot_be_used_costs_no_call(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result, calls = synth(world(tmp_path), tmp_path, *words, "--out", tmp_path / "run")
    assert isinstance(result.exception, BadInput)
    assert message in str(result.exception)
    assert calls == 0


def test_the_sheet_and_its_estimate(tmp_path: Path) -> None:
    planted, out = world(tmp_path, {"good": 12}), tmp_path / "run"
    synth(planted, tmp_path, "--n", 10, "--out", out)
    first, _ = synth(planted, tmp_path, "--audit", 8, "--resume", out)
    sheet = out / "audit.csv"
    audit = json.loads(first.stdout)
    assert (audit["tasks"], audit["labelled"], audit["share"]) == (8, 0, None)
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert all(row["answer"] in planted.houses and row["evidence"] for row in rows)
    for row, label in zip(rows, ["yes", "no", "no", "N", "0", "No", "", ""], strict=True):
        row["faulty"] = label
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    second, _ = synth(planted, tmp_path, "--audit", 8, "--resume", out)
    audit = json.loads(second.stdout)
    assert (audit["labelled"], audit["faulty"], audit["share"]) == (6, 1, 1 / 6)
    assert audit["ci95"] == pytest.approx([0.0301, 0.5635], abs=1e-4)
    sheet.write_text("id,faulty\na,perhaps\n")
    with pytest.raises(BadInput, match="row 2"):
        read_sheet(sheet)

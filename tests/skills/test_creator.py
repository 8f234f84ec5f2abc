"""skill-creator's files: the field names that its viewer reads, and nothing of others lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, digest_tree
from harness.skills import (
    Attempt,
    Target,
    benchmark_of,
    evals_of,
    export,
    export_creator,
    history_of,
    load_skill,
)
from tests.skills.evolved import EDITS, SEED, evolve

WITH = [
    Attempt(task="b", outcome="pass", seconds=2.0, tokens=100),
    Attempt(task="a", outcome="fail", epoch=1, reason="wrong cell", seconds=4.0, tokens=300),
    Attempt(task="a", outcome="invalid", reason="the endpoint did not answer"),
]
WITHOUT = [Attempt(task="a", outcome="fail", seconds=1.0, tokens=50)]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def test_evals_are_numbered_and_named() -> None:
    first, second = evals_of("a-skill", [("a", "Do a.", "4"), ("b", "Do b.", "")])["evals"]
    assert (first["id"], first["name"], first["prompt"]) == (1, "a", "Do a.")
    assert first["expected_output"] == "4"
    assert second["expectations"] == ["The task's check passes (b)"]


def test_a_benchmark_counts_what_ran_and_keeps_invalid_out_of_the_means() -> None:
    found = benchmark_of("a-skill", WITH, WITHOUT, model="m", order=["a", "b"])
    assert found["metadata"]["evals_run"] == [1, 2]
    assert found["metadata"]["runs_per_configuration"] == 2
    shape = [(r["eval_id"], r["configuration"], r["run_number"]) for r in found["runs"]]
    assert shape == [
        (1, "with_skill", 1),
        (1, "with_skill", 2),
        (1, "without_skill", 1),
        (2, "with_skill", 1),
    ]
    invalid = found["runs"][0]
    assert (invalid["result"]["total"], invalid["result"]["errors"]) == (0, 1)
    assert "did not answer" in invalid["notes"][0]
    summary = found["run_summary"]
    assert summary["with_skill"]["pass_rate"] == {
        "mean": 0.5,
        "stddev": 0.7071,
        "min": 0.0,
        "max": 1.0,
    }
    assert summary["delta"] == {"pass_rate": "+0.50", "time_seconds": "+2.0", "tokens": "+150"}
    assert found["notes"][0].startswith("1 of 4 runs")


def test_one_configuration_alone_has_no_delta() -> None:
    summary = benchmark_of("a-skill", WITH)["run_summary"]
    assert sorted(summary) == ["delta", "with_skill"]
    assert summary["delta"] == {}
    nothing = benchmark_of("a-skill", WITH[2:])["run_summary"]
    assert nothing == {"delta": {}}


def report(out: Path, folder: Path, verdict: str, before: float, after: float) -> None:
    gate = {"verdict": verdict, "before": before, "after": after}
    facts = {"seed": SEED.digest, "skill": load_skill(folder).digest, "result": {"gate": gate}}
    (out / "report.json").write_text(json.dumps(facts))


@pytest.mark.parametrize(
    ("verdict", "rates", "grading", "best"),
    [
        ("accepted", (0.4, 0.7), "won", "v1"),
        ("refused", (0.4, 0.3), "lost", "v0"),
        ("refused", (0.4, 0.4), "tie", "v0"),
    ],
)
def test_the_history_is_what_the_gate_measured(
    verdict: str, rates: tuple[float, float], grading: str, best: str, tmp_path: Path
) -> None:
    folder = evolve(tmp_path)
    report(tmp_path, folder, verdict, *rates)
    found = history_of(folder)
    assert found["current_best"] == best
    assert [one["grading_result"] for one in found["iterations"]] == ["baseline", grading]
    assert [one["parent"] for one in found["iterations"]] == [None, "v0"]
    assert [one["expectation_pass_rate"] for one in found["iterations"]] == list(rates)


def test_what_no_gate_measured_has_no_history(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    assert history_of(folder)["iterations"] == []
    evolve(tmp_path, EDITS[:1])
    report(tmp_path, folder, "accepted", 0.1, 0.2)
    text = (tmp_path / "report.json").read_text().replace(SEED.digest, "0" * 64)
    (tmp_path / "report.json").write_text(text)
    assert history_of(folder)["iterations"] == []


def test_the_command_reads_a_real_run(tmp_path: Path, repository: Path) -> None:
    def harness(*arguments: str | Path) -> None:
        words = [str(one) for one in arguments]
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    folder, out = repository / "skills/spreadsheet-basics", tmp_path / "out"
    model = ("--model", "simulated/ledger", "--limit", "2")
    harness("eval", "ledger", *model, "--out", tmp_path / "base")
    harness("eval", "ledger", *model, "--skill", folder, "--out", tmp_path / "with")
    runs = ("--run", tmp_path / "with", "--baseline", tmp_path / "base")
    export_to = ("--target", "skill-creator", "--out", out)
    harness("skill", "export", folder, *export_to, "--suite", "ledger", *runs)
    evals = read(out / "spreadsheet-basics/evals/evals.json")
    benchmark = read(out / "spreadsheet-basics-workspace/benchmark.json")
    names = {case["id"]: case["name"] for case in evals["evals"]}
    assert len(benchmark["runs"]) == 4
    assert all(names[run["eval_id"]] == run["eval_name"] for run in benchmark["runs"])
    assert benchmark["metadata"]["executor_model"] == "simulated/ledger"
    for wrong in (("--baseline", tmp_path), ("--target", "zip", "--suite", "ledger")):
        with pytest.raises(BadInput, match="--run"):
            harness("skill", "export", folder, *export_to, *wrong)


def test_export_writes_the_workspace_beside_the_skill(tmp_path: Path) -> None:
    evals = evals_of("a-skill", [("a", "Do a.", "4")])
    benchmark = benchmark_of("a-skill", WITH, WITHOUT)
    done = export_creator(SEED, tmp_path, evals=evals, benchmark=benchmark)
    assert (done.target, done.status) == ("skill-creator", "written")
    assert read(tmp_path / "a-skill/evals/evals.json") == evals
    assert read(tmp_path / "a-skill-workspace/benchmark.json") == benchmark
    before = digest_tree(tmp_path)
    again = export_creator(SEED, tmp_path, evals=evals, benchmark=benchmark)
    assert (again.status, digest_tree(tmp_path)) == ("unchanged", before)
    target: Target = "skill-creator"
    assert export(SEED, target, tmp_path / "bare").also == ()

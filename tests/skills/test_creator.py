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
    Benchmark,
    Evals,
    History,
    Target,
    benchmark_of,
    creator_text,
    evals_of,
    export,
    export_creator,
    history_of,
    load_skill,
    read_creator,
)
from tests.skills.evolved import EDITS, SEED, evolve

WITH = [
    Attempt(task="b", outcome="pass", seconds=2.0, tokens=100),
    Attempt(task="a", outcome="fail", epoch=1, reason="wrong cell", seconds=4.0, tokens=300),
    Attempt(task="a", outcome="invalid", reason="the endpoint did not answer"),
]
WITHOUT = [Attempt(task="a", outcome="fail", seconds=1.0, tokens=50)]


def plain(value: Evals | Benchmark | History) -> dict[str, Any]:
    return json.loads(creator_text(value))


def test_evals_are_numbered_and_named() -> None:
    (first, second) = plain(evals_of("a-skill", [("a", "Do a.", "4"), ("b", "Do b.", "")]))["evals"]
    assert (first["id"], first["name"], first["prompt"]) == (1, "a", "Do a.")
    assert first["expected_output"] == "4"
    assert second["expectations"] == ["The task's check passes (b)"]


def test_a_benchmark_counts_what_ran_and_keeps_invalid_out_of_the_means() -> None:
    found = plain(benchmark_of("a-skill", WITH, WITHOUT, model="m", order=["a", "b"]))
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
    summary = plain(benchmark_of("a-skill", WITH))["run_summary"]
    assert sorted(summary) == ["delta", "with_skill"]
    assert summary["delta"] == {}
    nothing = plain(benchmark_of("a-skill", WITH[2:]))["run_summary"]
    assert nothing == {"delta": {}}


FOREIGN = {
    "metadata": {"skill_name": "pdf", "timestamp": "2026-01-15T10:30:00Z", "evals_run": ["Ocean"]},
    "runs": [
        {
            "eval_id": 1,
            "configuration": "without_skill",
            "result": {"pass_rate": 0.5, "passed": 1, "failed": 1, "total": 2, "grader": "x"},
        }
    ],
    "run_summary": {
        "without_skill": {
            "pass_rate": {"mean": 0.5, "stddev": 0.1},
            "time_seconds": {"mean": 1, "stddev": 0},
            "tokens": {"mean": 1, "stddev": 0},
        },
        "delta": {"pass_rate": "+0.50"},
    },
    "our_own": [1],
}


def test_foreign_files_are_read_and_keep_what_we_do_not_know(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps(FOREIGN))
    again = plain(read_creator(path, Benchmark))
    assert again["our_own"] == [1]
    assert again["runs"][0]["result"]["grader"] == "x"
    assert again["metadata"]["evals_run"] == ["Ocean"]
    path.write_text(json.dumps({**FOREIGN, "runs": [{"eval_id": 1, "config": "with_skill"}]}))
    with pytest.raises(BadInput, match=r"no Benchmark file: runs\.0\.configuration"):
        read_creator(path, Benchmark)
    with pytest.raises(BadInput, match="cannot read"):
        read_creator(tmp_path / "absent.json", Evals)


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
    found = plain(history_of(folder))
    assert found["current_best"] == best
    assert [one["grading_result"] for one in found["iterations"]] == ["baseline", grading]
    assert [one["parent"] for one in found["iterations"]] == [None, "v0"]
    assert [one["expectation_pass_rate"] for one in found["iterations"]] == list(rates)


def test_what_no_gate_measured_has_no_history(tmp_path: Path) -> None:
    folder = evolve(tmp_path)
    assert history_of(folder).iterations == ()
    evolve(tmp_path, EDITS[:1])
    report(tmp_path, folder, "accepted", 0.1, 0.2)
    text = (tmp_path / "report.json").read_text().replace(SEED.digest, "0" * 64)
    (tmp_path / "report.json").write_text(text)
    assert history_of(folder).iterations == ()


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
    evals = read_creator(out / "spreadsheet-basics/evals/evals.json", Evals)
    path = out / "spreadsheet-basics-workspace/benchmark.json"
    benchmark = read_creator(path, Benchmark)
    names = {one.id: one.name for one in evals.evals}
    assert len(benchmark.runs) == 4
    assert all(names[run.eval_id] == run.eval_name for run in benchmark.runs)
    assert benchmark.metadata.executor_model == "simulated/ledger"
    for wrong in (("--baseline", tmp_path), ("--target", "zip", "--suite", "ledger")):
        with pytest.raises(BadInput, match="--run"):
            harness("skill", "export", folder, *export_to, *wrong)


def test_export_writes_the_workspace_beside_the_skill(tmp_path: Path) -> None:
    evals = evals_of("a-skill", [("a", "Do a.", "4")])
    benchmark = benchmark_of("a-skill", WITH, WITHOUT)
    done = export_creator(SEED, tmp_path, evals=evals, benchmark=benchmark)
    assert (done.target, done.status) == ("skill-creator", "written")
    assert read_creator(tmp_path / "a-skill/evals/evals.json", Evals) == evals
    assert read_creator(tmp_path / "a-skill-workspace/benchmark.json", Benchmark) == benchmark
    before = digest_tree(tmp_path)
    again = export_creator(SEED, tmp_path, evals=evals, benchmark=benchmark)
    assert (again.status, digest_tree(tmp_path)) == ("unchanged", before)
    target: Target = "skill-creator"
    assert export(SEED, target, tmp_path / "bare").also == ()

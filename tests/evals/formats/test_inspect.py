"""Logs of inspect as runs: counts and scores are kept, there and back again."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.api import EvalSettings, compare_runs, run_evaluation
from harness.cli import cli
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.evals import import_results, records
from harness.evals.formats.inspect import NO_SCORE
from harness.trajectories import export_trajectories
from tests.models.http_server import Answer, completion, error, serve


def test_there_and_back_again(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(4)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run, back = tmp_path / "run", tmp_path / "back"
    asked: Counter[int] = Counter()

    def answer(body: dict[str, Any]) -> Answer:
        """Refused, or right and wrong in turn, by task."""
        number = int(re.findall(r"task (\d+)", str(body["messages"]))[-1])
        if number == 3:
            return error(400)
        asked[number] += 1
        return completion("4" if (number + asked[number]) % 2 else "5")

    with serve(answer) as served:
        report = run_evaluation(
            EvalSettings(
                suite=str(tmp_path / "s.jsonl"), out=run, sandbox="none", models=("openai/x",),
                base_url=served.url, epochs=2,
            )
        )[0]  # fmt: skip
    assert (report.passed, report.failed, report.invalid) == (3, 3, 2)
    export_trajectories(run, tmp_path / "log", "inspect")
    found = import_results(next((tmp_path / "log").glob("*.eval")), back)
    assert (found.passed, found.failed, found.invalid) == (3, 3, 2)
    assert (found.score, found.ci95, found.se) == (report.score, report.ci95, report.se)
    assert found.repeated == report.repeated
    names = ("id", "task_id", "epoch", "outcome", "value", "reason", "answer")
    rows_before, rows_after = (
        sorted([tuple(getattr(item, name) for name in names) for item in records(folder)])
        for folder in (run, back)
    )
    assert rows_before == rows_after
    assert found.tokens == report.tokens
    paired = compare_runs(run, back).paired
    assert (paired.tasks, paired.difference, paired.broken, paired.fixed) == (3, 0, (), ())


def written(path: Path, samples: list[dict[str, Any]], **header: Any) -> Path:
    """A log in inspect's form, with what a reader needs of it."""
    scores = [{"name": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}]
    head = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "p/m"},
            "results": {"scores": scores}, **header}  # fmt: skip
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("header.json", json.dumps(head))
        for one in samples:
            messages = [{"role": "user", "content": "1+1?"},
                        {"role": "assistant", "content": "2"}]  # fmt: skip
            usage = {"p/m": {"input_tokens": 7, "output_tokens": 2, "input_tokens_cache_read": 3}}
            row = {"input": "1+1?", "target": "2", "messages": messages, "model_usage": usage,
                   "total_time": 1.5, **one}  # fmt: skip
            opened.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(row))
    return path


def scored(name: str, value: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    score = {"value": value, "answer": "2", "explanation": "so"}
    return {"id": name, "epoch": epoch, "scores": {"match": score, "other": {"value": "I"}}, **more}


def test_a_log_of_theirs_keeps_counts_and_scores(tmp_path: Path) -> None:
    samples: list[dict[str, Any]] = [
        scored("a", "C"), scored("a", "I", 2), scored("b", 1), scored("c", 0.4), scored("d", "P"),
        scored("e", float("nan")), {"id": "f", "epoch": 1, "scores": {}},
        scored("g", "C", error={"message": "lost"}),
    ]  # fmt: skip
    found = import_results(written(tmp_path / "l.eval", samples), tmp_path / "run")
    items = {item.id: item for item in records(tmp_path / "run")}
    told = {name: (item.outcome, item.value) for name, item in items.items()}
    assert told == {
        "a": ("pass", 1.0), "a@1": ("fail", 0.0), "b": ("pass", 1.0), "c": ("fail", 0.4),
        "d": ("fail", 0.5), "e": ("invalid", 0.0), "f": ("invalid", 0.0), "g": ("invalid", 0.0),
    }  # fmt: skip
    assert (items["f"].reason, items["g"].reason) == (NO_SCORE, "lost")
    assert (items["a"].answer, items["a"].reason) == ("2", "so")
    usage = items["a"].usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (10, 2, 3)
    assert (usage.calls, usage.seconds, usage.cost_usd) == (1, 1.5, None)
    assert (found.suite, found.model, found.items) == ("sums", "p/m", 8)
    lock = RunReader(tmp_path / "run").lock
    figures = {"status": "success", "match accuracy": 0.5}
    assert lock["reported"] == {"tool": "inspect", "figures": figures}


def test_the_command_says_what_inspect_said(tmp_path: Path) -> None:
    log = written(tmp_path / "l.eval", [scored("a", "C"), scored("b", "I")])
    words = ["eval", "import", str(log), "--out", str(tmp_path / "run")]
    assert (
        "inspect says: match accuracy 0.5, status success" in CliRunner().invoke(cli, words).output
    )
    again = CliRunner().invoke(cli, words)  # finished: the same again, and nothing is written
    assert (again.exit_code, again.exception) == (0, None)


def test_a_metric_that_is_no_number_is_none(tmp_path: Path) -> None:
    metrics = {"accuracy": {"value": 1}, "stderr": {"value": float("nan")}, "by": {"value": "x"}}
    results = {"scores": [{"name": "match", "metrics": metrics}]}
    log = written(tmp_path / "l.eval", [scored("a", "C")], results=results)
    done = CliRunner().invoke(cli, ["eval", "import", str(log), "--out", str(tmp_path / "run")])
    assert (done.exit_code, done.exception) == (0, None)
    assert "match accuracy 1, match by x, match stderr none" in done.output


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip", b"{}"])
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "l.eval").write_bytes(content)
    with pytest.raises(BadInput):
        import_results(tmp_path / "l.eval", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_log_without_samples_or_header_is_refused(tmp_path: Path) -> None:
    for log in (written(tmp_path / "a.eval", []), written(tmp_path / "b.eval", [], eval=None)):
        with pytest.raises(BadInput, match="expected"):
            import_results(log, tmp_path / "run")
    assert not (tmp_path / "run").exists()

"""Results that other tools wrote: read, compared and imported as runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.evals import (
    EvalSettings,
    Results,
    compare_results,
    import_results,
    open_results,
    records,
    run_evaluation,
)
from harness.skills.shipping.creator import Attempt, benchmark_of

DATA = Path(__file__).parent / "data"


def compared(*words: object) -> list[dict[str, Any]]:
    done = CliRunner().invoke(cli, ["compare", "--json", *map(str, words)])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def outcomes(run: Results) -> dict[str, str]:
    return {item.id: item.outcome for item in run.items}


@pytest.mark.parametrize(
    "files",
    [
        ("inspect_a.eval", "inspect_c.eval"),
        ("lm_eval/sums-a", "lm_eval/sums-c"),
    ],
)
def test_two_logs_are_paired_by_task(files: tuple[str, str]) -> None:
    # a is wrong at 4 and 8, c at 5: two tasks are mended, one is broken.
    comparison = compared(*(DATA / name for name in files))[0]
    assert (comparison["before"]["model"], comparison["after"]["model"]) in {
        ("sums-a", "sums-c"), ("openai/sums-a", "openai/sums-c"),
    }  # fmt: skip
    paired = comparison["paired"]
    assert (paired["tasks"], paired["before"], paired["after"]) == (8, 0.75, 0.875)
    assert (len(paired["fixed"]), len(paired["broken"])) == (2, 1)
    assert comparison["needed"] > 8
    assert comparison["differs"] == ["model"]
    broken = next(row for row in comparison["changes"] if row["after"] == "fail")
    assert (broken["answer_before"], broken["answer_after"]) == ("8", "9")


def test_columns_of_promptfoo_are_runs_and_its_errors_are_invalid() -> None:
    b, c = compared(DATA / "promptfoo_a.json", DATA / "promptfoo_b.json")
    assert (b["after"]["model"], c["after"]["model"]) == ("sums-b", "sums-c")
    assert (b["after"]["passed"], b["after"]["failed"], b["after"]["invalid"]) == (6, 1, 1)
    assert (b["paired"]["tasks"], b["paired"]["unpaired"]) == (7, 1)
    assert (c["paired"]["tasks"], c["paired"]["difference"]) == (8, 0.125)
    assert (c["after"]["tokens"], c["before"]["suite"]) == (8 * 14, "sums")
    within = compared(DATA / "promptfoo_b.json")  # a file with two columns is enough
    assert [row["paired"]["tasks"] for row in within] == [7]


def test_a_test_that_moved_is_the_same_and_one_that_changed_is_not(tmp_path: Path) -> None:
    document = json.loads((DATA / "promptfoo_a.json").read_text())
    rows = document["results"]["results"]
    rows.reverse()
    rows[0]["testCase"]["assert"][0]["value"] = "other"
    for place, row in enumerate(rows):
        row["testIdx"] = place
    (tmp_path / "moved.json").write_text(json.dumps(document))
    paired = compared(DATA / "promptfoo_a.json", tmp_path / "moved.json")[0]["paired"]
    assert (paired["tasks"], paired["unpaired"], paired["difference"]) == (7, 2, 0)


def test_documents_of_lm_eval_that_differ_are_other_tasks(tmp_path: Path) -> None:
    (samples,) = (DATA / "lm_eval" / "sums-a").glob("samples_*")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[0]["doc_hash"] = "0" * 64
    changed = tmp_path / samples.name
    changed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    paired = compared(samples, changed)[0]["paired"]
    assert (paired["tasks"], paired["unpaired"]) == (7, 2)


def test_the_metric_and_filter_of_lm_eval_can_be_named(tmp_path: Path) -> None:
    row: dict[str, Any] = {"doc_id": 0, "doc": {}, "filtered_resps": ["x"], "doc_hash": "a" * 9}
    rows = [
        row | {"filter": name, "metrics": ["acc", "f1", "ppl"], "acc": acc, "f1": 0.4, "ppl": 7.5}
        for name, acc in (("strict", 0.0), ("flexible", 1.0))
    ]
    path = tmp_path / "samples_t_2026-11-23T08-57-45.644285.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = {
        metric: open_results(path, metric)[0].items[0].value
        for metric in (None, "acc,strict", "acc,flexible", "f1", "f1,flexible")
    }
    assert values == {None: 0, "acc,strict": 0, "acc,flexible": 1, "f1": 0.4, "f1,flexible": 0.4}
    for metric, message in (("ppl", "between 0 and 1, got 7.5"), ("em", "found acc,flexible")):
        with pytest.raises(BadInput, match=message):
            open_results(path, metric)


def test_scores_can_be_compared_in_place_of_passes(tmp_path: Path) -> None:
    for name, scores in (("a", (0.2, 0.5, 1)), ("b", (0.4, 0.7, 1))):
        lines = "".join(f"q{n},{score}\n" for n, score in enumerate(scores))
        (tmp_path / f"{name}.csv").write_text(f"id,score\n{lines}")
    files = (tmp_path / "a.csv", tmp_path / "b.csv")
    assert compared(*files)[0]["paired"]["difference"] == 0
    by_score = compared(*files, "--measure", "score")[0]
    assert by_score["paired"]["difference"] == pytest.approx(0.4 / 3)
    assert (by_score["detectable"], by_score["needed"]) == (None, None)


def test_the_configurations_of_skill_creator_are_two_runs(tmp_path: Path) -> None:
    tasks = [f"t{n}" for n in range(4)]
    with_skill = [Attempt(task=task, outcome="pass", tokens=9) for task in tasks]
    without = [Attempt(task=task, outcome="pass" if task == "t0" else "fail") for task in tasks]
    without[3] = Attempt(task="t3", outcome="invalid", reason="lost")
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps(benchmark_of("sums", with_skill, without, model="m")))
    comparison = compared(path)[0]
    assert comparison["before"]["run"] == "benchmark.json:without_skill"
    assert (comparison["before"]["invalid"], comparison["after"]["tokens"]) == (1, 36)
    paired = comparison["paired"]
    assert (paired["tasks"], paired["fixed"], paired["broken"]) == (3, ["t1", "t2"], [])


def test_part_of_the_expectations_is_a_fail_with_a_score(tmp_path: Path) -> None:
    met = [{"text": "a sum", "passed": True}, {"text": "in bold", "passed": False}]
    run = {
        "eval_id": 3, "configuration": "with_skill", "expectations": met,
        "result": {"pass_rate": 0.5, "passed": 1, "failed": 1, "total": 2},
    }  # fmt: skip
    (tmp_path / "benchmark.json").write_text(json.dumps({"runs": [run]}))
    (item,) = open_results(tmp_path / "benchmark.json")[0].items
    assert (item.id, item.outcome, item.value, item.reason) == ("3", "fail", 0.5, "in bold")


def test_junit_cases_are_attempts(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(
        '<testsuites><testsuite name="s"><testcase classname="c" name="a" time="0.5"/>'
        '<testcase classname="c" name="b"><failure message="no"/></testcase>'
        '<testcase classname="c" name="d"><failure message="x"/><error>lost</error></testcase>'
        '<testcase classname="c" name="e"><skipped/></testcase></testsuite></testsuites>'
    )
    (run,) = open_results(tmp_path / "r.xml")
    assert outcomes(run) == {"c.a": "pass", "c.b": "fail", "c.d": "invalid"}
    assert [item.reason for item in run.items] == ["", "no", "lost"]
    assert (run.lock["suite"], run.items[0].usage.seconds) == ("s", 0.5)


def test_a_folder_of_logs_of_inspect_has_its_runs(tmp_path: Path) -> None:
    for name in ("inspect_a.eval", "inspect_c.eval"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    assert [row["paired"]["tasks"] for row in compared(tmp_path)] == [8]


def test_our_own_junit_comes_back(tmp_path: Path) -> None:
    run, xml = tmp_path / "run", tmp_path / "r.xml"
    import_results(DATA / "promptfoo_b.json", run, column="sums-b")
    from harness.evals.formats.junit import write_junit

    write_junit([run], xml)
    (back,) = open_results(xml)
    expected = outcomes(open_results(run)[0])
    assert outcomes(back) == expected


def test_a_table_has_a_run_for_every_model(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "Model;ID;Passed;note\nx;a;true;\nx;b;no;\ny;a;1;ü\ny;b;;\ny;b;pass;\n", encoding="utf-8"
    )
    x, y = open_results(tmp_path / "t.csv")
    assert (x.name, outcomes(x)) == ("t.csv:x", {"a": "pass", "b": "fail"})
    assert (y.name, outcomes(y)) == ("t.csv:y", {"a": "pass", "b": "invalid", "b@1": "pass"})
    paired = compare_results(x, y).paired
    assert (paired.tasks, paired.difference) == (2, 0.5)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,note\nx,y\n", "one for the verdict"),
        ("a.csv", "id,passed\nx,maybe\n", "a.csv:2: expected a verdict"),
        ("a.csv", "id,score\nx,70\n", "a.csv:2: expected a verdict"),
        ("a.csv", "id,passed\nx,true\n,true\n", "a.csv:3: expected the name of a task"),
        ("a.csv", "", "one for the verdict"),
        ("a.xml", "<a", "JUnit XML"),
        ("a.xml", "<testsuite/>", "found none"),
        ("evals.json", '{"skill_name": "s", "evals": []}', "benchmark.json"),
        ("results.json", '{"results": {}, "configs": {}}', "--log_samples"),
        ("x.json", "[1]", "cannot tell"),
        ("x.jsonl", '{"messages": []}\n', "cannot tell"),
        ("x.json", '{"config": {}, "results": {"results": []}}', "found none"),
        ("l.eval", "no zip", "l.eval"),
    ],
)
def test_what_is_no_result_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=message):
        open_results(tmp_path / name)
    with pytest.raises(BadInput, match=message):
        import_results(tmp_path / name, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_of_several_is_imported_by_its_name(tmp_path: Path) -> None:
    words = ["eval", "import", str(DATA / "promptfoo_b.json"), "--out", str(tmp_path / "run")]
    refused = CliRunner().invoke(cli, words)
    assert isinstance(refused.exception, BadInput)
    assert "name one with --column: sums-b, sums-c" in str(refused.exception)
    done = CliRunner().invoke(cli, [*words, "--column", "sums-b"])
    assert "promptfoo says: errors 1, failed 1, passed 6" in done.output
    reader = RunReader(tmp_path / "run")
    assert len(records(tmp_path / "run")) == 8
    steps = next(iter(reader.trajectories()))["steps"]
    assert [step["source"] for step in steps] == ["user", "agent"]
    assert [step["message"] for step in steps] == [
        "What is 1 + 3? Answer with the number alone.", "4",
    ]  # fmt: skip


def test_the_looks_of_a_gate_are_taken_together_and_a_run_that_stopped_is_named(
    tmp_path: Path,
) -> None:
    tasks = tmp_path / "tasks.jsonl"

    def run(name: str, ids: str, answer: str, **settings: object) -> None:
        rows = [{"id": task, "prompt": "?", "answer": "4"} for task in ids]
        tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
        values = {
            "suite": str(tasks), "out": tmp_path / name, "sandbox": "none", "epochs": 2,
            "agent": f"cmd:echo {answer}", "models": ("openai/x",), "concurrency": 1,
            "base_url": "http://127.0.0.1:9/v1", **settings,
        }  # fmt: skip
        run_evaluation(EvalSettings.model_validate(values))

    for look, ids in (("look-01", "ab"), ("look-02", "cd")):
        run(f"before/{look}", ids, "5")
        run(f"after/{look}", ids, "4")
    [before], [after] = (open_results(tmp_path / name) for name in ("before", "after"))
    joined = compare_results(before, after)
    assert (joined.before.run, joined.after.run, joined.paired.tasks) == ("before", "after", 4)
    assert (joined.paired.difference, joined.unfinished) == (1.0, {})
    run("whole", "ab", "4")
    segment = tmp_path / "whole" / "items.seg"
    segment.write_bytes(segment.read_bytes()[:-20])  # as after a kill
    [whole] = open_results(tmp_path / "whole")
    assert compare_results(before, whole).unfinished == {"whole": 4}
    paths = [str(tmp_path / name) for name in ("before", "whole")]
    text = CliRunner().invoke(cli, ["compare", *paths]).output
    assert "unfinished: whole is not at its end of 4 attempts" in text


def test_a_difference_that_shows_needs_no_more_tasks(tmp_path: Path) -> None:
    for name, word in (("a", "fail"), ("b", "pass")):
        (tmp_path / f"{name}.csv").write_text(
            "id,outcome\n" + "".join(f"q{n},{word}\n" for n in range(30))
        )
    result = compared(tmp_path / "a.csv", tmp_path / "b.csv")[0]
    assert (result["paired"]["difference"], result["needed"]) == (1, None)

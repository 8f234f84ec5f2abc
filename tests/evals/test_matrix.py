"""A matrix of runs from one file: cells, budgets, going on, comparison, plot, copy to share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, LimitReached
from harness.core.rundir import RunReader
from harness.evals import records, regrade_folder
from harness.evals.matrix.plot import Point, cost_plot, pareto
from harness.evals.matrix.report import matrix_report
from harness.evals.matrix.run import MatrixRun, MatrixSettings
from harness.evals.matrix.spec import read_lock, read_matrix
from harness.stats import holm
from tests.models.http_server import Answer, completion, serve

SECRET = "sk-" + "a1B2" * 8
MATRIX = """
name: sizes
suites: [s.jsonl]
models:
  small: {{spec: openai/small, base_url: "{url}"}}
  large: {{spec: openai/large, base_url: "{url}"}}
contexts:
  plain: {{}}
  hot: {{sampling: {{temperature: 0.9}}}}
base: {{model: small}}
"""


def answer(body: dict[str, Any]) -> Answer:
    """The large model knows all answers; the small one those of even tasks."""
    number = int(re.findall(r"task (\d+)", str(body["messages"]))[-1])
    knows = body["model"] == "large" or number % 2 == 0
    return completion("4" if knows else f"no idea {SECRET}")


def written(folder: Path, url: str, tasks: int = 8, text: str = MATRIX) -> Path:
    rows = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(tasks)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "matrix.yaml"
    path.write_text(text.format(url=url))
    return path


def told(*words: str) -> Result:
    return CliRunner().invoke(cli, ["eval", "matrix", "--sandbox", "none", *words])


def test_cells_are_run_folders_compared_with_the_base(tmp_path: Path) -> None:
    with serve(answer) as served:
        done = told(str(written(tmp_path, served.url)), "--out", str(tmp_path / "m"), "--json")
        assert len(served.bodies) == 32
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    rows = {(one["cell"]["model"], one["cell"]["context"]): one for one in report["cells"]}
    assert rows["small", "plain"]["base"]
    assert rows["small", "plain"]["versus_base"] is None
    assert rows["small", "hot"]["versus_base"]["difference"] == 0
    large = rows["large", "plain"]
    assert (large["report"]["score"], large["versus_base"]["difference"]) == (1.0, 0.5)
    # Four of eight tasks are fixed: exact McNemar 2 / 16, two such comparisons of three.
    assert large["versus_base"]["p"] == pytest.approx(0.125)
    assert (report["comparisons"], large["p_holm"]) == (3, pytest.approx(0.375))
    for one in report["cells"]:
        assert RunReader(tmp_path / "m" / one["run"]).lock["kind"] == "eval"
    again = told(str(tmp_path / "m"))
    assert "+50.0%" in again.output
    assert "corrected for 3 (Holm)" in again.output


def test_a_matrix_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with serve(answer) as served:
        path = written(tmp_path, served.url)
        stopped = told(str(path), "--out", str(tmp_path / "m"), "--budget-calls", "12")
        assert isinstance(stopped.exception, LimitReached)
        assert "go on with:\n" in stopped.output
        assert len(served.bodies) == 12
        half = matrix_report(tmp_path / "m")
        assert [one.report is None for one in half.cells] == [False, False, True, True]
        spent = told(str(path), "--resume", str(tmp_path / "m"), "--budget-calls", "12")
        assert isinstance(spent.exception, LimitReached)
        assert len(served.bodies) == 12
        assert told(str(path), "--resume", str(tmp_path / "m")).exit_code == 0
        assert len(served.bodies) == 32
    assert all(len(records(tmp_path / "m" / one.folder)) == 8 for one in cells(tmp_path / "m"))


def cells(folder: Path) -> Any:
    return read_lock(folder).cells


def test_another_matrix_is_refused(tmp_path: Path) -> None:
    with serve(answer) as served:
        path = written(tmp_path, served.url, tasks=2)
        assert told(str(path), "--out", str(tmp_path / "m")).exit_code == 0
        path.write_text(path.read_text() + "epochs: 2\n")
        other = told(str(path), "--resume", str(tmp_path / "m"))
    assert isinstance(other.exception, BadInput)
    assert "holds another matrix" in str(other.exception)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("suites: [s.jsonl]\nmodels: [openai/x]\n", "name: Field required"),
        ("name: x\nsuites: []\nmodels: [openai/x]\n", "suites: Dictionary should have at least 1"),
        ("name: x\nsuites: [a, a]\nmodels: [openai/x]\n", "names an entry twice"),
        ("name: x\nsuites: [s.jsonl]\nmodels: [openai/x]\nbase: {{model: y}}\n", "base is no cell"),
        ("name: x\nsuites: [s.jsonl]\nmodels: [openai/x]\nbase: {{suite: s}}\n", "got 'suite'"),
        ("name: x\nsuites: [s.jsonl]\nmodels: [openai/x]\ncolour: red\n", "colour: no such field"),
        ("name: x\nsuites: [s.jsonl]\nmodels: [openai/x]\ncontexts: {{a: {{b: 2}}}}\n", "a.b: no"),
        ("a: [", "not YAML"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_by_its_field(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_matrix(written(tmp_path, "", text=text))


@pytest.mark.parametrize("line", ["skills: [nowhere]", "models: [none/x]", "suites: [nowhere]"])
def test_nothing_is_run_where_one_cell_cannot_be(tmp_path: Path, line: str) -> None:
    axis = line.partition(":")[0]
    rows = {"name": "name: x", "suites": "suites: [s.jsonl]", "models": "models: [openai/x]"}
    text = "\n".join({**rows, axis: line.replace("[", "[s.jsonl, ") if axis == "suites" else line}
                     .values())  # fmt: skip
    with pytest.raises(BadInput):
        run_file(written(tmp_path, "", text=text), tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_model_without_a_key_is_found_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = MATRIX.replace('large: {{spec: openai/large, base_url: "{url}"}}', "large: openai/large")
    with serve(answer) as served:
        with pytest.raises(BadInput, match="OPENAI_API_KEY"):
            run_file(written(tmp_path, served.url, text=text), tmp_path / "m")
        assert not served.bodies


def test_a_cell_is_judged_again_from_anywhere_as_its_arm_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MATRIX.replace("sampling: {{temperature: 0.9}}", "tools: [bash], limits:, agent:")
    (tmp_path / "c.py").write_text("def judge(task, workdir, answer):\n    return True\n")
    with serve(answer) as served:
        path = written(tmp_path, served.url, tasks=1, text=text)
        rows = (tmp_path / "s.jsonl").read_text().replace('"4"}', '"4", "check": "c.py:judge"}')
        (tmp_path / "s.jsonl").write_text(rows)
        monkeypatch.chdir(tmp_path.parent)
        matrix = read_matrix(path)
        MatrixRun(
            matrix,
            path.parent,
            tmp_path / "m",
            MatrixSettings(trust=True, trust_checks=True, sandbox="none"),
        ).run()
    for cell in matrix.cells():
        folder = tmp_path / "m" / cell.folder
        again = folder.with_suffix(".again")
        # With tools, by the files that the attempt left: they are kept with the run.
        assert regrade_folder(folder, again, None, "none", trust_checks=True).graded == 1
        assert again.exists()


def run_file(path: Path, out: Path) -> None:
    MatrixRun(read_matrix(path), path.parent, out, MatrixSettings(sandbox="none")).run()


def test_a_cell_that_cannot_be_reached_does_not_stop_the_others(tmp_path: Path) -> None:
    with serve(answer) as served:
        path = written(tmp_path, served.url, tasks=2)
        lost = 'small: {spec: openai/small, base_url: "http://127.0.0.1:9/v1"}'
        path.write_text(re.sub(r"small: \{.*\}", lost, path.read_text(), count=1))
        done = told(str(path), "--out", str(tmp_path / "m"))
    assert done.exit_code == 0, done.output
    found = {(one.cell.model, one.cell.context): one for one in matrix_report(tmp_path / "m").cells}
    large, small = found["large", "plain"].report, found["small", "plain"].report
    assert large is not None
    assert small is not None
    assert (large.passed, small.score, small.invalid) == (2, None, 2)


def test_the_dry_run_costs_nothing_and_says_what_all_would(tmp_path: Path) -> None:
    with serve(answer) as served:
        done = told(str(written(tmp_path, served.url)), "--dry-run", "--json")
        assert served.bodies == []
    found = json.loads(done.stdout)
    assert [one["estimate"]["calls"] for one in found["cells"]] == [8] * 4
    assert found["cost_usd"] is None


def test_the_plot_is_labelled_and_joins_the_front() -> None:
    rows = [("a & b", 1.0, 0.5), ("c", 2.0, 0.4), ("d", 3.0, 0.9), ("e", 3.0, 0.8)]
    points = [Point(label=label, cost=cost, quality=rate, low=rate - 0.1, high=rate + 0.1)
              for label, cost, rate in rows]  # fmt: skip
    assert pareto(points) == [0, 2]
    assert pareto([points[2], points[3], points[2]]) == [0, 2], "as cheap and as good"
    drawn = cost_plot(points, "title", "US dollars")
    tree = ElementTree.fromstring(drawn)
    name = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in tree.iter(f"{name}text")]
    assert {"a & b", "c", "d", "e", "title", "US dollars per attempt"} <= set(texts)
    kinds = [one.get("class") for one in tree.iter(f"{name}circle")]
    assert kinds == ["best", "dot", "best", "dot"]
    line = next(tree.iter(f"{name}polyline")).get("points") or ""
    assert len(line.split()) == 2


@pytest.mark.parametrize("costs", [[0.0], [0.0, 0.0], [1e-6, 5.0], [7.0, 7.0], [0.0, 3.0]])
def test_any_costs_can_be_drawn(costs: list[float]) -> None:
    points = [Point(label="x", cost=cost, quality=0.5, low=0, high=1) for cost in costs]
    for circle in ElementTree.fromstring(cost_plot(points, "t", "tokens")).iter():
        if circle.tag.endswith("circle"):
            assert 70 <= float(circle.get("cx") or -1) <= 736


def test_holm_multiplies_the_least_by_the_number() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]

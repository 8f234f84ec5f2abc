"""Reuse of an earlier run by a new one, and judging again without running."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import harness
from harness.api import EvalSettings, compare_runs, run_evaluation
from harness.cli import cli
from harness.core import BadInput, LimitReached, Task, remove_tree
from harness.core.rundir import RunReader
from harness.evals import Step, plan, records, regrade_folder
from harness.evals.plan import read_parts, sample_parts
from harness.evals.regrade import regradable
from tests.models.http_server import Answer, Served, completion, serve

JUDGE = "def judge(task, workdir, answer):\n    return answer == {!r}\n"


class Lab:
    """A suite of four tasks, two of them judged by code, and runs of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = [
            {"id": f"t{n}", "prompt": f"task {n}", "answer": "4", "check": "exact"}
            for n in range(4)
        ]
        self.rows[2]["check"] = self.rows[3]["check"] = "check.py:judge"
        self.tools = ""
        self.judge("4")

    def judge(self, right: str) -> None:
        (self.folder / "check.py").write_text(JUDGE.format(right))

    def run(self, name: str, served: Served, **settings: Any) -> list[Step]:
        """A run; what was planned for every attempt."""
        tasks = "".join(json.dumps(row) + "\n" for row in self.rows)
        (self.folder / "tasks.jsonl").write_text(tasks)
        (self.folder / "suite.yaml").write_text(f"name: s\ntasks: tasks.jsonl\n{self.tools}")
        steps: list[Step] = []
        fields = EvalSettings(
            suite=str(self.folder / "suite.yaml"), out=self.folder / name, sandbox="none",
            trust=True, trust_checks=True, models=("openai/x",), base_url=served.url, **settings,
        )  # fmt: skip
        run_evaluation(fields, on_plan=steps.extend)
        return steps

    def actions(self, name: str, served: Served, **settings: Any) -> str:
        steps = self.run(name, served, earlier=self.folder / "first", **settings)
        return " ".join(f"{step.id}:{step.action}" for step in steps)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_what_is_as_it_was_is_taken_over_without_a_call(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        assert lab.actions("again", served) == "t0:REUSE t1:REUSE t2:REUSE t3:REUSE"
        assert len(served.bodies) == 4
    first, again = RunReader(lab.folder / "first"), RunReader(lab.folder / "again")
    assert list(first.items()) == list(again.items())
    assert list(first.trajectories()) == list(again.trajectories())


def test_a_changed_prompt_and_a_new_task_are_run(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        lab.rows[1]["prompt"] = "another task"
        lab.rows.append({"id": "t4", "prompt": "new", "answer": "4"})
        found = lab.run("again", served, earlier=lab.folder / "first")
        assert len(served.bodies) == 6
    assert [step.action for step in found] == ["REUSE", "RERUN", "REUSE", "REUSE", "RERUN"]
    assert found[1].why == "other sample"
    assert found[4].why == "no such attempt in the earlier run"
    assert len(records(lab.folder / "again")) == 5


def test_a_changed_check_is_graded_again_without_a_call(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        lab.judge("5")
        lab.rows[0]["answer"] = "5"
        assert lab.actions("again", served) == "t0:REGRADE t1:REUSE t2:REGRADE t3:REGRADE"
        assert len(served.bodies) == 4
    outcomes = {item.id: item.outcome for item in records(lab.folder / "again")}
    assert outcomes == {"t0": "fail", "t1": "pass", "t2": "fail", "t3": "fail"}
    judged = [row["extra"]["harness"] for row in RunReader(lab.folder / "again").trajectories()]
    assert {one["task_id"]: one["outcome"] for one in judged} == outcomes
    changes = compare_runs(lab.folder / "first", lab.folder / "again").changes
    assert [(one.id, one.before, one.after) for one in changes] == [
        ("t0", "pass", "fail"), ("t2", "pass", "fail"), ("t3", "pass", "fail"),
    ]  # fmt: skip


def test_what_is_judged_by_its_folder_runs_again_on_the_recorded_answers(lab: Lab) -> None:
    lab.tools = "tools: [bash]\n"
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        lab.judge("5")
        # The budget is what this run may spend: what the first one had spent is not in it.
        found = lab.actions("again", served, budget_calls=1)
        assert found == "t0:REUSE t1:REUSE t2:RERUN t3:RERUN"
        assert len(served.bodies) == 4
    assert [item.outcome for item in records(lab.folder / "again")] == ["pass"] * 2 + ["fail"] * 2


def test_other_settings_run_again_unless_they_are_accepted(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        found = lab.run("other", served, earlier=lab.folder / "first", seed=7)
        assert {step.why for step in found} == {"other settings (seed 41 -> 7)"}
        found = lab.run("slow", served, earlier=lab.folder / "first", time_limit=300, seed=7)
        assert {step.why for step in found} == {
            "other settings (limits.seconds null -> 300.0, seed 41 -> 7)"
        }
        taken = lab.actions("taken", served, seed=7, accept=("settings",))
        assert taken == "t0:REUSE t1:REUSE t2:REUSE t3:REUSE"
        with pytest.raises(BadInput, match="expected a part of an attempt"):
            lab.run("bad", served, earlier=lab.folder / "first", accept=("luck",))
        assert len(served.bodies) == 12


def test_a_run_that_does_not_say_what_it_was_made_of_is_run_again(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        (lab.folder / "first" / "parts.json").unlink()
        found = lab.run("again", served, earlier=lab.folder / "first")
    assert {step.action for step in found} == {"RERUN"}
    assert {step.why for step in found} == {"the earlier run does not say what it was made of"}


def test_a_command_without_a_skill_is_the_one_that_could_take_it(lab: Lab) -> None:
    lab.rows[2]["check"] = lab.rows[3]["check"] = "exact"
    with serve(lambda _body: completion("never asked")) as served:
        lab.run("first", served, agent="cmd:echo 4")
        steps = lab.actions("second", served, agent="cmd:echo 4 {skill}")
        assert steps.count("REUSE") == 4
        (lab.folder / "my agent.sh").write_text("echo 4")
        agent = f"cmd:sh '{lab.folder}/my agent.sh'"
        remove_tree(lab.folder / "first")
        lab.run("first", served, agent=agent, limit=1)
        assert lab.actions("third", served, agent=agent, limit=1) == "t0:REUSE"
        (lab.folder / "my agent.sh").write_text("echo  4")
        assert lab.actions("fourth", served, agent=agent, limit=1) == "t0:RERUN"


def test_invalid_attempts_are_never_taken_over(lab: Lab) -> None:
    with serve(lambda _body: completion("4"), delay_s=0.5) as served:
        lab.run("first", served, time_limit=0.1)
        found = lab.run("again", served, earlier=lab.folder / "first")
    assert {step.action for step in found} == {"RERUN"}
    assert all(step.why.startswith("invalid there: ") for step in found)


def test_a_kill_between_plan_and_records_is_made_good(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        lab.run("again", served, earlier=lab.folder / "first")
        segment = lab.folder / "again" / "items.seg"
        segment.write_bytes(segment.read_bytes()[:-3])  # a torn last record
        lab.run("again", served, earlier=lab.folder / "first", resume=lab.folder / "again")
        assert len(served.bodies) == 4
    assert len(records(lab.folder / "again")) == 4
    assert len(read_parts(lab.folder / "again")) == 1


def regrade(lab: Lab, *words: str) -> dict[str, Any]:
    run = str(lab.folder / "first")
    found = CliRunner().invoke(cli, ["eval", "regrade", run, "--trust-checks", "--json", *words])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_regrade_lists_what_has_changed_and_leaves_the_run_alone(lab: Lab) -> None:
    busy = [(503, {"Retry-After": "0.5"}, b"{}")]

    def third_is_last(body: dict[str, Any]) -> Answer:
        return busy.pop() if busy and "task 2" in json.dumps(body) else completion("4")

    with serve(third_is_last) as served:
        lab.run("first", served)
    assert [item.id for item in records(lab.folder / "first")][-1] == "t2"
    before = {path.name: path.read_bytes() for path in (lab.folder / "first").glob("*.seg")}
    lab.judge("5")
    found = regrade(lab)
    assert (found["before"]["passed"], found["after"]["passed"], found["graded"]) == (4, 2, 4)
    assert [(one["id"], one["before"], one["after"]) for one in found["changed"]] == [
        ("t2", "pass", "fail"), ("t3", "pass", "fail"),
    ]  # fmt: skip
    assert {p.name: p.read_bytes() for p in (lab.folder / "first").glob("*.seg")} == before
    assert regrade(lab) == found, "what was judged again is reported again"
    lab.judge("4")
    with pytest.raises(BadInput, match="holds other files: name another --out"):
        regrade_folder(
            lab.folder / "first", lab.folder / "first-regraded", None, "none", trust_checks=True
        )
    lab.judge("5")
    with serve(lambda _body: completion("4")) as served:
        steps = lab.run("next", served, earlier=lab.folder / "first-regraded")
        assert ({step.action for step in steps}, served.bodies) == ({"REUSE"}, [])


def test_answers_in_json_are_judged_again_and_what_cannot_be_is_refused(lab: Lab) -> None:
    lab.rows = [{"id": "t0", "prompt": "task", "answer": {"city": "Rome"}}]
    lab.rows.append({"id": "t1", "prompt": "task", "answer": "[4]", "check": "json"})
    agent = f"cmd:cat {lab.folder / 'reply.json'}"
    (lab.folder / "reply.json").write_text('{"city": "Rome"}')
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served, agent=agent)
        outcomes = {item.task_id: item.outcome for item in records(lab.folder / "first")}
        assert outcomes == {"t0": "pass", "t1": "fail"}
        lab.rows[0]["answer"] = {"city": "Paris"}
        steps = lab.run("next", served, agent=agent, earlier=lab.folder / "first")
        assert [step.action for step in steps] == ["REGRADE", "REUSE"]
        result = regrade(lab)
        assert (result["graded"], result["after"]["failed"]) == (2, 2)
        lab.rows = [{"id": "t", "prompt": "task", "check": "test -f made"}]
        lab.run("folder", served, agent=agent)
    with pytest.raises(BadInput, match=r"none of 1 attempts .* \(1 judged by its"):
        regrade_folder(lab.folder / "folder", lab.folder / "out", None, "none", trust_checks=True)
    assert not (lab.folder / "out").exists()


def edit_prompt(lab: Lab) -> None:
    lab.rows[0]["prompt"] = "another"


def drop_task(lab: Lab) -> None:
    lab.rows.pop()


@pytest.mark.parametrize("change", [edit_prompt, drop_task])
def test_answers_to_other_questions_are_not_judged(lab: Lab, change: Callable[[Lab], None]) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        change(lab)
        lab.run("other", served)
    with pytest.raises(BadInput, match="cannot be judged by it"):
        regrade_folder(lab.folder / "first", lab.folder / "out", None, "none", trust_checks=True)
    assert not (lab.folder / "out").exists()


def test_a_budget_holds_beside_the_answers_that_came_along(lab: Lab) -> None:
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        for row in lab.rows[:2]:
            row["prompt"] += " now"
        with pytest.raises(LimitReached, match="1 calls"):
            lab.run("again", served, earlier=lab.folder / "first", budget_calls=1, concurrency=1)
        assert len(served.bodies) == 5
        with pytest.raises(LimitReached):
            lab.run("again", served, resume=lab.folder / "again", budget_calls=1, concurrency=1)
        assert len(served.bodies) == 5
        lab.run("again", served, resume=lab.folder / "again", budget_calls=2, concurrency=1)
        assert len(served.bodies) == 6


def test_a_table_answered_in_a_workbook_is_judged_by_its_folder() -> None:
    table = Task(id="t", prompt="p", check="tableqa", answer=["4"])
    assert not regradable(table, "graph:react", None)
    assert regradable(table.model_copy(update={"meta": {"form": "reply"}}), "graph:react", None)
    assert sample_parts(table, Path()) != sample_parts(
        table.model_copy(update={"check": "em"}), Path()
    )


def test_other_code_of_ours_runs_again_unless_it_is_accepted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {"code": plan.code_digest(*plan.ROOMS), "tasks": plan.code_digest("tasks")}
    assert digests["code"] != digests["tasks"]

    def later(*rooms: str) -> str:
        return digests["tasks"] if rooms == ("tasks",) else "other"

    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served)
        (parts,) = read_parts(lab.folder / "first")
        assert (parts.shared["code"], parts.scorer) == (digests["code"], digests["tasks"])
        # As a later version of the library would have it: other code makes the attempts.
        monkeypatch.setattr(plan, "code_digest", later)
        found = lab.run("again", served, earlier=lab.folder / "first")
        assert {(step.action, step.why) for step in found} == {("RERUN", "other code")}
        accepted = lab.actions("accepted", served, accept=("code",))
    assert accepted == "t0:REUSE t1:REUSE t2:REUSE t3:REUSE"


def test_code_is_known_by_the_contents_of_all_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "harness"
    for name in ("agents/a.py", "agents/inner/b.py", "tasks/c.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("x = 1\n")
    monkeypatch.setattr(harness, "__file__", str(package / "__init__.py"))

    def current() -> str:
        plan.code_digest.cache_clear()
        return plan.code_digest("agents", "absent")

    before = current()
    (package / "tasks/c.py").write_text("x = 2\n")
    assert current() == before
    (package / "agents/inner/b.py").write_text("x = 2\n")
    assert current() != before
    plan.code_digest.cache_clear()

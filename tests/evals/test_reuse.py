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
from harness.evals.attempts import regradable
from harness.evals.plan import read_parts, sample_parts
from harness.evals.suite import LoadedSuite, Suite
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

    def write(self, files: dict[str, str]) -> None:
        """Files by their paths in the folder."""
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

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
        remove_tree(lab.folder / "first" / "kept")
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


def test_a_changed_module_that_the_agent_imports_is_another_agent(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the file, in a package of the working folder, by `PYTHONPATH`, directly or not."""
    monkeypatch.chdir(lab.folder)
    monkeypatch.setenv("PYTHONPATH", f"{lab.folder}/more")
    lab.write({
        "app/agent.py": "import json, helpers\nfrom app.inner import deep\n"
        "def answer(prompt):\n    import far\n    return '4'\n",
        "app/helpers.py": "import app.agent\nimport app.broken\n",
        "app/broken.py": "def (\n",
        "app/inner/__init__.py": "from ..inner import deep\n",
        "app/inner/deep.py": "import named\n",
        "app/idle.py": "",
        "more/far.py": "",
        "named.py": "import numpy\n",
        "numpy/site-packages/numpy.py": "",
    })  # fmt: skip
    digests = [plan.agent_digest("py:app/agent.py:answer", lab.folder)]

    def same_after(path: str, text: str) -> bool:
        (lab.folder / path).write_text(text)
        digests.append(plan.agent_digest("py:app/agent.py:answer", lab.folder))
        return digests[-1] == digests[-2]

    assert same_after("app/idle.py", "x = 1\n"), "it is not imported"
    for name in ("app/helpers", "app/broken", "app/inner/__init__", "app/inner/deep"):
        assert not same_after(f"{name}.py", (lab.folder / f"{name}.py").read_text() + "#\n"), name
    assert not same_after("more/far.py", "x = 1\n")
    assert not same_after("named.py", "x = 1\n")
    (lab.folder / "app/broken.py").unlink()
    assert not same_after("app/idle.py", "")


def test_a_changed_file_that_a_script_names_is_another_agent(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.folder)
    lab.write({
        "bot/run.sh": "cd bot && exec node bot.js # see http://a.example/x\n",
        "bot/bot.js": "const rules = require('./rules')\nread(__dirname + '/texts/policy.md')\n",
        "bot/rules.js": "import '../bot/run.sh'\n",
        "bot/texts/policy.md": "idle.js\n",
        "bot/idle.js": "",
    })  # fmt: skip
    spec = "cmd:bash bot/run.sh {prompt}"
    digests = [plan.agent_digest(spec, lab.folder)]
    for path in ("run.sh", "bot.js", "rules.js", "texts/policy.md"):
        (lab.folder / "bot" / path).write_text((lab.folder / "bot" / path).read_text() + " ")
        digests.append(plan.agent_digest(spec, lab.folder))
    assert len(set(digests)) == 5
    (lab.folder / "bot/idle.js").write_text("1")
    assert plan.agent_digest(spec, lab.folder) == digests[-1], "no script names it"


def test_a_suites_own_agent_is_looked_up_in_its_folder(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (lab.folder / "bot.sh").write_text("echo 4\n")
    (here / "bot.sh").write_text("echo 5\n")
    suite = LoadedSuite(
        suite=Suite(name="s", tasks="t.jsonl", agent="cmd:sh bot.sh"), split=None, tasks=(),
        base=lab.folder, root=lab.folder,
    )  # fmt: skip
    assert suite.agent_folder("cmd:sh bot.sh") == lab.folder
    assert suite.agent_folder("cmd:sh ./bot.sh") == here
    own = plan.agent_digest("cmd:sh bot.sh", suite.agent_folder("cmd:sh bot.sh"))
    (here / "bot.sh").write_text("echo 6\n")
    assert plan.agent_digest("cmd:sh bot.sh", lab.folder) == own


def test_a_changed_helper_is_run_again_and_named_by_compare(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(lab.folder)
    (lab.folder / "agent.py").write_text("import helper\ndef answer(prompt): return helper.TEXT\n")
    (lab.folder / "helper.py").write_text("TEXT = '4'\n")
    for row in lab.rows:
        row["check"] = "exact"
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served, agent="py:agent.py:answer")
        assert "RERUN" not in lab.actions("same", served, agent="py:agent.py:answer")
        (lab.folder / "helper.py").write_text("TEXT = '5'\n")
        steps = lab.run("next", served, agent="py:agent.py:answer", earlier=lab.folder / "first")
        assert {step.why for step in steps} == {"other agent"}
        first = lab.folder / "first"
        same, other = (compare_runs(first, lab.folder / name) for name in ("same", "next"))
        assert "agent" not in same.differs and "agent" in other.differs
        assert not caplog.text
        with pytest.raises(BadInput, match="ended with other code of the agent"):
            lab.run("first", served, agent="py:agent.py:answer", resume=first)
        (first / "finished.json").unlink()
        lab.run("first", served, agent="py:agent.py:answer", resume=first)
        assert "4 attempts are of other code of the agent" in caplog.text


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
        (lab.folder / "zeros").write_bytes(bytes(20_000_000))
        lab.run("folder", served, agent=f"cmd:cp {lab.folder / 'zeros'} made")
    with pytest.raises(
        BadInput, match=r"none of 1 attempts .* \(1 judged by files that"
    ) as refused:
        regrade_folder(lab.folder / "folder", lab.folder / "out", None, "none", trust_checks=True)
    assert f"harness eval {lab.folder}/suite.yaml --from {lab.folder}/folder`" in str(refused.value)
    assert not (lab.folder / "out").exists()


def test_what_an_attempt_left_is_judged_again(lab: Lab) -> None:
    (lab.folder / "in.txt").write_text("input")
    row = {"id": "t", "prompt": "task", "files": {"in.txt": "in.txt"}, "check": "./made right"}
    lab.rows = [row, {**row, "id": "u"}]
    script = "rm in.txt; ln -s /etc/passwd link; chmod +x made\n"
    script = "printf '#!/bin/sh\\ntest \"$1\" = right' > made; " + script
    (lab.folder / "agent.sh").write_text(script)
    with serve(lambda _body: completion("4")) as served:
        lab.run("first", served, agent=f"cmd:sh {lab.folder}/agent.sh")
        assert {item.outcome for item in records(lab.folder / "first")} == {"pass"}
        lab.rows[0]["check"] = "test ! -e in.txt && test ! -e link && ./made wrong"
        lab.rows[0]["check"] = f"sh -c {lab.rows[0]['check']!r}"
        steps = lab.run(
            "next", served, earlier=lab.folder / "first", agent=f"cmd:sh {lab.folder}/agent.sh"
        )
    assert sorted(step.action for step in steps) == ["REGRADE", "REUSE"]
    outcomes = {item.task_id: item.outcome for item in records(lab.folder / "next")}
    assert outcomes == {"t": "fail", "u": "pass"}
    lab.rows[0]["check"] = "sh -c 'test ! -e in.txt && test ! -e link && ./made right'"
    tasks = "".join(json.dumps(row) + "\n" for row in lab.rows)
    (lab.folder / "tasks.jsonl").write_text(tasks)
    run, out = lab.folder / "next", lab.folder / "out"
    again = regrade_folder(run, out, None, "none", trust_checks=True)
    assert (again.graded, again.after.passed, again.kept) == (2, 2, {})
    assert "made" not in (out / "trajectories.seg").read_bytes().decode(errors="replace")


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


def test_a_changed_module_beside_the_agent_is_another_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.evals import agent_digest

    monkeypatch.chdir(tmp_path)
    (tmp_path / "app" / "parts").mkdir(parents=True)
    files = {
        "agent.py": "import beside\nfrom app import graph\nimport json\n",
        "beside.py": "X = 1\n",
        "app/__init__.py": "",
        "app/graph.py": "from .parts import words\nfrom . import tools\nimport agent\n",
        "app/tools.py": "Y = 1\n",
        "app/parts/__init__.py": "",
        "app/parts/words.py": "Z = 1\n",
        "check.py": "C = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    first = agent_digest("py:agent.py:run", tmp_path)
    (tmp_path / "check.py").write_text("C = 2\n")
    assert agent_digest("py:agent.py:run", tmp_path) == first
    for name in ("beside.py", "app/graph.py", "app/tools.py", "app/parts/words.py"):
        (tmp_path / name).write_text(files[name] + "V = 2\n")
        assert agent_digest("py:agent.py:run", tmp_path) != first, name
        (tmp_path / name).write_text(files[name])
    (tmp_path / "beside.py").write_text("def broken(:\n")
    assert agent_digest("py:agent.py:run", tmp_path) != first

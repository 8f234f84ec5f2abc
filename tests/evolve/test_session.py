"""`run_evolution` from a suite: trajectories, examples, gate, and going on after a stop."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, LimitReached, remove_tree
from harness.core.errors import Refused
from harness.evals import EvalSettings, load_suite, run_evaluation
from harness.evolve import Event, EvolveSettings, plan_evolution, plan_notes, run_evolution, session
from harness.skills import new_skill, refuse_ungated, write_skill
from harness.trajectories import open_trajectories

PYTHON = f"{sys.executable} -I -S"  # `python3` may be a script that looks for one
# Without the skill, two thirds of its answers are full sentences, and wrong for every scorer.
AGENT = """
import sys
from pathlib import Path

prompt, skill = sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else ""
number = int(prompt.split()[2])
taught = bool(skill) and "Answer format" in Path(skill, "SKILL.md").read_text()
result = number + 1
print(result if taught or number % 3 == 0 else f"I think that it must surely be {result}00.")
"""


@pytest.fixture
def settings(tmp_path: Path) -> EvolveSettings:
    (tmp_path / "agent.py").write_text(AGENT)
    for split, count in (("train", 6), ("selection", 12)):
        rows = [
            {"id": f"{split}{n}", "prompt": f"What is {n} plus 1?", "answer": str(n + 1)}
            for n in range(count)
        ]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "suite.yaml").write_text(
        "name: plus\ntasks: {train: train.jsonl, selection: selection.jsonl}\n"
    )
    return EvolveSettings(
        out=tmp_path / "out",
        suite=str(tmp_path / "suite.yaml"),
        agent=f"cmd:{PYTHON} {tmp_path / 'agent.py'} {{prompt}} {{workdir}} {{skill}}",
        create="plus-one",
        analyst="exemplar",
        epochs=1,
        models=("simulated/lookup",),
        sandbox="none",
        concurrency=2,
    )


def test_expected_answers_teach_where_nothing_passed(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("taught or number % 3 == 0", "taught"))
    said: list[str] = []
    result = run_evolution(settings, progress=lambda event: said.append(event.message))
    assert "attempts passed at 0 of 6 tasks: the examples are made of expected answers" in said
    assert result.method == "exemplar, from expected answers (no merge)"
    assert (result.gate.verdict, result.gate.before, result.gate.after) == ("accepted", 0, 1)
    text = (tmp_path / "out" / "skill" / "plus-one" / "SKILL.md").read_text()
    assert "What is 2 plus 1?\nAnswer: 3" in text and "Answer with a number alone." in text
    assert "must surely" not in text
    runs = tmp_path / "out" / "runs" / "train"
    without = {"suite": None, "gate": "none", "trajectories": runs, "out": tmp_path / "given"}
    unsolved = run_evolution(settings.model_copy(update={**without, "out": tmp_path / "without"}))
    assert unsolved.gate.verdict == "not gated" and "none of the 6" in unsolved.gate.reason
    given = settings.model_copy(update={"analyst": "answers", **without})
    with pytest.raises(BadInput, match="name the suite of the runs, with --tasks"):
        run_evolution(given)
    for unit in ("", " apples"):  # other answers are not taken for those of before
        rows = [{"id": f"train{n}", "prompt": "?", "answer": f"{n + 1}{unit}"} for n in range(6)]
        (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        named = tmp_path / f"suite{len(unit)}.yaml"
        named.write_text("name: plus\ntasks: {train: tasks.jsonl}\n")
        run_evolution(given.model_copy(update={"tasks": str(named)}))
        text = (tmp_path / "given" / "skill" / "plus-one" / "SKILL.md").read_text()
        assert f"Answer: 3{unit}\n" in text


def test_from_suite_to_gated_skill(settings: EvolveSettings) -> None:
    result = run_evolution(settings)
    assert (result.gate.before, result.gate.after, result.gate.tasks) == (4 / 12, 1.0, 12)
    assert result.accepted is True
    runs = settings.out / "runs"
    assert len(list(open_trajectories(runs / "train"))) == 6
    written = {path: path.read_bytes() for path in runs.rglob("*items*") if path.is_file()}
    again = run_evolution(settings)
    assert again.gate == result.gate
    assert {path: path.read_bytes() for path in written} == written
    # With something else to measure, the skill and the verdict on it stand.
    wider = run_evolution(settings.model_copy(update={"baselines": ("none",)}))
    assert (wider.gate, wider.accepted, len(wider.baselines)) == (result.gate, True, 1)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_an_evolution_that_ended_is_reported_again_and_writes_nothing(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    flaky = "if number == 4 and not Path('well').exists():\n    sys.exit(3)\n"
    script = AGENT.replace("taught =", f"{flaky}taught =").replace("'well'", f"'{tmp_path}/well'")
    (tmp_path / "agent.py").write_text(script)
    first = run_evolution(settings)
    assert first.accepted and first.gate.invalid_before == 1
    before = contents(settings.out)
    (tmp_path / "well").touch()  # now the attempts that were invalid would be judged
    assert run_evolution(settings) == first
    assert contents(settings.out) == before
    with pytest.raises(BadInput, match="holds an accepted skill that was made with other settings"):
        run_evolution(settings.model_copy(update={"examples": 1}))
    rows = (tmp_path / "train.jsonl").read_text()
    (tmp_path / "train.jsonl").write_text(rows.replace("plus", "and"))
    with pytest.raises(BadInput, match="holds an accepted skill that was made with other"):
        run_evolution(settings)
    after = contents(settings.out)
    assert {name: after[name] for name in before if name[:6] == "skill/"} == {
        name: data for name, data in before.items() if name[:6] == "skill/"
    }


def test_a_refused_skill_is_not_gated_again_with_other_settings(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("taught =", "taught = not skill  #"))
    first = run_evolution(settings)
    assert not first.accepted and first.gate.looks
    with pytest.raises(BadInput, match="holds a gated skill"):
        run_evolution(settings.model_copy(update={"examples": 1}))
    assert run_evolution(settings) == first


def test_where_the_check_is_broken_nothing_is_learned(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    check = tmp_path / "check.py"
    check.write_text("def right(answer, task):\n    raise RuntimeError('no such table')\n")
    text = (tmp_path / "suite.yaml").read_text()
    for split in ("train", "selection"):
        rows = (tmp_path / f"{split}.jsonl").read_text()
        checked = rows.replace('"answer"', '"check": "check.py:right", "answer"')
        (tmp_path / f"{split}.jsonl").write_text(checked)
    (tmp_path / "suite.yaml").write_text(text)
    given = settings.model_copy(update={"trust_checks": True})
    with pytest.raises(
        BadInput, match=r"6 of 6 attempts .* were invalid(?s:.*)no skill was written"
    ):
        run_evolution(given)
    assert not list(settings.out.glob("skill/*")) and not (settings.out / "evolve.json").exists()
    trajectories = settings.out / "runs" / "train"
    with pytest.raises(BadInput, match="give runs that were judged"):
        run_evolution(
            given.model_copy(
                update={"suite": None, "trajectories": trajectories, "out": tmp_path / "given"}
            )
        )


def test_an_evolution_that_too_few_attempts_stopped_goes_on_once_they_are_judged(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    broken = f"if not Path('{tmp_path}/well').exists():\n    sys.exit(3)\n"
    (tmp_path / "agent.py").write_text(AGENT.replace("taught =", f"{broken}taught ="))
    with pytest.raises(BadInput, match="run the command again"):
        run_evolution(settings)
    (tmp_path / "well").touch()
    assert run_evolution(settings).accepted


def test_attempts_of_an_earlier_run_teach_too(settings: EvolveSettings, tmp_path: Path) -> None:
    agent = (settings.agent or "").replace(" {skill}", "")  # as it is given without a skill
    earlier = tmp_path / "runs" / "before"
    run_evaluation(
        EvalSettings(
            suite=settings.suite or "", split="train", limit=4, agent=agent, out=earlier,
            models=settings.models, sandbox="none",
        )
    )  # fmt: skip
    given = settings.model_copy(update={"earlier": earlier})
    notes = plan_notes(given)
    assert f"4 of 6 attempts are those of {earlier}" in notes
    assert any(note.startswith("2 attempts to learn from") for note in notes)
    (tmp_path / "agent.py").write_text(f"{AGENT}\nPath('asked').write_text(prompt)\n")
    said: list[Event] = []
    changed = plan_notes(given.model_copy(update={"out": tmp_path / "other"}))
    assert f"0 of 6 attempts are those of {earlier}: other agent" in changed
    assert any(
        "or one if the agent asks for temperature 0" in note
        for note in plan_notes(given.model_copy(update={"epochs": 0}))
    )
    (tmp_path / "agent.py").write_text(AGENT)
    taken = run_evolution(given, progress=said.append)
    assert f"4 of 6 attempts are those of {earlier}" in [event.message for event in said]
    assert taken.gate == run_evolution(settings.model_copy(update={"out": tmp_path / "new"})).gate
    remove_tree(earlier)
    again = run_evolution(given)  # what was taken over is there
    assert (again.gate, again.edits) == (taken.gate, taken.edits)
    with pytest.raises(BadInput, match="no run at"):
        run_evolution(given.model_copy(update={"out": tmp_path / "third"}))
    ids = {str(run.harness["task_id"]) for run in open_trajectories(given.out / "runs" / "train")}
    assert len(ids) == 6


def test_what_is_taken_over_is_not_paid_for_again(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"Say yes {n}", "answer": "yes"} for n in range(4)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "script.json").write_text('[{"text": "yes"}]')
    given: dict[str, Any] = {"suite": str(tmp_path / "t.jsonl"), "sandbox": "none"}
    given["models"] = (f"scripted/{tmp_path / 'script.json'}",)
    run_evaluation(EvalSettings(**given, out=tmp_path / "first"))
    settings = EvolveSettings(
        **given, out=tmp_path / "out", create="yes", analyst="exemplar", gate="none", epochs=1,
        earlier=tmp_path / "first", budget_calls=0,
    )  # fmt: skip
    assert run_evolution(settings).edits
    assert run_evolution(settings).edits
    without = settings.model_copy(update={"out": tmp_path / "without", "earlier": None})
    with pytest.raises(LimitReached):
        run_evolution(without)
    beside = {"suite": None, "trajectories": tmp_path / "first"}
    with pytest.raises(BadInput, match="--from is a run of the suite"):
        run_evolution(settings.model_copy(update=beside))


def test_a_stage_that_says_nothing_is_shown_to_be_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "BEAT_S", 0.02)
    said: list[Event] = []

    async def work() -> None:
        async with session.beating(said.append) as tell:
            tell(Event(stage="analysts", done=1, total=2))
            await asyncio.sleep(0.2)
            tell(Event(stage="analysts", done=2, total=2))
            count = len(said)
            await asyncio.sleep(0.1)
            assert len(said) == count

    asyncio.run(work())
    assert [event.message for event in said[1:3]] == ["1 s under way", "1 s under way"]


def test_what_an_attempt_may_use_can_be_said_of_an_evolution(settings: EvolveSettings) -> None:
    few = settings.model_copy(update={"limit": 2, "time_limit": 60.0, "gate": "none"})
    run_evolution(few)
    lock = json.loads((settings.out / "runs" / "train" / "run.json").read_text())
    assert lock["sample_limits"] == {"seconds": 60.0}


def test_a_skill_that_no_attempt_of_the_gate_would_see_is_not_begun(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    blind = settings.model_copy(
        update={"agent": f"cmd:{PYTHON} {tmp_path / 'agent.py'} {{prompt}}"}
    )
    for begin in (plan_evolution, run_evolution):
        with pytest.raises(BadInput, match="'plus-one' would not reach the agent"):
            begin(blind)
    assert not settings.out.exists()


def test_compare_shows_the_gates_own_interval(settings: EvolveSettings) -> None:
    """A gate stops at the first of two looks."""
    rows = [
        {"id": f"s{n}", "prompt": f"What is {n} plus 1?", "answer": str(n + 1)}
        for n in range(33)
        if n % 3
    ]
    suite = Path(settings.suite or "").parent
    (suite / "selection.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gate = run_evolution(settings).gate
    sides = [settings.out / "runs" / name / "look-01" for name in ("gate-before", "gate-after")]
    done = CliRunner().invoke(cli, ["compare", *map(str, sides), "--json"])
    (shown,) = json.loads(done.stdout)
    assert (gate.looks, gate.ci95 is None) == (1, False)
    assert (tuple(shown["paired"]["ci95"]), shown["paired"]["p"]) == (gate.ci95, gate.p)
    assert shown["sequential"]
    done = CliRunner().invoke(cli, ["compare", *map(str, sides)])
    assert "(one-sided; interval and p are those of the gate)" in done.stdout
    done = CliRunner().invoke(cli, ["compare", *map(str, sides[::-1]), "--json"])
    assert not json.loads(done.stdout)[0]["sequential"]


def test_compare_says_what_the_difference_of_a_gate_that_could_not_tell_takes(
    settings: EvolveSettings,
) -> None:
    """Five of five tasks fixed are a chance of 1 / 32, six of six of 1 / 64."""
    rows = [
        {"id": f"s{n}", "prompt": f"What is {n} plus 1?", "answer": str(n + 1)}
        for n in (1, 2, 4, 5)
    ]
    suite = Path(settings.suite or "").parent
    (suite / "selection.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run_evolution(settings.model_copy(update={"limit": 4}))
    gate = result.gate
    assert (gate.verdict, gate.difference, gate.tasks, gate.more_tasks) == ("not gated", 1.0, 4, 2)
    assert (
        "about 2 more tasks would be needed to show a gain like this (80% power, if" in gate.reason
    )
    sides = [settings.out / "runs" / name / "look-01" for name in ("gate-before", "gate-after")]
    done = CliRunner().invoke(cli, ["compare", *map(str, sides)])
    assert "not shown yet: the gate needs about 2 more tasks (80% power)" in done.stdout
    with pytest.raises(Refused, match=r"could not tell whether it helps \(not gated: too few"):
        refuse_ungated(Path(result.skill))


def test_a_plan_says_how_one_task_file_is_divided(settings: EvolveSettings) -> None:
    suite = Path(settings.suite or "")
    assert not any("one task file" in note for note in plan_notes(settings))
    one = settings.model_copy(update={"suite": str(suite.with_name("selection.jsonl"))})
    plan = plan_evolution(one)
    (note,) = (note for note in plan["notes"] if "one task file" in note)
    train = plan["train_tasks"]
    assert note.startswith(
        f"one task file: {train} tasks to learn from, {12 - train} for the gate, divided by the"
    )


SENTENCES = "import sys; print(f'I think it is {int(sys.argv[1].split()[2]) + 1}, of course.')"


def test_where_nothing_passed_it_says_why_and_writes_no_skill(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(SENTENCES)
    arguments = ["evolve", "--suite", settings.suite, "--agent", settings.agent, "--epochs", "1"]
    arguments += [
        "--analyst",
        "programs",
        "--model",
        "simulated/lookup",
        "--sandbox",
        "none",
        "--create",
        "plus-one",
    ]
    done = CliRunner().invoke(cli, [*map(str, arguments), "--out", str(settings.out)])
    assert isinstance(done.exception, Refused)
    assert "no skill was written; nothing was learned: none of the 6 judged" in done.stdout
    assert "check em (the default): the answer must be" in done.stdout
    assert "expected '1', got 'I think it is 1, of course.'" in done.stdout
    assert "6 of 6 answers contain the expected text among other words" in done.stdout
    assert f"harness view {settings.out}" in done.stdout
    assert not (settings.out / "skill").exists()
    result = json.loads((settings.out / "evolve.json").read_text())
    assert (result["skill"], result["edits"], result["accepted"]) == ("", 0, None)
    assert result["unsolved"][3].startswith("6 of 6 answers")
    # The same runs as recorded ones: few, so that no model is asked.
    given = {"suite": None, "agent": None, "models": (), "gate": "none", "analyst": "auto"}
    runs = {"trajectories": settings.out / "runs" / "train", "out": tmp_path / "again"}
    recorded = settings.model_copy(update=given | runs)
    assert recorded.settled(None).analyst == "exemplar"
    assert recorded.model_copy(update={"models": ("local/x",)}).settled(None).analyst == "single"
    assert "only 6 tasks to learn from" in plan_notes(recorded)[0]
    result = run_evolution(recorded)
    assert (result.skill, result.calls) == ("", 0)
    assert "--tasks SUITE" in result.unsolved[-1]


def test_baselines_are_run_beside_the_skill(settings: EvolveSettings) -> None:
    few = settings.model_copy(update={"baselines": ("none",), "limit": 2})
    assert [(row["name"], row["tasks"]) for row in run_evolution(few).baselines] == [("none", 2)]


def test_a_skill_in_a_folder_of_another_name_is_refused_before_the_first_attempt(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    write_skill(new_skill("plus-one", "Adds one."), tmp_path / "plus-one")
    folder = (tmp_path / "plus-one").rename(tmp_path / "other")
    deepening = settings.model_copy(update={"create": None, "skill": folder})
    for begin in (plan_evolution, run_evolution):
        with pytest.raises(BadInput, match="is not a valid skill"):
            begin(deepening)
    assert not settings.out.exists()


def test_the_plan_says_what_can_be_detected(settings: EvolveSettings) -> None:
    plan = plan_evolution(settings)
    assert plan["train_tasks"] == 6
    assert "12 tasks" in plan["gate"]
    assert not settings.out.exists()


def test_few_tasks_get_examples_and_repeated_attempts(settings: EvolveSettings) -> None:
    few = settings.model_copy(update={"analyst": "auto", "epochs": 0})
    notes = plan_notes(few)
    assert "--analyst single has simulated/lookup read" in notes[0]
    assert "4 attempts at each" in notes[1]
    assert notes[2].startswith("24 attempts to learn from: about 24 calls")
    assert notes[3].startswith("96 attempts of the gate at most")
    learned = run_evolution(few.model_copy(update={"gate": "none"}))
    assert learned.method == "exemplar, from expected answers (no merge)"
    assert len(list(open_trajectories(settings.out / "runs" / "train"))) == 4 * 6


@pytest.mark.parametrize(
    ("changed", "analyst", "epochs"),
    [
        ({"models": ("simulated/lookup", "analyst=simulated/orders-analyst")}, "single", 4),
        ({"merge": "model"}, "single", 4),
        ({"baselines": ("none",)}, "exemplar", 1),
        ({"epochs": 2, "analyst": "agentic"}, "agentic", 2),
    ],
)
def test_what_was_asked_for_is_not_chosen_again(
    settings: EvolveSettings, changed: dict[str, Any], analyst: str, epochs: int
) -> None:
    asked = settings.model_copy(update={"analyst": "auto", "epochs": 0, **changed})
    train = load_suite(settings.suite or "", "train")
    settled = asked.settled(train)
    assert (settled.analyst, settled.epochs) == (analyst, epochs)
    many = train.model_copy(update={"tasks": train.tasks * 20})
    settled = settings.model_copy(update={"analyst": "auto", "epochs": 0}).settled(many)
    assert (settled.analyst, settled.epochs) == ("single", 1)


def test_attempts_that_would_be_alike_are_not_repeated(settings: EvolveSettings) -> None:
    path = Path(settings.suite or "")
    path.write_text(path.read_text() + "sampling: {temperature: 0}\n")
    ours = settings.model_copy(update={"epochs": 0, "agent": "graph:react"})
    assert ours.settled(load_suite(str(path), "train")).epochs == 1
    foreign = settings.model_copy(update={"epochs": 0})  # takes no temperature from the suite
    assert foreign.settled(load_suite(str(path), "train")).epochs > 1
    notes = plan_notes(ours)
    assert "one attempt at each task: the suite's temperature is 0" in notes[0]


def test_suite_and_trajectories_exclude_each_other(settings: EvolveSettings) -> None:
    both = settings.model_copy(update={"trajectories": settings.out})
    with pytest.raises(BadInput, match="either --suite S or --trajectories"):
        run_evolution(both)


def test_recorded_lessons_are_merged_by_the_model_whatever_the_analyst(
    settings: EvolveSettings, tmp_path: Path
) -> None:
    recorded = settings.model_copy(update={"patches": tmp_path, "merge": "model"})
    assert recorded.asking == (False, True)
    assert recorded.model_copy(update={"patches": None}).asking == (False, False)

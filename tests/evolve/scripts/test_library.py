"""Executable skills: functions are proven on train tasks by running them, or do not ship."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.agents import split_examples
from harness.core import BadInput
from harness.evals import load_suite
from harness.evolve import EvolveSettings, result_text, run_evolution
from harness.evolve.scripts.functions import function_of
from harness.evolve.scripts.library import MODULE, Learned, Prove, learn, module_of
from harness.evolve.scripts.proving import kinds_found, prover
from harness.skills import load_skill
from tests.evolve.scripts.conftest import write_runs

Suite = tuple[Path, dict[str, str]]
SOLVED = ("train-sum-0", "train-sum-2", "train-count-1")


def settings(folder: Path, suite: Path, **changes: object) -> EvolveSettings:
    return EvolveSettings.model_validate(
        {
            "out": folder / "out",
            "trajectories": folder / "runs",
            "tasks": str(suite),
            "create": "table-sums",
            "analyst": "programs",
            "gate": "none",
            **changes,
        }
    )


def test_three_programs_become_a_skill_that_solves_new_tasks(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, {task: programs[task] for task in SOLVED})
    chosen = settings(tmp_path, folder)
    result = run_evolution(chosen)
    skill = load_skill(Path(result.skill))
    module = skill.files["scripts/helpers.py"].decode()
    assert skill.text.count("from helpers import") == 4  # two worked examples a function
    called = "sum_column_rows(region='East', column='Amount', file='train0.csv')"
    assert called in skill.text
    _, turns = split_examples(skill.body)
    [place] = [n for n, turn in enumerate(turns) if "'Region' is 'West'" in turn["content"]]
    assert "'West'" in turns[place + 1]["content"]
    first = " ".join(turns[place]["content"].split()[:8])
    assert turns[place + 1]["content"].startswith(f"```python\n# {first}\nfrom {MODULE} import")
    # Nine of twelve train tasks had failed; the functions solve all of them.
    assert module.count("train-sum-") == module.count("train-count-") == 6
    assert (result.calls, result.tokens) == (0, 0)
    # Another split, by the calls that an agent would write.
    prove = prover(load_suite(str(folder), "test", trusted=True), chosen)
    call = f"from {MODULE} import sum_column_rows\nsum_column_rows('West', 'Price', 'test1.csv')\n"
    assert asyncio.run(prove("test-sum-1", call, module))
    printed = call.replace("sum_column_rows('", "print(sum_column_rows('").replace(")\n", "))\n")
    assert asyncio.run(prove("test-sum-1", printed, module))
    wrong = (
        f"from {MODULE} import sum_column_rows\nsum_column_rows('North', 'Price', 'test1.csv')\n"
    )
    assert not asyncio.run(prove("test-sum-1", wrong, module))
    # A name near to one is taken as it was meant, an argument that it does not have is not.
    meant = call.replace("sum_column_rows", "sum_of_column")
    assert asyncio.run(prove("test-sum-1", meant, module))
    for spare in ("'test1.csv', True)", "'test1.csv', sep=1)"):
        assert not asyncio.run(prove("test-sum-1", call.replace("'test1.csv')", spare), module))
    neither = call.replace("sum_column_rows", "add_up")
    assert not asyncio.run(prove("test-sum-1", neither, module))
    assert not list((tmp_path / "out" / "proofs").iterdir())


def test_a_function_called_at_the_wrong_task_says_which_are_for_its_files(
    tmp_path: Path, suite: Suite
) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, {task: programs[task] for task in SOLVED})
    run_evolution(settings(tmp_path, folder))
    module = tmp_path / "out" / "skill" / "table-sums" / "scripts" / "helpers.py"
    text = module.read_text("utf-8")
    assert "@for_files(('.csv',)" in text and "@for_files(('.txt',)" in text
    (tmp_path / "b.txt").touch()
    wrong, right = "sum_column_rows", "many_times_word"
    for call in (f"{wrong}('x', 'y', 'none.csv')", f"{wrong}()"):
        run = subprocess.run(
            [sys.executable, "-c", f"import helpers; helpers.{call}"],
            cwd=tmp_path, env={"PYTHONPATH": str(module.parent)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        last = run.stderr.strip().splitlines()[-1]
        allowed = f"{wrong}(region: str, column: str, file: str) is not for this task"
        assert last.startswith(f"RuntimeError: {allowed}"), run.stderr
        assert last.endswith(f"for files like these: {right}.")
        assert "FileNotFoundError" in last or "TypeError" in last


def test_replies_written_by_hand_teach_like_runs_if_they_pass(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    wrong = programs["train-count-1"].replace("count(", "index(")
    written = {"train-sum-0": programs["train-sum-0"], "train-count-1": wrong}
    replies = [{"task": task, "reply": f"```python\n{code}```"} for task, code in written.items()]
    file = tmp_path / "examples.jsonl"
    file.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    result = run_evolution(settings(tmp_path, folder, trajectories=file))
    skill = load_skill(Path(result.skill))
    assert skill.text.count("from helpers import") == 2
    assert skill.files["scripts/helpers.py"].decode().count("train-sum-") == 6
    assert "train-count-" not in skill.files["scripts/helpers.py"].decode()


def test_the_model_that_will_call_functions_names_them(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, {task: programs[task] for task in SOLVED})
    script = tmp_path / "user.jsonl"
    replies = [
        {"match": "what is the sum", "text": "from helpers import sum_for_region"},
        {"match": "How many times", "text": "import class"},  # no name: words of the prompts
    ]
    script.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    result = run_evolution(settings(tmp_path, folder, models=(f"scripted/{script}",)))
    module = load_skill(Path(result.skill)).files["scripts/helpers.py"].decode()
    assert "def sum_for_region(region: str, column: str, file: str):" in module
    assert "def many_times_word(" in module
    assert result.calls == 6  # three tasks of either kind


def learned(
    folder: Path, suite: Path, programs: list[tuple[str, str]], prove: Prove | None = None
) -> Learned:
    loaded, chosen = load_suite(str(suite), "train", trusted=True), settings(folder, suite)

    async def made() -> Learned:
        found, tasks = await kinds_found(programs, loaded, chosen)
        functions = [function_of(row, tasks, f"function_{n}") for n, row in enumerate(found)]
        return await learn(functions, tasks, prove or prover(loaded, chosen), 800)

    return asyncio.run(made())


MUTANTS = (
    ("total = 0", "total = 1"),
    ("==", "!="),
    ("+=", "-="),
    ("int(row", "len(row"),
    ("print(total)", "print(total + 1)"),
    ("'{region}'", "'{column}'"),
)


@pytest.mark.parametrize("mutant", range(len(MUTANTS)))
def test_a_function_with_a_planted_bug_does_not_ship(
    tmp_path: Path, suite: Suite, mutant: int
) -> None:
    folder, programs = suite
    whole, broken = MUTANTS[mutant]
    names = {"region": "East", "column": "Amount"}
    code = programs["train-sum-0"]
    assert whole.format(**names) in code
    code = code.replace(whole.format(**names), broken.format(**names))
    assert learned(tmp_path, folder, [("train-sum-0", code)]).functions == []
    assert learned(tmp_path, folder, [("train-sum-0", programs["train-sum-0"])]).functions


def test_a_function_ships_only_if_every_task_of_its_search_passes_alone(
    tmp_path: Path, suite: Suite
) -> None:
    folder, programs = suite

    async def all_but_one(task: str, program: str, module: str) -> bool:
        return task != "train-sum-3"

    result = learned(tmp_path, folder, [("train-sum-0", programs["train-sum-0"])], all_but_one)
    [(_, solved, reason)] = result.left_out
    assert not result.functions and len(solved) == 6
    assert reason == "tasks that its program passed fail by it: train-sum-3"


INVOICE = "An invoice of {net} euros gets {rate} % of tax. What is its total for {name}?"
NAMES = ("Ito", "Berg", "Moya", "Okon", "Lund", "Reyes", "Sato")


def invoices(folder: Path, rates: tuple[int, ...]) -> Path:
    """A suite without files: a task for each rate."""
    folder.mkdir()
    rows = [
        {
            "id": f"t{n}", "prompt": INVOICE.format(net=100 + n, rate=rate, name=NAMES[n]),
            "answer": f"{(100 + n) * (100 + rate) / 100:g}",
        }
        for n, rate in enumerate(rates)
    ]  # fmt: skip
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(
        "name: tax\nagent: graph:program\ntasks: {train: train.jsonl}\n"
    )
    return folder


@pytest.mark.parametrize("rate", ["1 + 7 / 100", "1.07", "1 + 0.07"])
def test_a_value_that_every_prompt_states_is_never_kept_without_a_word(
    tmp_path: Path, rate: str
) -> None:
    program = [("t0", f"print(f'{{100 * ({rate}):g}}')\n")]
    [function] = learned(tmp_path, invoices(tmp_path / "one", (7, 7, 7)), program).functions
    module: dict[str, Any] = {"__name__": "helpers"}
    exec("\n".join(module_of([function])), module)  # noqa: S102  # what the skill ships
    [parameter] = [p for p in function.parameters if p.fixed]
    module[function.name](100, **{parameter.name: 7})
    with pytest.raises(RuntimeError, match="was proven only for \\(7,\\)"):
        module[function.name](100, **{parameter.name: 19})
    # Where tasks differ in it, it takes any such value.
    [function] = learned(tmp_path, invoices(tmp_path / "two", (7, 7, 19)), program).functions
    assert not any(p.fixed for p in function.parameters) and len(function.parameters) == 2
    exec("\n".join(module_of([function])), module)  # noqa: S102
    module[function.name](*(100 if p.sort == "number" else 21 for p in function.parameters))


def test_values_unlike_the_proven_ones_are_refused_with_what_is_allowed(
    tmp_path: Path, suite: Suite
) -> None:
    program = [("t0", "print(f'{100 * 1.07:g}')\n")]
    [function] = learned(tmp_path, invoices(tmp_path / "tax", (7, 9, 19)), program).functions
    module: dict[str, Any] = {"__name__": "helpers"}
    exec("\n".join(module_of([function])), module)  # noqa: S102  # what the skill ships
    call, names = module[function.name], [p.name for p in function.parameters]
    call("100", "7")  # numbers that come as texts
    for wrong in (("a hundred", 7), (100, 7.5), (100, -7)):
        with pytest.raises(RuntimeError, match="is not for this task"):
            call(*wrong)
    with pytest.raises(RuntimeError, match=f"{names[0]}.*unexpected keyword argument 'vat'"):
        call(100, 7, vat=19)


def test_a_proven_function_that_finds_no_room_is_listed(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, {task: programs[task] for task in SOLVED})
    long = "\n".join(f"unused_{n} = {n}" for n in range(400))
    code = f"{long}\n{programs['train-count-1']}"
    write_runs(
        tmp_path / "more",
        folder,
        {"train-sum-0": programs["train-sum-0"]} | {"train-count-1": code},
    )
    result = run_evolution(settings(tmp_path, folder, trajectories=tmp_path / "more"))
    [line] = result.left_out
    assert "proven on 6 tasks; no room" in line and f"left out: {line}" in result_text(result)
    [row] = json.loads((tmp_path / "out" / "discarded.json").read_text())
    assert (row["support"], row["sources"]) == (6, [f"train-count-{n}" for n in range(6)])
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["result"]["left_out"] == [line]
    assert result.discarded == 1


def test_where_no_program_passes_a_second_task_it_says_so(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["id"] in ("train-sum-0", "train-count-1")]
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_runs(tmp_path / "runs", folder, programs)
    result = run_evolution(settings(tmp_path, folder))
    assert result.edits == 0
    for part in ("2 programs passed, and none passed a second task", "more tasks of each kind"):
        assert part in result.gate.reason and part in result_text(result)


def test_programs_are_tried_on_known_tasks_only(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, programs)
    with pytest.raises(BadInput, match="--tasks SUITE"):
        run_evolution(settings(tmp_path, folder, tasks=None))


def test_without_a_program_that_passed_there_is_nothing_to_learn(
    tmp_path: Path, suite: Suite
) -> None:
    folder, _ = suite
    write_runs(tmp_path / "runs", folder, {})
    result = run_evolution(settings(tmp_path, folder))
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert result.edits == 0
    assert "no program of a passing run" in report["reasoning"]

"""Executable skills: functions are proven on train tasks by running them, or do not ship."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.agents import split_examples
from harness.core import BadInput
from harness.evals import load_suite
from harness.evolve import EvolveSettings, result_text, run_evolution
from harness.evolve.scripts.functions import Function
from harness.evolve.scripts.library import MODULE, Learned, Prove, learn, module_of, taught_kinds
from harness.evolve.scripts.naming import words_of
from harness.evolve.scripts.proving import prover
from harness.skills import load_skill
from tests.evolve.scripts.conftest import write_runs
from tests.models.http_server import Answer, completion, serve

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
    called = "sum_column_rows(file='train0.csv', column='Amount', region='East')"
    assert called in skill.text
    _, turns = split_examples(skill.body)
    assert "'Region' is 'West'" in turns[2]["content"] and "'West'" in turns[3]["content"]
    first = " ".join(turns[2]["content"].split()[:8])
    assert turns[3]["content"].startswith(f"```python\n# {first}\nfrom {MODULE} import")
    # Nine of twelve train tasks had failed; the functions solve all of them.
    assert module.count("train-sum-") == module.count("train-count-") == 6
    assert (result.calls, result.tokens) == (0, 0)
    # Another split, by the calls that an agent would write.
    prove = prover(load_suite(str(folder), "test", trusted=True), chosen)
    call = f"from {MODULE} import sum_column_rows\nsum_column_rows('test1.csv', 'Price', 'West')\n"
    assert asyncio.run(prove("test-sum-1", call, module))
    printed = call.replace("sum_column_rows('", "print(sum_column_rows('").replace(")\n", "))\n")
    assert asyncio.run(prove("test-sum-1", printed, module))
    wrong = (
        f"from {MODULE} import sum_column_rows\nsum_column_rows('test1.csv', 'Price', 'North')\n"
    )
    assert not asyncio.run(prove("test-sum-1", wrong, module))
    # A name near to one is taken as it was meant, an argument that it does not have is not.
    meant = call.replace("sum_column_rows", "sum_of_column")
    assert asyncio.run(prove("test-sum-1", meant, module))
    for spare in ("'West', True)", "'West', sep=1)"):
        assert not asyncio.run(prove("test-sum-1", call.replace("'West')", spare), module))
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
    assert text.count("@for_files()") == 2  # the names of their files are parameters
    first, second = "a.csv", "b.csv"
    text = text.replace("@for_files()", f"@for_files({first!r})", 1)
    module.write_text(text.replace("@for_files()", f"@for_files({second!r})", 1), "utf-8")
    (tmp_path / second).touch()
    names = [line.split("(")[0][4:] for line in text.splitlines() if line.startswith("def ")]
    wrong, right = names[-2:]
    for call in (f"{wrong}('none.csv', 'x', 'y')", f"{wrong}()"):
        run = subprocess.run(
            [sys.executable, "-c", f"import helpers; helpers.{call}"],
            cwd=tmp_path, env={"PYTHONPATH": str(module.parent)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        last = run.stderr.strip().splitlines()[-1]
        assert last.startswith(f"RuntimeError: {wrong} is not for this task"), run.stderr
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
    result = run_evolution(settings(tmp_path, folder, models=(f"scripted/{script}",), fit_tasks=0))
    module = load_skill(Path(result.skill)).files["scripts/helpers.py"].decode()
    assert "def sum_for_region(file, column, region):" in module
    assert "def many_times_word(" in module
    assert result.calls == 6  # three tasks of either kind


def test_the_model_chooses_the_form_of_the_examples(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    write_runs(tmp_path / "runs", folder, {task: programs[task] for task in SOLVED})

    def positions_only(body: dict[str, Any]) -> Answer:
        """A model that copies the call of the last example, unless its values have names."""
        *before, task = [message["content"] for message in body["messages"]]
        files, quoted = re.findall(r"train\d\.\w+", task), re.findall("'(.+?)'", task)
        example = before[-1]
        name = re.search(r"import (\w+)", example)
        assert name, example
        if len(before) < 3:
            return completion("no program")
        values = [files[0], quoted[0], *quoted[2:]] if "sum" in task else [quoted[0], files[0]]
        call = ", ".join(map(repr, values)) if "=" not in example else "file='none.csv'"
        return completion(f"```python\nfrom helpers import {name[1]}\n{name[1]}({call})\n```")

    with serve(positions_only) as server:
        chosen = settings(tmp_path, folder, models=("openai/m",), base_url=server.url, fit_tasks=5)
        result = run_evolution(chosen)
    assert result.calls == len(server.bodies) and result.tokens == 12 * len(server.bodies)
    calls = [body["messages"][-2]["content"] for body in server.bodies[6:]]
    assert len(calls) == 3 * 5
    skill = load_skill(Path(result.skill))
    assert ["# " in call for call in calls] == [True] * 5 + [False] * 5 + [True] * 5
    assert "('train0.csv', 'Amount', 'East')" in skill.text
    assert "mean_by_sensor" not in skill.text  # that is the name of the exchange in front
    asked = {body["messages"][-1]["content"] for body in server.bodies[6:]}
    requests = [line[6:] for line in skill.text.splitlines() if line.startswith("Task: ")]
    assert len(asked) == 5 and not any(task.startswith(tuple(requests)) for task in asked)
    [patch] = (tmp_path / "out" / "patches" / "map_patches").iterdir()
    last = json.loads(patch.read_text())["changelog_entries"][-1]
    assert last == (
        "of 5 train tasks the model passed 0 with 8 words repeated and keywords, 0 with 0 words "
        "repeated and keywords, 5 with 8 words repeated and positions"
    )


def tried(
    programs: list[tuple[str, str]], tasks: dict[str, str], prove: Prove, tokens: int = 800
) -> Learned:
    every = taught_kinds(programs, tasks)
    named = zip(every, words_of(every), strict=True)
    return asyncio.run(learn(programs, named, dict.fromkeys(tasks, ()), prove, tokens))


def learned(programs: list[tuple[str, str]], tasks: dict[str, str], prove: Prove) -> list[Function]:
    return tried(programs, tasks, prove).functions


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
    loaded = load_suite(str(folder), "train", trusted=True)
    tasks = {task.id: task.prompt for task in loaded.tasks if "sum" in task.id}
    whole, broken = MUTANTS[mutant]
    names = {"region": "East", "column": "Amount"}
    code = programs["train-sum-0"]
    assert whole.format(**names) in code
    code = code.replace(whole.format(**names), broken.format(**names))
    prove = prover(loaded, settings(tmp_path, folder))
    assert learned([("train-sum-0", code)], tasks, prove) == []
    assert learned([("train-sum-0", programs["train-sum-0"])], tasks, prove)


def test_a_function_that_breaks_a_task_that_passed_does_not_ship(
    tmp_path: Path, suite: Suite
) -> None:
    folder, programs = suite
    loaded = load_suite(str(folder), "train", trusted=True)
    tasks = {task.id: task.prompt for task in loaded.tasks if "count" in task.id}
    narrow = programs["train-count-0"].replace(".split()", ".split()[:100 if 'apple' else 0]")
    narrow = narrow.replace("text.count('apple')", "text.count('apple') if 'apple' < 'b' else 0")
    solved = [("train-count-0", narrow), ("train-count-1", programs["train-count-1"])]
    prove = prover(loaded, settings(tmp_path, folder))
    [function] = learned(solved, tasks, prove)
    assert function.source == "train-count-1"  # the shorter one; the other fails where it passed


INVOICE = "An invoice of {net} euros gets {rate} % of tax. What is its total for {name}?"
NAMES = ("Ito", "Berg", "Moya", "Okon", "Lund", "Reyes", "Sato")


async def passes(task: str, program: str, module: str) -> bool:
    """A check that every program passes."""
    return True


def invoices(count: int, rates: tuple[int, ...]) -> dict[str, str]:
    return {
        f"t{n}": INVOICE.format(net=100 + n, rate=rates[n % len(rates)], name=NAMES[n])
        for n in range(count)
    }


@pytest.mark.parametrize("rate", ["rate = 7", "rate = 0.07", "rate = 1.07", "rate = float('7')"])
def test_a_value_that_few_prompts_share_does_not_stay_in_a_function(rate: str) -> None:
    program = [("t0", f"{rate}\nprint(100 * rate)\n")]
    result = tried(program, invoices(3, (7,)), passes)
    [(_, solved, reason)] = result.left_out
    assert not result.functions and len(solved) == 3
    assert "all 3 prompts of its kind say 7" in reason
    if "0" not in rate:  # where tasks differ in it, it is a parameter
        [function] = learned(program, invoices(4, (7, 19)), passes)
        assert {parameter.name for parameter in function.parameters} >= {"gets"}
    assert learned(program, invoices(7, (7,)), passes)  # as good as part of what they ask for


def test_a_function_refuses_arguments_that_it_does_not_have_by_name() -> None:
    [function] = learned([("t0", "print(100)\n")], invoices(3, (7,)), passes)
    names: dict[str, Any] = {"__name__": "helpers"}
    exec("\n".join(module_of([function])), names)  # noqa: S102  # what the skill ships
    names[function.name](100)
    with pytest.raises(RuntimeError, match="unexpected keyword argument 'vat'"):
        names[function.name](100, vat=19)


def test_a_function_needs_two_tasks_that_differ_in_each_parameter() -> None:
    async def first_rate(task: str, program: str, module: str) -> bool:
        return task in ("t0", "t2")

    result = tried([("t0", "rate = 7\nprint(100 * rate)\n")], invoices(4, (7, 19)), first_rate)
    assert not result.functions
    assert result.left_out[0][2] == "no two tasks that it solves differ in gets"


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


def test_where_no_two_prompts_are_of_one_kind_it_says_so(tmp_path: Path, suite: Suite) -> None:
    folder, programs = suite
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["id"] in ("train-sum-0", "train-count-1")]
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    write_runs(tmp_path / "runs", folder, programs)
    result = run_evolution(settings(tmp_path, folder))
    assert result.edits == 0
    for part in (
        "2 programs passed, and none was tried at another task",
        "2 of 2 prompts are like no other",
        "more tasks in the same wording",
    ):
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

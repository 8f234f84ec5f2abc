"""Kinds by execution: functions of a suite's programs, and calls of them at fresh tasks.

    python -m benchmarks.evolution.kinds SUITE [--programs 1] [--out FILE]

Train and test tasks of SUITE have `meta.kind` and `meta.arguments` (the values in which tasks of a
kind differ, by name); `train-programs.jsonl` beside the train tasks has lines {"task": id, "reply":
program}, of which the first `--programs` of each kind are taken. No model is asked. Each function
is called at the test tasks of its kind: a parameter gets the argument that has its value on every
task that proves the function, or that value in another unit.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from benchmarks.reports import Options, Result, benchmark, option
from harness.core import Task
from harness.evals import load_suite
from harness.evolve import EvolveSettings
from harness.evolve.scripts.functions import Function, Parameter
from harness.evolve.scripts.library import MODULE, TOKENS, learn, module_of
from harness.evolve.scripts.proving import Attempt, attempts, functions_of, prover
from harness.trajectories import open_trajectories, programs_run

REFUSED = "is not for this task"


def argument_of(parameter: Parameter, train: dict[str, Task], task: Task) -> JsonValue:
    """The value of a parameter at a task, by its values on the train tasks; None if unknown."""
    gold = [(train[id_].meta["arguments"], value) for id_, value in parameter.values.items()]
    arguments = task.meta["arguments"]
    assert isinstance(arguments, dict)
    for name, value in arguments.items():
        pairs = [(row.get(name), held) for row, held in gold if isinstance(row, dict)]
        if all(str(stated) == str(held) for stated, held in pairs):
            return value
        numbers = [
            (a, b) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float)
        ]
        if len(numbers) == len(pairs) and isinstance(value, int | float):
            ratios = {round(b / a, 9) for a, b in numbers if a}
            if len(ratios) == 1:
                return round(value * ratios.pop(), 9)
    files = [name for name in task.files if parameter.sort == "file"]
    return files[0] if len(files) == 1 else None


async def outcome_of(
    function: Function, train: dict[str, Task], task: Task, attempt: Attempt
) -> str:
    """The outcome of a function at a task with its gold arguments: right, wrong or refused."""
    values = {p.name: argument_of(p, train, task) for p in function.parameters}
    filled = ", ".join(f"{name}={value!r}" for name, value in values.items() if value is not None)
    program = f"from {MODULE} import {function.name}\n\n{function.name}({filled})\n"
    passed, printed = await attempt(task.id, program, "\n".join(module_of([function])))
    return "right" if passed else "refused" if REFUSED in printed else "wrong"


async def measured(reference: str, programs: int, out: Path) -> dict[str, Any]:
    """Make functions of a suite's programs, and call them at its test tasks."""
    suite, fresh = (load_suite(reference, split, trusted=True) for split in ("train", "test"))
    settings = EvolveSettings.model_validate({"out": out, "trajectories": out, "create": "x"})
    train = {task.id: task for task in suite.tasks}
    kinds = {id_: str(task.meta["kind"]) for id_, task in train.items()}
    seen, codes = Counter[str](), list[tuple[str, str]]()
    for run in open_trajectories(suite.base / "train-programs.jsonl"):
        seen[kinds[run.task_id]] += 1
        if seen[kinds[run.task_id]] <= programs:
            codes.append((run.task_id, programs_run(run)[-1]))
    started = time.monotonic()
    functions, tasks, _ = await functions_of(codes, suite, settings)
    learned = await learn(functions, tasks, prover(suite, settings), TOKENS["full"])
    seconds, rows, total = time.monotonic() - started, dict[str, Any](), Counter[str]()
    attempt = attempts(fresh, settings)
    for function in learned.functions:
        proven = Counter(kinds[task] for task in function.proven)
        [(kind, _)] = proven.most_common(1)
        mine = [task for task in fresh.tasks if task.meta["kind"] == kind]
        outcomes = await asyncio.gather(
            *(outcome_of(function, train, task, attempt) for task in mine)
        )
        total.update(outcomes)
        rows[function.name] = {
            "kinds": dict(proven),
            "signature": function.code().split("\n")[1],
            "fresh": dict(Counter(outcomes)),
            "not_right": {t.id: o for t, o in zip(mine, outcomes, strict=True) if o != "right"},
        }
    return {
        "suite": reference,
        "programs_of_each_kind": programs,
        "kinds": len(seen),
        "kinds_with_function": len({kinds[t] for f in learned.functions for t in f.proven}),
        "train_tasks": len(train),
        "proven": sum(len(f.proven) for f in learned.functions),
        "seconds": round(seconds, 1),
        "fresh_calls": dict(total),
        "functions": rows,
        "left_out": [reason for *_, reason in learned.left_out],
    }


@benchmark("suite", programs=1, out=option(type=Path))
def main(options: Options) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measured(str(options.suite), options.programs, Path(folder)))

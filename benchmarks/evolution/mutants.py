"""Bugs planted in the functions of an evolved skill: how many of them the proof refuses.

    python -m benchmarks.evolution.mutants SUITE EXAMPLES [--each 12] [--seed 41] [--out FILE]

The functions are those that `harness evolve --analyst programs` makes of EXAMPLES for SUITE. Each
gets `--each` bugs, one at a time, drawn from all places where the usual operators apply (DeMillo,
Lipton and Sayward 1978): a comparison or operator exchanged, a condition negated, a constant
changed, a statement deleted. A bug that fails no train task that the function solved has changed
nothing that could be seen, and is not counted. Of the others the proof should refuse all.
"""

from __future__ import annotations

import ast
import asyncio
import copy
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.reports import option, read_options, report, share_interval
from harness.evals import load_suite
from harness.evolve import EvolveSettings
from harness.evolve.scripts import judged
from harness.evolve.scripts.functions import Function
from harness.evolve.scripts.library import (
    TOKENS,
    learn,
    objection,
    programs_of,
    proven,
    taught_kinds,
)
from harness.evolve.scripts.naming import words_of
from harness.evolve.scripts.proving import prompts_of, prover
from harness.trajectories import open_trajectories

AT_ONCE = 2
EXCHANGED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip


def bugs(body: Sequence[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Every bug that can be planted in a body: what was done, and the body with it."""
    places = len(list(ast.walk(ast.Module(list(body), []))))
    for number in range(places):
        tree = copy.deepcopy(ast.Module(list(body), []))
        node = list(ast.walk(tree))[number]
        if done := _plant(node):
            yield done, tree.body


def _plant(node: ast.AST) -> str:
    """Plant a bug in a node; "" where no operator applies."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in EXCHANGED:
            node.ops = [EXCHANGED[type(op)]()]  # pyright: ignore[reportAttributeAccessIssue]
            return "comparison"
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if type(op) in EXCHANGED:
            node.op = EXCHANGED[type(op)]()  # pyright: ignore[reportAttributeAccessIssue]
            return "operator"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            node.test = ast.UnaryOp(ast.Not(), test)
            return "condition"
        case ast.Constant(value=bool(value)):
            node.value = not value
            return "constant"
        case ast.Constant(value=int(value) | float(value)):
            node.value = value + 1
            return "constant"
        case ast.Constant(value=str(value)) if value:
            node.value = ""
            return "constant"
        case ast.For(body=[_, *_]) | ast.If(body=[_, *_]) | ast.FunctionDef(body=[_, _, *_]):
            del node.body[-1]
            return "statement"
        case _:
            return ""


async def measure(settings: EvolveSettings, each: int, seed: int) -> dict[str, Any]:
    """Plant bugs in every function of a skill, and prove each again."""
    suite = load_suite(str(settings.tasks), "train", trusted=True)
    file, _ = await judged(suite, settings)
    prove, programs = prover(suite, settings), programs_of(list(open_trajectories(file)))
    every = taught_kinds(programs, prompts_of(suite))
    files = {task.id: tuple(task.files) for task in suite.tasks}
    named = zip(every, words_of(every), strict=True)
    functions = (await learn(programs, named, files, prove, TOKENS["standard"])).functions
    passed, slots = {task for task, _ in programs}, asyncio.Semaphore(AT_ONCE)

    async def tried(function: Function, done: str, body: Sequence[ast.stmt]) -> tuple[str, bool]:
        async with slots:
            broken = await proven(replace(function, body=tuple(body)), passed, prove)
        lost = set(function.proven) - set(broken.proven)
        return (done, bool(objection(broken))) if lost else ("", False)

    drawn: list[tuple[Function, str, list[ast.stmt]]] = []
    for function in functions:
        possible = list(bugs(function.body))
        chosen = random.Random(seed).sample(possible, min(each, len(possible)))
        drawn += [(function, *bug) for bug in chosen]
    rows = await asyncio.gather(*(tried(*bug) for bug in drawn))
    changed, refused = (
        Counter(done for done, _ in rows),
        Counter(done for done, caught in rows if caught),
    )
    without = changed.pop("", 0)
    total, caught = changed.total(), refused.total()
    return {
        "suite": suite.suite.name,
        "functions": {function.name: len(function.proven) for function in functions},
        "planted": len(rows),
        "without effect": without,
        "with effect": total,
        "refused": caught,
        "percent": round(100 * caught / max(1, total), 1),
        "interval": share_interval(caught, total, 1, 100),
        "by operator": {name: f"{refused[name]} of {count}" for name, count in changed.items()},
    }


def main() -> None:
    """Run from the command line."""
    options = read_options(__doc__, "suite", "examples", each=12, seed=41, out=option(type=Path))
    with tempfile.TemporaryDirectory() as folder:
        settings = EvolveSettings.model_validate({
            "out": Path(folder) / "out", "trajectories": options.examples, "create": "functions",
            "tasks": str(options.suite), "analyst": "programs", "gate": "none",
        })  # fmt: skip
        report(asyncio.run(measure(settings, options.each, options.seed)), options.out)


if __name__ == "__main__":
    main()

"""The functions of a skill: made from programs that passed, proven on train tasks, written down.

No model is asked. A function ships if it solves tasks of its kind from their prompts alone, more
than the one that it came from, and if no task that passed before fails by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.core import Edit, Patch, Trajectory
from harness.evolve.scripts.functions import COMMON, Function, function_of
from harness.evolve.scripts.prompts import Kind, kinds
from harness.evolve.types import Size
from harness.skills import count_tokens, lint_text
from harness.trajectories import programs_run

Prove = Callable[[str, str, str], Coroutine[Any, Any, bool]]
"""Runs a program at a task, by its id, with a module `helpers` beside it: whether it passes."""
MODULE, FILE = "helpers", "scripts/helpers.py"
FUNCTIONS = "## Functions"
HEAD = '"""Functions of this skill, each proven on the tasks named below it by running it."""\n'
# Whole programs with marks to fill in: of four forms that were tried with Qwen2.5-Coder-0.5B on 12
# tasks it followed this one in 12; signatures misled it, and values of examples were copied.
USE = (
    f"The module `{MODULE}` ({FILE}) does whole tasks of these kinds. Put the values of your task "
    "into the program that fits. Where none fits, write code of your own."
)
# Programs of one kind that are tried as functions, and tasks that one must solve.
CANDIDATES, LEAST = 4, 2
WORDS = 3
# Tokens that SKILL.md may say of functions, by the size that was asked for; lines of the module.
TOKENS: dict[Size, int] = {"compact": 230, "standard": 800, "full": 3000}
LINES = 290


async def learn(
    programs: Sequence[tuple[str, str]], prompts: Mapping[str, str], prove: Prove, tokens: int
) -> list[Function]:
    """Functions that are proven, those that solve most first.

    Args:
        programs: (task id, source) of passing attempts.
        prompts: task id -> prompt, of every train task.
        prove: runs a program at a task.
        tokens: that SKILL.md may say of them.
    """
    passed = {task for task, _ in programs}
    shipped: list[Function] = []
    every = kinds(dict(prompts))
    for kind, name in zip(every, names(every), strict=True):
        sources = sorted({(len(code), task, code) for task, code in programs if task in kind.slots})
        tried: list[Function] = []
        for _, task, code in sources[:CANDIDATES] if len(kind.tasks) >= LEAST else ():
            if function := function_of(code, task, kind, name):
                tried.append(await proven(function, passed, prove))
        good = [f for f in tried if len(f.proven) >= LEAST and not f.broken]
        if good:
            shipped.append(max(good, key=lambda f: (len(f.proven), -len(f.parameters))))
    shipped.sort(key=lambda function: -len(function.proven))
    return [f for n, f in enumerate(shipped) if fits(shipped[: n + 1], tokens)]


def fits(functions: Sequence[Function], tokens: int) -> bool:
    """Whether what SKILL.md says of functions, and their module, are short enough to be used."""
    text = "\n\n".join([USE, *map(entry, functions)])
    return count_tokens(text) <= tokens and len(module_of(functions)) < LINES


async def proven(function: Function, passed: set[str], prove: Prove) -> Function:
    """The function with the tasks that it solves, and those that it breaks."""
    module, solved = HEAD + function.code(), list[str]()
    if any(lint_text(module)):
        return function
    for task in function.kind.tasks:
        call = function.call(task)
        program = f"from {MODULE} import {function.name}\n\n{call}\n"
        if call is not None and await prove(task, program, module):
            solved.append(task)
    broken = tuple(task for task in function.kind.tasks if task in passed and task not in solved)
    return replace(function, proven=tuple(solved), broken=broken)


def names(every: Sequence[Kind]) -> Iterator[str]:
    """A name for each kind: the first words of its prompts that few other kinds have."""
    uses = Counter(word for kind in every for word in {word.lower() for word in kind.words})
    few = max(1, len(every) // 4)
    taken = Counter[str]()
    for kind in every:
        words = [word for word in map(str.lower, kind.words) if word not in COMMON]
        words = list(dict.fromkeys(words))
        telling = [word for word in words if uses[word] <= few] or words
        name = "_".join(telling[:WORDS]) or "solve"
        taken[name] += 1
        yield name if taken[name] == 1 else f"{name}_{taken[name]}"


def scripts_patch(functions: Sequence[Function], trajectories: Sequence[Trajectory]) -> Patch:
    """A module, and in SKILL.md the program that calls each of its functions; as one patch."""
    if not functions:
        return Patch(reasoning="no program of a passing run solves other tasks of its kind")
    tasks = {task for function in functions for task in function.kind.tasks}
    runs = [run for run in trajectories if run.task_id in tasks]

    def edit(file: str, op: str, section: str, content: str, solved: Sequence[str]) -> Edit:
        sources = sorted({run.trajectory_id for run in runs if run.task_id in set(solved)})
        return Edit.model_validate(
            {
                "file": file, "op": op, "target_section": section, "content": content,
                "sources": sources, "support": len(set(solved)),
            }
        )  # fmt: skip

    everything = [task for function in functions for task in function.proven]
    lines = [(USE, everything), *((entry(f), f.proven) for f in functions)]
    return Patch(
        reasoning=f"{len(functions)} functions from passing programs, proven on "
        f"{len(set(everything))} train tasks",
        edits=(
            edit(FILE, "create", "", "\n".join(module_of(functions)), everything),
            *(edit("SKILL.md", "add_section", FUNCTIONS, *line) for line in lines),
        ),
        changelog_entries=("functions that passing programs share",),
    )


def module_of(functions: Sequence[Function]) -> list[str]:
    """The lines of the module."""
    parts = [f"{f.code()}# proven on: {', '.join(f.proven)}\n" for f in functions]
    return "\n\n".join([HEAD, *parts]).split("\n")


def entry(function: Function) -> str:
    """What SKILL.md says of a function: what for, and the program that calls it."""
    program = f"from {MODULE} import {function.name}\n\n{function.pattern}"
    return f"{function.purpose}\n\n```python\n{program}\n```"


async def write_functions(
    trajectories: Sequence[Trajectory], prompts: Mapping[str, str], prove: Prove, tokens: int
) -> Patch:
    """The functions that the programs of runs give, as a patch.

    Args:
        trajectories: runs of graph:program, or of any agent whose last call of the tool `python`
            passed; or replies without an outcome, whose programs must pass first.
        prompts: task id -> prompt, of every train task.
        prove: runs a program at a task.
        tokens: that SKILL.md may say of the functions.
    """
    programs = await passing(trajectories, prove)
    return scripts_patch(await learn(programs, prompts, prove, tokens), trajectories)


async def passing(trajectories: Sequence[Trajectory], prove: Prove) -> list[tuple[str, str]]:
    """(task id, source) of the last program of every run that passed, or passes now."""
    return [
        (run.task_id, code)
        for run in trajectories
        if run.outcome in ("pass", "")
        for code in programs_run(run)[-1:]
        if run.outcome or await prove(run.task_id, code, "")
    ]

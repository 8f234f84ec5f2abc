"""The functions of a skill: proven on train tasks, and written down.

A function ships if each task that its program passed in the search passes by it alone, in a sandbox
of its own; two of these tasks differ in every parameter that takes several values.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from harness.agents import EXAMPLES_SECTION, worked_example
from harness.core import Edit, Patch, Trajectory
from harness.evolve.scripts.functions import MOST, SHOWN, Function, unexplained
from harness.evolve.scripts.train_tasks import TrainTask
from harness.evolve.types import Discarded, Draft, Size
from harness.skills import count_tokens, lint_text
from harness.trajectories import programs_run

Prove = Callable[[str, str, str], Coroutine[None, None, bool]]
"""Runs a program at a task, by its id, with a module `helpers` beside it: whether it passes."""
MODULE, FILE = "helpers", "scripts/helpers.py"
FUNCTIONS = "## Functions"
# Words of a request that its program repeats first, as a comment. A small model that repeats the
# first words of its task, as the examples do, finds the example of them, and copies its call: with
# that, and keywords for values, the first program of the 0.5 B model was right for 23 of 24 tasks
# of `wire` (11 without). Where whole requests were repeated it copied its task to the end (7).
REPEATED = 8
# A name that is none of the module's is taken for the function that shares most words with it, and
# a function that fails says which of them are for the files at hand: small models choose wrongly,
# and told no more than the error, write a program of their own.
HEAD = r'''"""Functions of this skill, each proven on the tasks named below it by running it."""

import functools
import inspect
import os
import re

FILES, ANY = {}, r"(?s).*\S.*"


def checked(name, value, kind, proven):
    """A value as its function takes it; one unlike the proven values is refused."""
    if kind is list:
        value = [value] if isinstance(value, str) else [str(part) for part in value]
    elif not isinstance(value, str | int | float):
        raise TypeError(f"{name} is {value!r}, and takes one value")
    elif kind is str:
        value = str(value)
    else:
        value = int(float(value)) if float(value).is_integer() else float(value)
    texts = value if kind is list else [str(value)]
    if isinstance(proven, str):
        right = texts and all(re.fullmatch(proven, text) for text in texts)
    else:
        right = value in proven
    if not right:
        raise ValueError(f"{name} is {value!r}, and was proven only for {proven}")
    return value


def for_files(suffixes, **rules):
    def mark(function):
        form = inspect.signature(function)

        @functools.wraps(function)
        def call(*values, **named):
            try:
                given = form.bind(*values, **named)
                for name, value in given.arguments.items():
                    kind, proven = form.parameters[name].annotation, rules.get(name, ANY)
                    given.arguments[name] = checked(name, value, kind, proven)
                return function(*given.args, **given.kwargs)
            except Exception as error:
                here = {os.path.splitext(file)[1] for file in os.listdir()}
                near = [name for name, ends in FILES.items() if here.issuperset(ends)]
                near = ", ".join(name for name in near if name != function.__name__) or "none"
                raise RuntimeError(
                    f"{function.__name__}{form} is not for this task, or its values are wrong: "
                    f"{error!r}. Functions of helpers for files like these: {near}."
                ) from None

        FILES[function.__name__] = suffixes
        return call

    return mark


def __getattr__(name):
    words = set(name.split("_"))
    shared = {text: len(words & set(text.split("_"))) for text in FILES}
    best = [text for text in FILES if shared[text] == max(shared.values()) > 0]
    if len(best) == 1 and not name.startswith("__"):
        return globals()[best[0]]
    raise AttributeError(f"no function {name!r}; there are {', '.join(FILES)}")

'''
USE = (
    f"The module `{MODULE}` ({FILE}) does whole tasks. Its functions: {{names}}. Put the values of "
    "your task into the call that fits. Where none fits, write code of your own."
)
# Tokens that SKILL.md may say of functions, by the size that was asked for; lines of the module.
TOKENS: dict[Size, int] = {"compact": 230, "standard": 1200, "full": 3000}
LINES = 390


class Learned(NamedTuple):
    """Functions that are proven, those that solve most first, and the others with the reason.

    Attributes:
        functions: that the skill gets.
        left_out: (name, tasks that it solves, why the skill does not get it).
    """

    functions: list[Function]
    left_out: list[tuple[str, tuple[str, ...], str]]


async def learn(
    functions: Sequence[Function], tasks: Mapping[str, TrainTask], prove: Prove, tokens: int
) -> Learned:
    """Prove functions, and leave out those that a skill may not have or has no room for.

    Args:
        functions: those that solve most tasks first.
        tasks: what the train tasks give.
        prove: runs a program at a task.
        tokens: that SKILL.md may say of them.
    """
    learned = Learned([], [])
    solved = {task for function in functions for task in function.proven}
    selected = learned.functions
    for function in functions:
        if reason := await objection(function, tasks, solved, prove):
            learned.left_out.append((function.name, function.proven, reason))
        elif fits([*selected, brief := replace(function, examples=1)], tokens):
            selected.append(brief)
        else:
            room = f"no room in {tokens} tokens and {LINES} lines (--size full has the most)"
            learned.left_out.append(
                (function.name, function.proven, f"proven on {len(function.proven)} tasks; {room}")
            )
    for index, brief in enumerate(selected):  # a second example, where there is room
        selected[index] = replace(brief, examples=SHOWN)
        if not fits(selected, tokens):
            selected[index] = brief
    return learned


def fits(functions: Sequence[Function], tokens: int) -> bool:
    """Return True if SKILL.md with functions, and their module, are short enough to be used."""
    text = "\n\n".join([use_of(functions), *map(entry, functions)])
    return count_tokens(text) <= tokens and len(module_of(functions)) < LINES


async def objection(
    function: Function, tasks: Mapping[str, TrainTask], solved: set[str], prove: Prove
) -> str:
    """Why a function may be no part of a skill; "" if it may be one.

    Args:
        function: to prove.
        tasks: what the train tasks give.
        solved: tasks that a function solves.
        prove: runs a program at a task.
    """
    required = [parameter for parameter in function.parameters if parameter.default is None]
    if len(required) > MOST:
        return f"it takes {len(required)} values of the request, and a small model fills {MOST}"
    source = tasks[function.source]
    alike = [
        task
        for task, mate in tasks.items()
        if (mate.suffixes, mate.fields) == (source.suffixes, source.fields) and task not in solved
    ]
    constants = unexplained(function, tasks)
    if constants and len(alike) >= len(function.proven):
        return (
            f"it holds {', '.join(constants[:3])}, and {len(alike)} tasks with such files fail by "
            f"it, more than the {len(function.proven)} that pass: one may state another value there"
        )
    failed = await unproven(function, prove)
    return f"tasks that its program passed fail by it: {', '.join(failed[:3])}" if failed else ""


async def unproven(function: Function, prove: Prove) -> list[str]:
    """The tasks that a function should solve, and does not."""
    module = "\n".join(module_of([function]))
    if any(lint_text(module)):
        return list(function.proven)
    lines = f"from {MODULE} import {function.name}\n\n"
    calls = (prove(task, f"{lines}{function.call(task)}\n", module) for task in function.proven)
    passed = await asyncio.gather(*calls)
    return [task for task, right in zip(function.proven, passed, strict=True) if not right]


def drafted(learned: Learned, trajectories: Sequence[Trajectory], account: str) -> Draft:
    """The functions as a patch, and those that the skill does not get.

    Args:
        learned: the functions.
        trajectories: that they were made from.
        account: what was tried, for a skill without functions.
    """
    left_out = tuple(
        Discarded(
            content=f"function {name}",
            reason=reason,
            sources=tuple(sorted(r.trajectory_id for r in trajectories if r.task_id in solved)),
            support=len(solved),
        )
        for name, solved, reason in learned.left_out
    )
    if not learned.functions:
        tried = "; ".join(f"{name}: {reason}" for name, _, reason in learned.left_out) or account
        return Draft(patch=Patch(reasoning=f"no function: {tried}"), discarded=left_out)
    return Draft(patch=scripts_patch(learned.functions, trajectories), discarded=left_out)


def scripts_patch(functions: Sequence[Function], trajectories: Sequence[Trajectory]) -> Patch:
    """A module, and in SKILL.md the program that calls each of its functions; as one patch."""

    def edit(file: str, op: str, section: str, content: str, solved: Sequence[str]) -> Edit:
        sources = sorted({run.trajectory_id for run in trajectories if run.task_id in set(solved)})
        return Edit.model_validate(
            {
                "file": file, "op": op, "target_section": section, "content": content,
                "sources": sources, "support": len(set(solved)),
            }
        )  # fmt: skip

    everything = [task for function in functions for task in function.proven]
    return Patch(
        reasoning=f"{len(functions)} functions from passing programs, proven on "
        f"{len(set(everything))} train tasks",
        edits=(
            edit(FILE, "create", "", "\n".join(module_of(functions)), everything),
            edit("SKILL.md", "add_section", FUNCTIONS, use_of(functions), everything),
            *(
                edit("SKILL.md", "add_section", EXAMPLES_SECTION, entry(f), f.proven)
                for f in functions
            ),
        ),
        changelog_entries=("functions that passing programs share",),
    )


def module_of(functions: Sequence[Function]) -> list[str]:
    """The lines of the module."""
    return "\n\n".join([HEAD, *(function.code() for function in functions)]).split("\n")


def use_of(functions: Sequence[Function]) -> str:
    """What SKILL.md says of the module."""
    return USE.format(names=", ".join(f"`{f.name}`" for f in functions))


def entry(function: Function) -> str:
    """What SKILL.md says of a function: requests, and the programs that do them by calling it."""
    texts: list[str] = []
    for task in function.shown():
        request = function.request(task)
        first = " ".join(request.split()[:REPEATED])
        program = f"# {first}\nfrom {MODULE} import {function.name}\n\n{function.call(task)}"
        texts.append(worked_example(request, f"```python\n{program}\n```"))
    return "\n\n".join(texts)


def programs_of(runs: Sequence[Trajectory]) -> list[tuple[str, str]]:
    """(task id, source) of the last program of every run that passed."""
    passed = ((run.task_id, programs_run(run)) for run in runs if run.outcome == "pass")
    return [(task, programs[-1]) for task, programs in passed if programs]

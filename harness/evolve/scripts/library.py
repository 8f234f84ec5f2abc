"""The functions of a skill: made from programs that passed, proven on train tasks, written down.

A function ships if it solves tasks of its kind from their prompts alone, more
than the one that it came from, and if no task that passed before fails by it; two of the tasks that
it solves differ in each parameter, and it holds no value that few prompts happen to share.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from harness.agents import EXAMPLES_SECTION, worked_example
from harness.core import Edit, Patch, Trajectory
from harness.evolve.scripts.functions import MOST, Function, function_of
from harness.evolve.scripts.prompts import ALIKE, Kind, flat, kinds
from harness.evolve.types import Discarded, Draft, Size
from harness.skills import count_tokens, lint_text
from harness.trajectories import programs_run


class Form(NamedTuple):
    """How a worked example is written.

    A small model that repeats the first words of its task, as the examples do, finds the example
    of them, and copies its call: with that, keywords for values and no example of another sort
    before them, the first program of the 0.5 B model was right for 23 of 24 tasks of `wire` (11
    without). Where whole requests were repeated it copied its task to the end and called nothing
    (7), and of "p50 and p95" it passed the 50 until values had keywords.

    Attributes:
        words: of the request that its program repeats first, as a comment.
        keywords: whether values have the names of their parameters.
    """

    words: int = 8
    keywords: bool = True

    def __str__(self) -> str:
        return f"{self.words} words repeated and {'keywords' if self.keywords else 'positions'}"


FORM = Form()
"""The form that did best for the models that were tried, and that is written if none is asked."""
Prove = Callable[[str, str, str], Coroutine[Any, Any, bool]]
"""Runs a program at a task, by its id, with a module `helpers` beside it: whether it passes."""
MODULE, FILE = "helpers", "scripts/helpers.py"
FUNCTIONS = "## Functions"
# A name that is none of the module's is taken for the function that shares most words with it, and
# a function that fails says which of them are for the files at hand: small models choose wrongly,
# and told no more than the error, write a program of their own.
HEAD = '''"""Functions of this skill, each proven on the tasks named below it by running it."""

import functools
import os

FILES = {}


def for_files(*names):
    def mark(function):
        @functools.wraps(function)
        def call(*values, **named):
            try:
                return function(*values, **named)
            except Exception as error:
                near = [name for name, files in FILES.items() if all(map(os.path.exists, files))]
                near = ", ".join(name for name in near if name != function.__name__) or "none"
                raise RuntimeError(
                    f"{function.__name__} is not for this task, or its values are wrong: {error!r}."
                    f" Functions of helpers for files like these: {near}."
                ) from None

        FILES[function.__name__] = names
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
# Programs of one kind that are tried as functions, and tasks that one must solve.
CANDIDATES, LEAST = 4, 2
# Prompts that must share a value before it counts as part of what they ask for: three that say 7 %
# may each have chosen it.
SHARED = 6
# Tokens that SKILL.md may say of functions, by the size that was asked for; lines of the module.
TOKENS: dict[Size, int] = {"compact": 230, "standard": 1200, "full": 3000}
LINES = 290


class Learned(NamedTuple):
    """Functions that are proven, those that solve most first, and the others with the reason.

    Attributes:
        functions: that the skill gets.
        left_out: (name, tasks that it solves, why the skill does not get it).
    """

    functions: list[Function]
    left_out: list[tuple[str, tuple[str, ...], str]]


async def learn(
    programs: Sequence[tuple[str, str]],
    named: Iterable[tuple[Kind, str]],
    files: Mapping[str, Iterable[str]],
    prove: Prove,
    tokens: int,
) -> Learned:
    """Functions of the programs, each tried on the tasks of its kind.

    Args:
        programs: (task id, source) of passing attempts.
        named: kinds of train tasks, each with a name for its function.
        files: task id -> names of its input files.
        prove: runs a program at a task.
        tokens: that SKILL.md may say of them.
    """
    passed = {task for task, _ in programs}
    shipped: list[Function] = []
    learned = Learned([], [])
    for kind, text in named:
        sources = sorted({(len(code), task, code) for task, code in programs if task in kind.slots})
        inputs = tuple(sorted(set[str].intersection(*(set(files[task]) for task in kind.tasks))))
        tried: list[Function] = []
        solved, reason = (), "no program of its tasks can be a function: each fails to parse, "
        reason += f"takes more than {MOST} values of the prompt, or calls what no skill may call"
        for _, task, code in sources[:CANDIDATES]:
            if function := function_of(code, task, kind, text):
                tried.append(await proven(replace(function, files=inputs), passed, prove))
        if good := [function for function in tried if not objection(function)]:
            shipped.append(max(good, key=lambda f: (len(f.proven), -len(f.parameters))))
            continue
        if tried:
            best = max(tried, key=lambda function: len(function.proven))
            solved, reason = best.proven, objection(best)
        learned.left_out.append((text, solved, reason))
    shipped.sort(key=lambda function: -len(function.proven))
    for function in shipped:
        for least in (function, replace(function, examples=1)):
            if fits([*learned.functions, least], tokens):
                learned.functions.append(least)
                break
        else:
            room = f"no room in {tokens} tokens and {LINES} lines (--size full has the most)"
            learned.left_out.append(
                (function.name, function.proven, f"proven on {len(function.proven)} tasks; {room}")
            )
    return learned


def taught_kinds(programs: Sequence[tuple[str, str]], prompts: Mapping[str, str]) -> list[Kind]:
    """Kinds of train tasks that a function may be made for: more than one, and a program passes."""
    passed = {task for task, _ in programs}
    every = (kind for kind in kinds(dict(prompts)) if len(kind.tasks) >= LEAST)
    return [kind for kind in every if not passed.isdisjoint(kind.tasks)]


def fits(functions: Sequence[Function], tokens: int) -> bool:
    """Whether what SKILL.md says of functions, and their module, are short enough to be used."""
    text = "\n\n".join([use_of(functions), *map(entry, functions)])
    return count_tokens(text) <= tokens and len(module_of(functions)) < LINES


async def proven(function: Function, passed: set[str], prove: Prove) -> Function:
    """The function with the tasks that it solves, and those that it breaks."""
    module, solved = "\n".join(module_of([function])), list[str]()
    if any(lint_text(module)):
        return function
    for task in function.kind.tasks:
        call = function.call(task)
        program = f"from {MODULE} import {function.name}\n\n{call}\n"
        if call is not None and await prove(task, program, module):
            solved.append(task)
    broken = tuple(task for task in function.kind.tasks if task in passed and task not in solved)
    return replace(function, proven=tuple(solved), broken=broken)


def objection(function: Function) -> str:
    """Why a function may be no part of a skill; "" if it may be one."""
    solved, tasks = function.proven, function.kind.tasks
    if function.broken:
        return f"tasks that had passed fail by it: {', '.join(function.broken[:3])}"
    if len(solved) < LEAST:
        return f"it solves {len(solved)} of the {len(tasks)} tasks of its kind, and needs {LEAST}"
    for parameter in function.parameters:
        if len({repr(parameter.value(function.kind.slots[task])) for task in solved}) < LEAST:
            return f"no two tasks that it solves differ in {parameter.name}"
    if len(tasks) < SHARED and (stated := function.stated):
        return (
            f"all {len(tasks)} prompts of its kind say {', '.join(stated)}, which would stay fixed "
            f"in it: tasks that differ in that, or {SHARED} that do not, would tell"
        )
    return ""


def drafted(
    learned: Learned,
    trajectories: Sequence[Trajectory],
    prompts: Mapping[str, str],
    form: Form = FORM,
    changelog: Sequence[str] = (),
) -> Draft:
    """The functions as a patch, and those that the skill does not get."""
    sources = {name: list[str]() for name, _, _ in learned.left_out}
    for name, solved, _ in learned.left_out:
        sources[name] += sorted(run.trajectory_id for run in trajectories if run.task_id in solved)
    left_out = tuple(
        Discarded(
            content=f"function {name}", reason=reason, sources=tuple(sources[name]),
            support=len(solved),
        )
        for name, solved, reason in learned.left_out
    )  # fmt: skip
    patch = scripts_patch(learned.functions, trajectories, form, changelog)
    if not learned.functions:
        patch = Patch(reasoning=f"no function: {account(learned, trajectories, prompts)}")
    return Draft(patch=patch, discarded=left_out)


def account(
    learned: Learned, trajectories: Sequence[Trajectory], prompts: Mapping[str, str]
) -> str:
    """What was tried where no function came out, what was not, and what would help."""
    programs = programs_of(trajectories)
    if not programs:
        return (
            "there is no program of a passing run: it is for agents that solve tasks by one "
            "(graph:program, or the tool python); --analyst single or exemplar for others"
        )
    alone = sum(len(kind.tasks) < LEAST for kind in kinds(dict(prompts)))
    untried = f"{len(programs)} programs passed, and none was tried at another task"
    tried = "; ".join(f"{name}: {reason}" for name, _, reason in learned.left_out) or untried
    if not alone:
        return tried
    return (
        f"{tried}; {alone} of {len(prompts)} prompts are like no other (a kind has {ALIKE:.0%} of "
        "their words in the same order): more tasks in the same wording, or --analyst single or "
        "exemplar, would help"
    )


def scripts_patch(
    functions: Sequence[Function],
    trajectories: Sequence[Trajectory],
    form: Form = FORM,
    changelog: Sequence[str] = (),
) -> Patch:
    """A module, and in SKILL.md the program that calls each of its functions; as one patch."""
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
    return Patch(
        reasoning=f"{len(functions)} functions from passing programs, proven on "
        f"{len(set(everything))} train tasks",
        edits=(
            edit(FILE, "create", "", "\n".join(module_of(functions)), everything),
            edit("SKILL.md", "add_section", FUNCTIONS, use_of(functions), everything),
            *(
                edit("SKILL.md", "add_section", EXAMPLES_SECTION, entry(f, form), f.proven)
                for f in functions
            ),
        ),
        changelog_entries=("functions that passing programs share", *changelog),
    )


def module_of(functions: Sequence[Function]) -> list[str]:
    """The lines of the module."""
    parts = [
        f"@for_files({', '.join(map(repr, f.files))})\n{f.code()}"
        + (f"# proven on: {flat(', '.join(f.proven))}\n" * bool(f.proven))
        for f in functions
    ]
    return "\n\n".join([HEAD, *parts]).split("\n")


def use_of(functions: Sequence[Function]) -> str:
    """What SKILL.md says of the module."""
    return USE.format(names=", ".join(f"`{f.name}`" for f in functions))


def entry(function: Function, form: Form = FORM) -> str:
    """What SKILL.md says of a function: requests, and the programs that do them by calling it."""
    texts: list[str] = []
    for task in function.shown():
        request, call = function.request(task), function.call(task, keywords=form.keywords)
        first = " ".join(request.split()[: form.words])
        comment = f"# {first}\n" * bool(first)
        program = f"{comment}from {MODULE} import {function.name}\n\n{call}"
        texts.append(worked_example(request, f"```python\n{program}\n```"))
    return "\n\n".join(texts)


def programs_of(runs: Sequence[Trajectory]) -> list[tuple[str, str]]:
    """(task id, source) of the last program of every run that passed."""
    passed = ((run.task_id, programs_run(run)) for run in runs if run.outcome == "pass")
    return [(task, programs[-1]) for task, programs in passed if programs]

"""The form of a skill's worked examples: of several, what the model that will use them follows.

Every form is a whole skill, which the model's agent has at the same train tasks, one program each.
Tasks that an example shows are left out: they could be copied.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from harness.agents import EXAMPLES_SECTION
from harness.core import Usage
from harness.evals import ItemRecord, LoadedSuite
from harness.evolve.scripts.functions import Function
from harness.evolve.scripts.library import FILE, FORM, Form, entry, module_of, use_of
from harness.skills import new_skill, write_skill

Attempts = Callable[[LoadedSuite, Path, Path], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs a suite in a folder with a skill directory."""
FORMS = (FORM, FORM._replace(words=0), FORM._replace(keywords=False))
AGENT = "graph:program"
"""The agent that plays examples as turns, and so the one whom their form concerns."""
NAME = "functions"


class Fitted(NamedTuple):
    """The form that was followed best, the passed tasks of every form that was tried, and what
    trying took."""

    form: Form = FORM
    passed: tuple[tuple[Form, int], ...] = ()
    tasks: int = 0
    usage: Usage = Usage()

    def __str__(self) -> str:
        rows = [f"{count} with {form}" for form, count in self.passed]
        return f"of {self.tasks} train tasks the model passed {', '.join(rows)}"


async def fitted(
    functions: Sequence[Function],
    suite: LoadedSuite,
    tasks: int,
    seed: int,
    out: Path,
    attempts: Attempts,
) -> Fitted:
    """Try every form on the same train tasks; of equals the first is taken.

    Args:
        functions: of the skill.
        suite: of the train tasks.
        tasks: that each form is tried on, at most.
        seed: of their draw.
        out: folder for the skills and their runs.
        attempts: makes the attempts, by the model that will use the skill.
    """
    shown = {task for function in functions for task in function.shown()}
    solved = {task for function in functions for task in function.proven} - shown
    free = [task for task in suite.tasks if task.id in solved]
    drawn = tuple(random.Random(seed).sample(free, min(tasks, len(free))))
    once = suite.suite.model_copy(update={"max_turns": 1})
    trial = suite.model_copy(update={"tasks": drawn, "suite": once})
    module = "\n".join(module_of(functions)).encode()
    passed, usage = list[tuple[Form, int]](), Usage()
    for number, form in enumerate(FORMS if drawn else ()):
        entries = [entry(function, form) for function in functions]
        body = "\n\n".join([f"# Functions\n\n{use_of(functions)}", EXAMPLES_SECTION, *entries])
        skill = replace(new_skill(NAME, "Functions.", f"\n{body}\n"), files={FILE: module})
        folder = out / f"form-{number}"
        write_skill(skill, folder / NAME)
        items = await attempts(trial, folder / "run", folder / NAME)
        passed.append((form, sum(item.outcome == "pass" for item in items)))
        usage = sum((item.usage for item in items), usage)
    best, _ = max(passed, key=lambda row: row[1], default=(FORM, 0))
    return Fitted(best, tuple(passed), len(drawn), usage)

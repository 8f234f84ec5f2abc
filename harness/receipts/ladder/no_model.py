"""The rung "no model": code matches a task to its train template, fills the slots, and calls.

Nothing about a model follows from a skill of functions that passes no more than this does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from harness.core import Task, canonical_json, digest, write_atomic
from harness.evals import EvalSettings, Evaluator, LoadedSuite, ProgressHook
from harness.evolve import Matcher
from harness.models import Budget
from harness.receipts.ladder.records import NO_MODEL, LadderRow, Rung
from harness.skills import Skill

AGENT = "graph:program"
"""The agent that runs a program of its reply."""
NO_FUNCTION = "No function of the skill was made for the template of this task."


def matcher_of(skill: Skill, train: Iterable[Task]) -> Matcher:
    """Return what finds the function for a prompt.

    Args:
        skill: with functions, or without.
        train: the tasks that the functions were made from.

    Raises:
        BadInput: if the module of the skill cannot be parsed.
    """
    return Matcher(skill, {task.id: task.prompt for task in train})


def replies_without_model(matcher: Matcher, tasks: Iterable[Task]) -> dict[str, str]:
    """Return the reply that code gives to each task: a program, or that there is none.

    Returns:
        Task id -> reply; empty where the skill has no function with a template.
    """
    if not matcher.functions:
        return {}
    programs = {task.id: matcher.program(task.prompt) for task in tasks}
    return {
        id_: f"```python\n{program}```" if program else NO_FUNCTION
        for id_, program in programs.items()
    }


async def attempt_without_model(
    evaluation: EvalSettings,
    suite: LoadedSuite,
    replies: Mapping[str, str],
    out: Path,
    show: ProgressHook | None = None,
) -> None:
    """Attempt the tasks of a suite with the replies of code; a run folder like any other.

    Args:
        evaluation: of the ladder; its skill has the functions.
        suite: the tasks.
        replies: task id -> reply.
        out: the run folder; the script of the replies is written beside it.
        show: called with the progress.
    """
    texts = {task.prompt: replies[task.id] for task in suite.tasks}
    # A prompt may be the beginning of another one.
    rows = [
        {"match": re.escape(prompt), "text": texts[prompt]}
        for prompt in sorted(texts, key=len, reverse=True)
    ]
    script = out.with_name(f"{out.name}.json")
    write_atomic(script, canonical_json(rows))
    models = (*evaluation.models, f"agent=scripted/{script}")
    changes = {"models": models, "agent": AGENT, "skill_mode": "preloaded"}
    evaluator = Evaluator(evaluation.model_copy(update=changes), suite, Budget())
    await evaluator.run(out, evaluation.skill, show)


def no_model_rung(replies: Mapping[str, str]) -> Rung:
    """Return the rung as a ladder lists it; it adds no token to a prompt."""
    missing = sum(reply == NO_FUNCTION for reply in replies.values())
    note = f"{missing} of {len(replies)} tasks are of no train template with a function" * bool(
        missing
    )
    return Rung(name=NO_MODEL, kind="control", tokens=0, run=NO_MODEL, note=note)


def replies_differ_from_code(
    rows: Iterable[LadderRow], replies: Mapping[str, str]
) -> Iterator[str]:
    """Yield the first attempt of the rung whose program is not the one that code writes.

    Args:
        rows: of a ladder.
        replies: task id -> reply, as it was computed again.
    """
    for row in rows:
        if row.rung == NO_MODEL and row.replies != digest(replies.get(row.task, "")):
            yield f"records: code writes another program for {row.id} of rung {NO_MODEL}"
            return

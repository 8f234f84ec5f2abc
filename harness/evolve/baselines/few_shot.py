"""What a skill of worked examples must be compared with: other few-shot prompts of its length."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from harness.core import BadInput, Task
from harness.evolve.analysts.exemplar import EXAMPLES_SECTION
from harness.skills import Skill, count_tokens, new_skill

TOLERANCE = 0.1
"""Largest relative difference in tokens between a control and the skill."""
_EXAMPLES = re.compile(rf"^{re.escape(EXAMPLES_SECTION)}\s*$.*?(?=^## |\Z)", re.M | re.S)


def rule_alone(skill: Skill) -> Skill:
    """The skill without its worked examples."""
    return _with_body(skill, _EXAMPLES.sub("", skill.body).rstrip() + "\n")


def random_sets(skill: Skill, tasks: Sequence[Task], sets: int, seed: int) -> list[Skill]:
    """The skill with its examples replaced by random tasks and their gold answers.

    Every set holds as many examples as the skill, and its length in tokens is that of the skill
    within a tenth.

    Args:
        tasks: the tasks that the skill's own examples were drawn from.
        sets: how many skills to make.
        seed: seed of the draw.

    Raises:
        BadInput: if the tasks cannot fill such sets.
    """
    count = len(re.findall(r"^Task:", skill.body, re.M))
    wanted = count_tokens(skill.body)
    chance = random.Random(seed)
    found: list[Skill] = []
    for _ in range(200 * sets):
        drawn = chance.sample(list(tasks), min(count, len(tasks)))
        body = rule_alone(skill).body.rstrip() + f"\n\n{EXAMPLES_SECTION}\n\n" + _examples(drawn)
        if abs(count_tokens(body) - wanted) <= TOLERANCE * wanted:
            found.append(_with_body(skill, body))
            if len(found) == sets:
                return found
    raise BadInput(f"{len(tasks)} tasks cannot fill {sets} sets of {count} examples of that length")


def _examples(tasks: Sequence[Task]) -> str:
    lines = [
        f"Task: {' '.join(task.prompt.split())}\nAnswer: {' '.join(str(task.answer).split())}\n"
        for task in tasks
    ]
    return "\n".join(lines)


def _with_body(skill: Skill, body: str) -> Skill:
    return new_skill(skill.name, skill.description, body)

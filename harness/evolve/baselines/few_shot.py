"""What a skill of worked examples must be compared with: other few-shot prompts of its length."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from harness.core import BadInput, Task
from harness.evolve.analysts.exemplar import EXAMPLES_SECTION
from harness.skills import Skill, count_tokens, new_skill

# Largest relative difference in tokens between a control and the skill.
TOLERANCE = 0.1
_EXAMPLES = re.compile(rf"^{re.escape(EXAMPLES_SECTION)}\s*$.*?(?=^## |\Z)", re.M | re.S)


def rule_alone(skill: Skill) -> Skill:
    """The skill without its worked examples."""
    body = _EXAMPLES.sub("", skill.body).rstrip() + "\n"
    return new_skill(skill.name, skill.description, body)


def random_sets(skill: Skill, tasks: Sequence[Task], sets: int, seed: int) -> list[Skill]:
    """The skill with its examples replaced by random tasks and their gold answers.

    Every set holds as many examples as the skill, and its length in tokens is that of the skill
    within a tenth.

    Args:
        skill: with worked examples.
        tasks: the tasks that the skill's own examples were drawn from.
        sets: how many skills to make.
        seed: of the draw.

    Raises:
        BadInput: if the tasks cannot fill such sets.
    """
    count = len(re.findall(r"^Task:", skill.body, re.M))
    tokens = count_tokens(skill.body)
    start = rule_alone(skill)
    rng = random.Random(seed)
    skills: list[Skill] = []
    for _ in range(200 * sets):
        examples = [
            f"Task: {' '.join(task.prompt.split())}\nAnswer: {' '.join(str(task.answer).split())}\n"
            for task in rng.sample(list(tasks), min(count, len(tasks)))
        ]
        body = f"{start.body.rstrip()}\n\n{EXAMPLES_SECTION}\n\n" + "\n".join(examples)
        if abs(count_tokens(body) - tokens) <= TOLERANCE * tokens:
            skills.append(replace(start, body=body))
            if len(skills) == sets:
                return skills
    raise BadInput(f"{len(tasks)} tasks cannot fill {sets} sets of {count} examples of that length")

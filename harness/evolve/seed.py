"""The frozen skill that an evolution starts from."""

from __future__ import annotations

import re

from harness.core import BadInput
from harness.evolve.merge.themes import GUIDE
from harness.evolve.types import EvolveOptions
from harness.skills import Skill, load_skill, new_skill

HOW_TO = (
    f"\n# {{title}}\n\n## {GUIDE}\n\n"
    "Read the rules before you start and follow those that fit; what the task itself says comes "
    "first. Every rule was learned from the runs of {support}; within a section the best "
    "supported stands first.\n"
)
HOW_TO_EXAMPLES = f"\n# {{title}}\n\n## {GUIDE}\n\nAnswer in the form that is shown here.\n"


def seed_skill(options: EvolveOptions) -> Skill:
    """The skill to start from.

    Raises:
        BadInput: if not exactly one of `skill` and `create` is given, or the name is none.
    """
    if (options.skill is None) == (options.create is None):
        raise BadInput("give either --skill DIR (deepening) or --create NAME (creation)")
    if options.skill is not None:
        return load_skill(options.skill)
    name = options.create or ""
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        raise BadInput(f"expected a name of lower-case words and hyphens, got {name!r}")
    words = name.replace("-", " ")
    about = options.description or (
        f"Rules for {words}, distilled from many agent runs. Use for tasks of {words}."
    )
    exemplar = options.analyst == "exemplar" and options.patches is None
    tasks = f"at least {options.min_support} different tasks"
    body = (HOW_TO_EXAMPLES if exemplar else HOW_TO).format(title=words.capitalize(), support=tasks)
    return new_skill(name, about, body)

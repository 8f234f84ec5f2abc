"""A skill as an agent sees it: read once for many attempts, as a prompt or as examples in turns."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from harness.agents.types import SkillMode
from harness.core import digest_tree, render
from harness.models import Message
from harness.skills import Skill, load_skill

Stamp = tuple[tuple[str, int, int, int], ...]

_SECTION = re.compile(
    r"^## Worked examples\s*$(.*?)(?=^## |^</skill>|\Z)", re.MULTILINE | re.DOTALL
)
# A task may itself end in a bare `Answer:`; the example's answer follows on the line of its label,
# or as a fenced block on the next.
_EXAMPLE = re.compile(
    r"^(?:[-*]\s+)?Task:[ ]?(?P<task>.*?)\n[ \t]*Answer:"
    r"(?:[ \t]*\n(?P<block>```.*?^```[ \t]*$)"
    r"|[ \t]+(?=\S)(?P<line>.*?)(?=\n\s*\n|\n(?:[-*]\s+)?Task:|\s*\Z))",
    re.MULTILINE | re.DOTALL,
)


class SkillOnce(NamedTuple):
    """A skill directory as it was read, with its digest."""

    skill: Skill
    digest: str


def skill_at(folder: Path) -> SkillOnce:
    """The skill in a folder; read again where the time, size or number of a file has changed.

    Raises:
        BadInput: as :func:`harness.skills.load_skill`.
    """
    files: list[tuple[str, int, int, int]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            status = path.lstat()
            files.append((str(path), status.st_mtime_ns, status.st_size, status.st_ino))
    return _read(folder, tuple(sorted(files)))


@lru_cache(maxsize=8)
def _read(folder: Path, stamp: Stamp) -> SkillOnce:
    return SkillOnce(load_skill(folder), digest_tree(folder))


def skill_block(skill: Skill | None, mode: SkillMode, *, readable: bool) -> str:
    """The part of a system prompt that carries the skill; "" without one.

    Args:
        skill: as it was loaded.
        mode: preloaded, discovered or none.
        readable: whether the agent has a tool to read the skill's files.
    """
    if skill is None or mode == "none":
        return ""
    # A body that closes the tag early would let skill text pose as the rest of the prompt.
    body = skill.body.strip().replace("</skill>", "&lt;/skill&gt;")
    return render(
        "skill_block",
        mode=mode,
        name=skill.name,
        description=skill.description,
        body=body,
        references=sorted(skill.files),
        readable=readable,
    )


def split_examples(skill: str) -> tuple[str, list[Message]]:
    """Separate a skill's text from its worked examples.

    A small model rarely follows an example in its system prompt; the same example as a turn of the
    conversation it does follow. So an agent of one call may lift the examples of a skill out of the
    prompt and play them as turns before the task.

    Args:
        skill: text of a skill; its examples stand in a section `## Worked examples`, each as
            `Task: …` and, on a line of its own, `Answer: …`, or `Answer:` above a fenced block.

    Returns:
        The text without that section, and the examples as user and assistant turns. Where the
        section has none of this form, the text as it was and no turns.
    """
    section = _SECTION.search(skill)
    examples = list(_EXAMPLE.finditer(section.group(1))) if section else []
    if section is None or not examples:
        return skill, []
    turns: list[Message] = []
    for example in examples:
        answer = example["block"] or example["line"]
        turns.append({"role": "user", "content": example["task"].strip()})
        turns.append({"role": "assistant", "content": answer.strip()})
    return (skill[: section.start()] + skill[section.end() :]).strip(), turns

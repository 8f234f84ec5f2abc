"""Worked examples of a skill as turns of a conversation.

A small model that is told of an example in its system prompt rarely follows it; the same example
as a turn of the conversation it does follow. So an agent of one call may lift the examples of a
skill out of the prompt and play them as turns before the task.
"""

from __future__ import annotations

import re

from harness.models import Message

_SECTION = re.compile(
    r"^## Worked examples\s*$(.*?)(?=^## |^</skill>|\Z)", re.MULTILINE | re.DOTALL
)
# A task may itself end in a bare `Answer:`; the example's answer follows on the line of its label.
_EXAMPLE = re.compile(
    r"^(?:[-*]\s+)?Task:[ ]?(.*?)\n[ \t]*Answer:[ \t]+(?=\S)(.*?)"
    r"(?=\n\s*\n|\n(?:[-*]\s+)?Task:|\s*\Z)",
    re.MULTILINE | re.DOTALL,
)


def split_examples(skill: str) -> tuple[str, list[Message]]:
    """Part a skill's text from its worked examples.

    Args:
        skill: text of a skill; its examples stand in a section `## Worked examples`, each as
            `Task: …` and, on a line of its own, `Answer: …`.

    Returns:
        The text without that section, and the examples as user and assistant turns. Where the
        section has none of this form, the text as it was and no turns.
    """
    section = _SECTION.search(skill)
    found = _EXAMPLE.findall(section.group(1)) if section else []
    if section is None or not found:
        return skill, []
    turns: list[Message] = []
    for task, answer in found:
        turns.append({"role": "user", "content": task.strip()})
        turns.append({"role": "assistant", "content": answer.strip()})
    return (skill[: section.start()] + skill[section.end() :]).strip(), turns

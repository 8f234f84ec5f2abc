"""A skill as an agent sees it: read once for many attempts, as a prompt or as examples in turns."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from harness.agents.types import SkillMode
from harness.core import digest_tree, render
from harness.models import Message
from harness.skills import Skill, load_skill

Stamp = tuple[tuple[str, int, int, int], ...]

EXAMPLES_SECTION = "## Worked examples"
NEAREST_SECTION = f"{EXAMPLES_SECTION}, the %d most like the task"
_SECTION = re.compile(NEAREST_SECTION.replace("%d", r"(\d{1,3})") + rf"\s*|{EXAMPLES_SECTION}\s*")
# Read by lines: in a fenced block nothing is a heading or a label.
_FENCE = re.compile(r"[ \t]*```[^`]*$")
_TASK = re.compile(r"(?:[-*]\s+)?Task:[ ]?(.*)")
_ANSWER = re.compile(r"[ \t]*Answer:[ \t]*(.*)")
_LABEL = re.compile(f"(?P<task>{_TASK.pattern})|(?P<answer>{_ANSWER.pattern})")
_WORD = re.compile(r"\w+")


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
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
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
        readable: whether the agent has a tool to read the skill's files; where it has none, the
            texts of the references that the skill names follow its body.
    """
    if skill is None or mode == "none":
        return ""
    body = skill.body.strip()
    for path in sorted(skill.files) if mode == "preloaded" and not readable else ():
        if (
            path.startswith("references/")
            and path in skill.body
            and (text := skill.file_text(path))
        ):
            body += f"\n\n`{path}`:\n\n{text.strip()}"
    # A body that closes the tag early would let skill text pose as the rest of the prompt.
    body = body.replace("</skill>", "&lt;/skill&gt;")
    return render(
        "skill_block",
        mode=mode,
        name=skill.name,
        description=skill.description,
        body=body,
        references=sorted(skill.files),
        readable=readable,
    )


def worked_example(task: str, answer: str) -> str:
    """A task and its answer as the section of a skill has them; a block stands below its label."""
    label = "Answer:\n" if answer.startswith("```") else "Answer: "
    return f"Task: {task}\n{label}{answer}"


def split_examples(skill: str, task: str = "") -> tuple[str, list[Message]]:
    """Separate a skill's text from its worked examples.

    A small model rarely follows an example in its system prompt; the same example as a turn of the
    conversation it does follow. So an agent of one call may lift the examples of a skill out of the
    prompt and play them as turns before the task.

    Args:
        skill: text of a skill; its examples stand in the section, as `worked_example` writes them.
            Under the heading of `NEAREST_SECTION` only so many of them are played.
        task: the examples are sorted by how like it they are, the nearest last: a small model
            follows the last one most, and the nearest examples help most (Liu et al. 2022,
            arXiv:2101.06804). Its request, the first paragraph, counts. "" keeps their order.

    Returns:
        The text without that section, and the examples as user and assistant turns. Where the
        section has none of this form, the text as it was and no turns.
    """
    remaining: list[str] = []
    section: list[tuple[str, bool]] = []  # its lines, and whether each stands in no block
    inside = ended = False
    most = 0
    lines = skill.split("\n")
    outside: list[bool] = []  # of every line, whether it stands in no block
    fenced = False
    for line in lines:
        fence = _FENCE.match(line) is not None
        outside.append(not (fence or fenced))
        fenced ^= fence
    labels = [
        match.lastgroup if free and (match := _LABEL.match(line)) else None
        for line, free in zip(lines, outside, strict=True)
    ]
    above = accumulate(labels, lambda above, label: label or above)
    below = [*accumulate(reversed(labels), lambda below, label: label or below)][::-1]
    for line, free, *around in zip(lines, outside, above, below, strict=True):
        if free:
            if not (inside or ended) and (start := _SECTION.fullmatch(line)):
                inside, most = True, int(start[1] or 0)
                continue
            # A task may have headings of its own, above its answer.
            heading = line.startswith("## ") and around != ["task", "answer"]
            if inside and (heading or line.startswith("</skill>")):
                inside, ended = False, True
        if inside:
            section.append((line, free))
        else:
            remaining.append(line)
    examples = _worked(section)
    if task:
        order = _by_likeness([text for text, _ in examples], task.split("\n\n", 1)[0])
        examples = [examples[number] for number in order]
    turns: list[Message] = []
    for text, answer in examples[-most:]:  # all of them where there is no number
        turns.append({"role": "user", "content": text})
        turns.append({"role": "assistant", "content": answer})
    return ("\n".join(remaining).strip(), turns) if turns else (skill, [])


def _worked(lines: Sequence[tuple[str, bool]]) -> list[tuple[str, str]]:
    """The tasks and answers of a section's lines.

    An answer follows its label on the same line, up to an empty one, or is the block below it. A
    task may itself end in a bare `Answer:`.
    """
    examples: list[tuple[list[str], list[str]]] = []
    answering = closed = False
    for number, (line, free) in enumerate(lines):
        if free and (label := _TASK.match(line)):
            examples.append(([label[1]], []))
            answering = closed = False
            continue
        if not examples or closed:
            continue
        task, answer = examples[-1]
        if not answering:
            label = _ANSWER.match(line) if free else None
            block = number + 1 < len(lines) and _FENCE.match(lines[number + 1][0])
            answering = label is not None and bool(label[1] or block)
            if not answering:
                task.append(line)
            elif label is not None and label[1]:
                answer.append(label[1])
        elif free and not line.strip():
            closed = True
        else:
            answer.append(line)
            closed = len(answer) > 1 and bool(_FENCE.match(answer[0]) and _FENCE.match(line))
    texts = (("\n".join(task).strip(), "\n".join(answer).strip()) for task, answer in examples)
    return [(task, answer) for task, answer in texts if answer]


def _by_likeness(texts: Sequence[str], task: str) -> list[int]:
    """Numbers of the texts by the cosine of their words with a task's, the largest last; of equals
    the later one.

    A word counts the more, the fewer of the texts have it (log of the inverse frequency).
    """
    words = [set(_WORD.findall(text.lower())) for text in texts]
    having = Counter(word for vocabulary in words for word in vocabulary)
    sought = set(_WORD.findall(task.lower()))

    def square(some: set[str]) -> float:
        # Exactly rounded: sets have another order in every process, and equals must stay equal.
        return math.fsum(math.log((len(texts) + 1) / having[word]) ** 2 for word in some)

    # The norm of the task is the same for all.
    cosines = [
        square(vocabulary & sought) / math.sqrt(square(vocabulary) or 1) for vocabulary in words
    ]
    return sorted(range(len(texts)), key=cosines.__getitem__)

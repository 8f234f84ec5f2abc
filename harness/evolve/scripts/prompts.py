"""Tasks of one kind: what their prompts share, and the places where they differ.

The prompts of one kind are instances of a template that nobody wrote down. What all of them have in
the same order is its text; between these anchors lie its slots. It is the least general
generalisation of the prompts (Plotkin 1970), over words instead of terms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

# Quoted text, a number, a path or code name, a word, or a mark.
TOKEN = re.compile(
    r"(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)\"[^\"\n]+\"(?!\w)|`[^`\n]+`"
    r"|[-+]?\d+(?:[.,:-]\d+)*(?!\w)|\w+(?:[./_-]\w+)*|[^\w\s]"
)
# Share of their words that prompts of one kind have in the same order.
ALIKE = 0.6
_QUOTES = "'\"`"
# What stands between the items of a list: what they link is one slot.
_LINKS = frozenset(("and", "or", ","))


@dataclass(frozen=True)
class Slot:
    """What one prompt has where the prompts of its kind differ.

    Attributes:
        text: as it stands in the prompt.
        before: the tokens of the template before it, the last first.
    """

    text: str
    before: tuple[str, ...]

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Its quoted texts, numbers and words, without quotes, commas and what links a list."""
        tokens = (match[0] for match in TOKEN.finditer(self.text))
        return tuple(
            unquoted(token) for token in tokens if re.search(r"\w", token) and token not in _LINKS
        )


@dataclass(frozen=True)
class Kind:
    """Tasks whose prompts are alike.

    Attributes:
        tasks: ids.
        template: the text that all prompts share: its words, and None for each slot.
        slots: of each task, as many as the template has.
    """

    tasks: tuple[str, ...]
    template: tuple[str | None, ...]
    slots: dict[str, tuple[Slot, ...]]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the template."""
        return tuple(token for token in self.template if token and token[0].isalpha())


def unquoted(token: str) -> str:
    """A token without the quotes around it."""
    quoted = len(token) > 2 and token[0] in _QUOTES and token[-1] == token[0]
    return token[1:-1] if quoted else token


def kinds(prompts: dict[str, str]) -> list[Kind]:
    """Tasks by kind: a prompt belongs with the first one that it is like.

    Args:
        prompts: task id -> prompt.
    """
    groups: list[list[str]] = []
    # Quoted texts and numbers are what tasks of one kind differ in.
    words = {
        task: [m[0] for m in TOKEN.finditer(text) if m[0][0] not in _QUOTES and not is_number(m[0])]
        for task, text in prompts.items()
    }
    for task in prompts:
        match = (group for group in groups if alike(words[group[0]], words[task]))
        group = next(match, None)
        if group is None:
            groups.append([task])
        else:
            group.append(task)
    return [kind_of({task: prompts[task] for task in group}) for group in groups]


def is_number(token: str) -> bool:
    """Whether a token is a number."""
    return re.fullmatch(r"[-+]?\d[\d.,:-]*", token) is not None


def alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two prompts, as tokens, have most of their words in the same order."""
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


def kind_of(prompts: dict[str, str]) -> Kind:
    """The template of prompts of one kind, and what each has in its slots."""
    tokens = {task: list(TOKEN.finditer(text)) for task, text in prompts.items()}
    tasks = tuple(prompts)
    # Number of a token of the first prompt -> its number in every prompt, while all have it.
    places = {number: {tasks[0]: number} for number in range(len(tokens[tasks[0]]))}
    first = [match[0] for match in tokens[tasks[0]]]
    for task in tasks[1:]:
        matcher = SequenceMatcher(None, first, [match[0] for match in tokens[task]], autojunk=False)
        for start, there, size in matcher.get_matching_blocks():
            for step in range(size):
                places[start + step][task] = there + step
    anchors = [number for number, where in places.items() if len(where) == len(tasks)]
    between = {
        number
        for left, number, right in zip(
            [-1, *anchors], anchors, [*anchors[1:], len(first)], strict=False
        )
        if first[number] in _LINKS and left < number - 1 and right > number + 1
    }
    anchors = [number for number in anchors if number not in between]
    template: list[str | None] = []
    slots: dict[str, list[Slot]] = {task: [] for task in tasks}
    for left, right in pairwise([-1, *anchors, len(first)]):
        spans = {
            task: (
                places[left][task] + 1 if left >= 0 else 0,
                places[right][task] if right < len(first) else len(tokens[task]),
            )
            for task in tasks
        }
        if any(start < end for start, end in spans.values()):
            template.append(None)
            before = tuple(reversed([token for token in template if token]))
            for task, (start, end) in spans.items():
                inside = tokens[task][start:end]
                text = prompts[task][inside[0].start() : inside[-1].end()] if inside else ""
                slots[task].append(Slot(text, before))
        if right < len(first):
            template.append(first[right])
    return Kind(tasks, tuple(template), {task: tuple(row) for task, row in slots.items()})

"""Tasks of one kind: what their prompts share, and the places where they differ.

The prompts of one kind are instances of a template that nobody wrote down. What all of them have in
the same order is its text; between these anchors lie its slots. It is the least general
generalisation of the prompts (Plotkin 1970), over words instead of terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby, pairwise

# Quoted text, a number, a path or code name, a word, or a mark.
TOKEN = re.compile(
    r"(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)\"[^\"\n]+\"(?!\w)|`[^`\n]+`"
    r"|[-+]?\d+(?:[.,:-]\d+)*(?!\w)|\w+(?:[./_-]\w+)*|[^\w\s]"
)
SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
# A word that ends in a number, with its quotes.
MARKED = re.compile(r"([^\w\s]?[A-Za-z]+)\d+([^\w\s]?)")
# Share of their words that prompts of one kind have in the same order.
ALIKE = 0.6
# Words of a slot that is a clause.
CLAUSE = 4
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
            unquoted(token)
            for token in tokens
            if unquoted(token) != token or (re.search(r"\w", token) and token not in _LINKS)
        )


@dataclass(frozen=True)
class Kind:
    """Tasks whose prompts are alike.

    Attributes:
        tasks: ids.
        pieces: the text that all prompts share, as the first has it: before the first slot, between
            slots, and after the last.
        slots: of each task, one fewer than pieces.
        clauses: sentences of its prompts that prompts otherwise alike do not have.
    """

    tasks: tuple[str, ...]
    pieces: tuple[str, ...]
    slots: dict[str, tuple[Slot, ...]]
    clauses: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words that all prompts share."""
        return tuple(re.findall(r"[A-Za-z]{3,}", " ".join(self.pieces)))


def unquoted(token: str) -> str:
    """A token without the quotes around it."""
    quoted = len(token) > 2 and token[0] in _QUOTES and token[-1] == token[0]
    return token[1:-1] if quoted else token


def kinds(prompts: dict[str, str]) -> list[Kind]:
    """Return the kinds of tasks, told apart by their words and by the clauses that they differ in.

    Args:
        prompts: task id -> prompt.
    """
    return [
        kind for group in alike_groups(prompts) for kind in split({t: prompts[t] for t in group})
    ]


def alike_groups(prompts: dict[str, str]) -> list[list[str]]:
    """Return the ids of prompts that are alike: each belongs with the first one that it is like."""
    groups: list[list[str]] = []
    # Quoted texts and numbers are what tasks of one kind differ in.
    words = {task: plain(text) for task, text in prompts.items()}
    for task in prompts:
        match = (group for group in groups if alike(words[group[0]], words[task]))
        group = next(match, None)
        if group is None:
            groups.append([task])
        else:
            group.append(task)
    return groups


def split(prompts: dict[str, str]) -> list[Kind]:
    """The kind of prompts, or several where they differ in a clause: another rule, not a value."""
    kind = kind_of(prompts)
    for number in range(len(kind.pieces) - 1):
        texts = {task: slots[number].text for task, slots in kind.slots.items()}
        longest = max(len(plain(text)) for text in texts.values())
        if longest >= CLAUSE and 1 < len(set(texts.values())) <= len(texts) / 2:
            groups = {text: [t for t in texts if texts[t] == text] for text in texts.values()}
            said = {text: set(sentences(prompts[group[0]])) for text, group in groups.items()}
            shared = set[str].intersection(*said.values())
            return [
                replace(part, clauses=(*part.clauses, *sorted(said[text] - shared)))
                for text, group in groups.items()
                for part in split({task: prompts[task] for task in group})
            ]
    return [kind]


def sentences(text: str) -> list[str]:
    """The sentences of a text, each in one line."""
    return SENTENCE_END.split(flat(text))


def flat(text: str) -> str:
    """A text in one line, without the marks of code and of strings."""
    return " ".join(re.sub(r"[\"\\`]", "", text).split())


def plain(text: str) -> list[str]:
    """The tokens of a text that are neither quoted texts nor numbers."""
    return [match[0] for match in TOKEN.finditer(text) if not is_value(match[0])]


def is_value(token: str) -> bool:
    """Return True if a token is a number or a quoted text."""
    return token[0] in _QUOTES or re.fullmatch(r"[-+]?\d[\d.,:-]*", token) is not None


def alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return True if two prompts, as tokens, have most of their words in the same order."""
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
    edges = {-1: dict.fromkeys(tasks, -1), len(first): {t: len(tokens[t]) for t in tasks}}
    shared = {n: places[n] for n in anchors}
    linked = {n for span in lists(first, shared | edges) for n in span}
    anchors = [number for number in anchors if number not in linked]
    bounds: dict[str, list[int]] = {task: [0] for task in tasks}
    before: list[tuple[str, ...]] = []
    for left, right in pairwise([-1, *anchors, len(first)]):
        spans = {
            task: (
                places[left][task] + 1 if left >= 0 else 0,
                places[right][task] if right < len(first) else len(tokens[task]),
            )
            for task in tasks
        }
        if any(start < end for start, end in spans.values()):
            before.append(tuple(first[n] for n in reversed(anchors) if n <= left))
            for task, (start, end) in spans.items():
                bounds[task] += stretch(tokens[task], start, end, prompts[task])
    texts = {task: [prompts[task][a:b] for a, b in pairs(bounds[task][1:])] for task in tasks}
    around_slots = pairs([*bounds[tasks[0]], len(prompts[tasks[0]])])
    pieces = [prompts[tasks[0]][a:b] for a, b in around_slots]
    for number in range(len(before)):
        # Of `p50` and `p95` the number is what tasks choose.
        marked = [MARKED.fullmatch(row[number]) for row in texts.values()]
        around = {(match[1], match[2]) if match else ("", "") for match in marked}
        if len(around) == 1:
            prefix, suffix = around.pop()
            pieces[number] += prefix
            pieces[number + 1] = suffix + pieces[number + 1]
            for row in texts.values():
                row[number] = row[number].removeprefix(prefix).removesuffix(suffix)
            before[number] = (prefix, *before[number]) if prefix else before[number]
    slots = {task: tuple(map(Slot, row, before)) for task, row in texts.items()}
    return Kind(tasks, tuple(pieces), slots)


def lists(tokens: Sequence[str], anchors: Mapping[int, Mapping[str, int]]) -> Iterator[range]:
    """Lists of the first prompt that are longer or shorter in others: each is one slot.

    Args:
        tokens: of the prompt.
        anchors: number of a token that all prompts share -> its number in each; so for the
            places before the first token and after the last.
    """

    def listed(number: int) -> bool:
        return number not in anchors or tokens[number] in _LINKS or is_value(tokens[number])

    for inside, numbers in groupby(range(len(tokens)), listed):
        items = [number for number in numbers if tokens[number] not in _LINKS]
        if not inside or len(items) < 2 or _LINKS.isdisjoint(tokens[items[0] : items[-1]]):
            continue
        start, end = items[0] - 1, items[-1] + 1
        if start in anchors and end in anchors:
            lengths = {anchors[end][task] - anchors[start][task] for task in anchors[start]}
            if len(lengths) == 1:
                continue
        yield range(items[0], end)


def stretch(tokens: Sequence[re.Match[str]], start: int, end: int, prompt: str) -> tuple[int, int]:
    """Return where tokens begin and end in their prompt; if there are none, the place between."""
    if start < end:
        return tokens[start].start(), tokens[end - 1].end()
    place = tokens[start].start() if start < len(tokens) else len(prompt)
    return place, place


def pairs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Two by two."""
    return list(zip(numbers[::2], numbers[1::2], strict=True))

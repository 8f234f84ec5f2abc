"""The functions of a skill without a model: what code alone makes of them.

Prompts that were made from a template hold all that a call needs: what the prompts of the tasks
that prove a function share, in the same order, is the template; what stands between are values
(Plotkin 1970, over words). A skill of functions needs a model only for what it passes beyond this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from harness.core import BadInput
from harness.evolve.scripts.library import FILE, MODULE
from harness.skills import Skill

PROVEN = re.compile(r"# proven on: (.+)")
# Quoted text, a number, a path or code name, a word, or a mark.
TOKEN = re.compile(
    r"(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)\"[^\"\n]+\"(?!\w)|`[^`\n]+`"
    r"|[-+]?\d+(?:[.,:-]\d+)*(?!\w)|\w+(?:[./_-]\w+)*|[^\w\s]"
)
VALUE = re.compile(r"['\"`].+['\"`]|[-+]?\d[\d.,:-]*")
# A word that ends in a number, and what links the items of a list.
MARKED, LINKS = re.compile(r"`?[A-Za-z]+(\d+)`?"), frozenset(("and", "or", ","))
# Share of the words of the longest prompt that a template has.
ALIKE = 0.6
Value = str | int | float | list[str]
Slots = list[list[str]]


class Template(NamedTuple):
    """The words that prompts share, and the slots that the values of a call stand in.

    Attributes:
        name: of the function.
        words: that all prompts have in this order, none of them a value.
        widths: of each slot: how many tokens prompts have in it, and words among these, at most.
        places: parameter -> slot, number of the value in it, and a value like which it is read.
    """

    name: str
    words: tuple[str, ...]
    widths: tuple[tuple[int, int], ...]
    places: Mapping[str, tuple[int, int, Value]]

    def call(self, prompt: str) -> str | None:
        """The call for a prompt; None where it is of another template, or gives no such value."""
        tokens = tokens_of(prompt)
        slots = slots_of(self.words, tokens)
        widths = [] if slots is None else list(map(width, slots))
        if slots is None or any(
            tokens > most and (not most or words > 2 * usual)
            for (tokens, words), (most, usual) in zip(widths, self.widths, strict=True)
        ):
            return None  # a clause more is another rule
        values: list[str] = []
        for name, (slot, part, like) in self.places.items():
            if (value := read(parts_of(slots[slot]), part, like)) is None:
                return None
            values.append(f"{name}={value!r}")
        return f"{self.name}({', '.join(values)})"


class Matcher:
    """Finds the function for a prompt, and the values of its call.

    Attributes:
        functions: of the skill, those that have a template among the train prompts.
        unmatched: names of its other functions; no program calls them.
    """

    def __init__(self, skill: Skill, train: Mapping[str, str]) -> None:
        """Find the template of every function, and the slots of its parameters.

        Args:
            skill: with a module of functions, or without: then there are none.
            train: task id -> prompt, of the tasks that the functions were made from.

        Raises:
            BadInput: if the module of the skill cannot be parsed.
        """
        rows = {
            definition.name: template_of(
                definition.name, [train[task] for task in proven if task in train],
                calls(skill.body, definition),
            )
            for definition, proven in definitions(skill)
        }  # fmt: skip
        self.functions = [template for template in rows.values() if template]
        self.unmatched = tuple(name for name, template in rows.items() if not template)

    def program(self, prompt: str) -> str | None:
        """Return the program that calls the function of a prompt with the values of its slots.

        Returns:
            None where the prompt has the template of no function, or of several, or a slot gives no
            value.
        """
        calls = [(f.name, call) for f in self.functions if (call := f.call(prompt))]
        if len(calls) != 1:
            return None
        return f"from {MODULE} import {calls[0][0]}\n\n{calls[0][1]}\n"


def tokens_of(prompt: str) -> list[str]:
    """The words, values and marks of a prompt."""
    return [match[0] for match in TOKEN.finditer(prompt)]


def template_of(
    name: str, prompts: Sequence[str], examples: Sequence[Mapping[str, Value]]
) -> Template | None:
    """Return the template of prompts with the places of the values that examples show.

    Args:
        name: of the function.
        prompts: of the tasks that prove it.
        shown: arguments of the calls in its worked examples.

    Returns:
        None where the prompts share too few words, or do not state the values.
    """
    rows = [tokens_of(prompt) for prompt in prompts]
    words = (
        [word for word in rows[0] if not VALUE.fullmatch(word) and word not in LINKS]
        if rows
        else []
    )
    for row in rows[1:]:
        blocks = SequenceMatcher(None, words, row, autojunk=False).get_matching_blocks()
        words = [word for start, _, size in blocks for word in words[start : start + size]]
    rows_of_slots = [slots for row in rows if (slots := slots_of(words, row)) is not None]
    longest = max((sum(not VALUE.fullmatch(t) for t in row) for row in rows), default=0)
    if not words or len(rows_of_slots) < len(rows) or len(words) < ALIKE * longest:
        return None
    slots_of_parameter: dict[str, tuple[int, int, Value]] = {}
    for parameter, like in next(iter(examples), dict[str, Value]()).items():
        values = [row[parameter] for row in examples if parameter in row]
        fitting = (
            (slot, part)
            for slot in range(len(words) + 1)
            for part in range(max(len(parts_of(slots[slot])) for slots in rows_of_slots))
            if all(
                any(read(parts_of(s[slot]), part, value) == value for s in rows_of_slots)
                for value in values
            )
        )
        if (slot_and_part := next(fitting, None)) is None:
            return None
        slots_of_parameter[parameter] = (*slot_and_part, like)
    widths = [list(map(width, slots)) for slots in rows_of_slots]
    most = tuple(
        (max(t for t, _ in row), max(w for _, w in row)) for row in zip(*widths, strict=True)
    )
    return Template(name, tuple(words), most, slots_of_parameter)


def slots_of(words: Sequence[str], tokens: Sequence[str]) -> Slots | None:
    """What stands before, between and behind words in a prompt; None if it lacks one of them."""
    blocks = SequenceMatcher(None, words, tokens, autojunk=False).get_matching_blocks()
    positions = [start + step for _, start, size in blocks for step in range(size)]
    if len(positions) < len(words):
        return None
    edges = [-1, *positions, len(tokens)]
    return [list(tokens[a + 1 : b]) for a, b in pairwise(edges)]


def width(slot: Sequence[str]) -> tuple[int, int]:
    """How many tokens a slot has, and how many of them are no values."""
    return len(slot), sum(not VALUE.fullmatch(token) and token not in LINKS for token in slot)


def parts_of(slot: Iterable[str]) -> list[str]:
    """Quoted texts, numbers and words of a slot, without quotes and what links them."""
    parts = [
        match[1] if (match := MARKED.fullmatch(token)) else token
        for token in slot
        if token not in LINKS
    ]
    return [
        p[1:-1] if len(p) > 2 and p[0] in "'\"`" else p
        for p in parts
        if re.search(r"\w|^['\"`]", p)
    ]


def read(parts: Sequence[str], part: int, like: Value) -> Value | None:
    """A value of a slot as another value is held; None if it is of another sort."""
    if isinstance(like, list):
        return list(parts) if parts and part == 0 else None
    if part >= len(parts):
        return None
    if isinstance(like, str):
        return parts[part]
    try:
        number = float(parts[part])
    except ValueError:
        return None
    return number if isinstance(like, float) else int(number) if number.is_integer() else None


def definitions(skill: Skill) -> Iterator[tuple[ast.FunctionDef, tuple[str, ...]]]:
    """Yield the functions of a skill's module, each with the ids of the tasks that prove it.

    Raises:
        BadInput: if the module cannot be parsed.
    """
    source = skill.files.get(FILE, b"").decode(errors="replace")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise BadInput(f"{FILE} of skill {skill.name!r} is no Python module: {error}") from error
    lines = [*source.split("\n"), ""]
    for node in tree.body:
        end = node.end_lineno or 0
        if isinstance(node, ast.FunctionDef) and (match := PROVEN.fullmatch(lines[end])):
            yield node, tuple(match[1].split(", "))


def calls(body: str, definition: ast.FunctionDef) -> list[dict[str, Value]]:
    """Return the arguments of a function in worked examples, a row a call."""
    names = [argument.arg for argument in definition.args.args]
    rows: list[dict[str, Value]] = []
    for line in body.splitlines():
        if not line.startswith(f"{definition.name}("):
            continue
        try:
            call = ast.parse(line, mode="eval").body
            assert isinstance(call, ast.Call)
            row = {
                name: ast.literal_eval(value) for name, value in zip(names, call.args, strict=False)
            }
            rows.append(
                row | {key.arg: ast.literal_eval(key.value) for key in call.keywords if key.arg}
            )
        except (SyntaxError, ValueError, AssertionError):
            continue
    return rows

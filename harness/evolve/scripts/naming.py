"""Names of functions, and of their parameters: what the model that calls them would call them.

Shown functions by names of ours, Qwen2.5-Coder called others that it made up: of 18 tasks the 0.5 B
model named the function of none. By the names that it gives their tasks itself, it called 6, and
the 1.5 B model 14. So the tasks are shown to it, and what it writes most often is the name.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import count
from pathlib import Path

from harness.core import Usage, render
from harness.evolve.scripts.forms import UNIT_NAMES, mentions
from harness.evolve.scripts.templates import Argument, Hole, around
from harness.models import Message, Model, Sampling

# One exchange in front, as a small model needs it.
EXCHANGE: tuple[Message, ...] = (
    {
        "role": "user",
        "content": "Write a list with one object for each sensor, sorted by name: `sensor`, and "
        "`mean`, the mean of its values, rounded to 2 decimals. Leave out lines whose value is "
        "null.",
    },
    {"role": "assistant", "content": "from helpers import mean_by_sensor"},
)
# A small model may repeat the name of the exchange for a task that has none of its words.
REPEATED = frozenset(("mean", "sensor"))
# What the module of the functions is called, and what else it defines.
MODULE_NAMES = frozenset(
    ("helpers", "functools", "for_files", "checked", "FILES", "ANY", "re", "os", "inspect")
)
NAMED = re.compile(r"\bfrom\s+helpers\s+import\s+([a-z][a-z_0-9]{2,40})\b")
# Tasks of a kind that a model is shown, tokens of its reply, and words of a name of ours; tasks in
# whose prompts a word stands beside the value that it names; words of a docstring.
SHOWN, REPLY, WORDS, LEAST, SHARED = 3, 24, 3, 2, 6
# Words that say nothing of what comes after them.
_COMMON = (
    "a an the of in on at to for from with by as is are was be than that this it its and or not if"
    " least most more less under over below above where which who each every all any into per what"
    " how does do should you your only me my i we our us please give want need have has their them"
    " take get list show make could would need tell out up so then after before between one but"
    " here there whose when"
)
COMMON = frozenset(_COMMON.split())
Kinds = Sequence[Sequence[str]]
"""The prompts of the tasks of every kind."""


async def names(kinds: Kinds, values: Kinds, user: Model | None) -> tuple[list[str], Usage]:
    """A name for the function of each kind, all different; and what asking for them took.

    Args:
        every: the kinds.
        values: texts that their tasks chose, which are no part of a name of ours.
        user: the model that will call the functions; None for words of the prompts.
    """
    system: Message = {"role": "system", "content": render("function_name")}
    sampling = Sampling(temperature=0.0, max_tokens=REPLY)
    by_words, selected, usage = words_of(kinds, values), list[str](), Usage()
    if user is None:
        return by_words, usage
    for prompts, name in zip(kinds, by_words, strict=True):
        votes = Counter[str]()
        for prompt in prompts[:SHOWN]:
            message: Message = {"role": "user", "content": prompt}
            reply = await user.complete([system, *EXCHANGE, message], sampling=sampling)
            usage += reply.usage
            match = NAMED.search(reply.text)
            if match and not any(
                word in match[1] and word not in prompt.lower() for word in REPEATED
            ):
                votes[match[1]] += 1
        texts = [usable(text) for text, _ in votes.most_common()]
        texts += [f"{text}_{word}" for text in texts[:1] for word in name.split("_")]
        reserved = {*selected, *by_words} - {name}
        selected.append(next((text for text in texts if text not in reserved), name))
    return selected, usage


def usable(name: str) -> str:
    """A name that hides nothing of the language or of the module, which every function sees."""
    hides = keyword.iskeyword(name) or name in dir(builtins) or name in MODULE_NAMES
    return f"{name}_task" if hides else name


def words_of(prompts_of_kinds: Kinds, values: Kinds) -> list[str]:
    """A name for each kind: words that most of its prompts have, and few prompts of others."""
    kinds = [[plain_words(prompt) for prompt in prompts] for prompts in prompts_of_kinds]
    shares = [
        {word: uses / len(kind) for word, uses in Counter(w for p in kind for w in set(p)).items()}
        for kind in kinds
    ]
    uses_of, texts = Counter[str](), list[str]()
    for prompts, share, texts_of_kind in zip(kinds, shares, values, strict=True):
        rivals = [rival for rival in shares if rival is not share]
        excess = {
            word: share[word] - max((rival.get(word, 0) for rival in rivals), default=0)
            for word in prompts[0] if word not in COMMON | {*plain_words(" ".join(texts_of_kind))}
        }  # fmt: skip
        # Of equals those that the first prompt says first.
        best = sorted(excess, key=excess.__getitem__, reverse=True)[:WORDS]
        text = usable("_".join(sorted(best, key=prompts[0].index)) or "solve")
        uses_of[text] += 1
        texts.append(text if uses_of[text] == 1 else f"{text}_{uses_of[text]}")
    return texts


def plain_words(text: str) -> list[str]:
    """Words of a text in lower case; no numbers, no names of files, none of one or two letters."""
    return re.findall(r"[a-z]{3,}", re.sub(r"\S*\d\S*|\w+\.\w+", " ", text).lower())


def shared_words(prompts: Sequence[str], values: str) -> list[str]:
    """Words that at least half of the prompts of a kind have, and no value has; most first."""
    uses = Counter(word for prompt in prompts for word in dict.fromkeys(plain_words(prompt)))
    usual = [word for word, count in uses.most_common() if count >= max(2, len(prompts) / 2)]
    return [word for word in usual if word not in COMMON | {*plain_words(values)}][:SHARED]


def parameter_name(
    hole: Hole, values: Mapping[str, Argument], tree: ast.AST, prompts: Mapping[str, str],
    reserved: Set[str], choices: Set[str],
) -> str:  # fmt: skip
    """A free name for a parameter: of its form, or of what the program or prompts say of it."""
    forms = list(names_by_form(hole))
    best = [*forms, *names_by_program(hole, tree), *names_by_prompts(values, prompts, choices)]
    best += [f"given_{name}" for name in forms]
    best += [{"list": "names", "number": "number"}.get(hole.sort, "text")]
    free = [name for name in best if name not in reserved and not keyword.iskeyword(name)]
    texts = (f"{best[0]}_{number}" for number in count(2))
    return free[0] if free else next(text for text in texts if text not in reserved)


def names_by_form(hole: Hole) -> Iterator[str]:
    forms = {form for form, _ in hole.ways}
    if hole.sort == "file":
        yield "file"
        yield re.sub(r"\W+", "_", f"{Path(str(hole.value)).stem.lower()}_file").strip("_0123456789")
    if hole.sort == "percent":
        yield "percent"
    if hole.sort == "date" or (hole.sort == "text" and "date" in forms):
        yield "day"
    if hole.sort == "text":
        yield from sorted(forms & {"month", "time"})
        yield from ["version"] * bool(re.fullmatch(r"\d+(\.\d+){2,3}", str(hole.value)))
    if hole.sort == "number":
        yield from sorted(UNIT_NAMES[reading] for _, reading in hole.ways if reading in UNIT_NAMES)


def names_by_program(hole: Hole, tree: ast.AST) -> Iterator[str]:
    """How a program calls what it compares with a value, or the variable that it puts it in."""
    for node in ast.walk(tree):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if not any(isinstance(side, ast.Name) and side.id == hole.name for side in sides):
            continue
        order = isinstance(node, ast.Compare) and not isinstance(
            node.ops[0], ast.Eq | ast.NotEq | ast.In
        )
        for side in map(unconverted, sides):
            match side:
                case (
                    ast.Subscript(slice=ast.Constant(value=str(text)))
                    | ast.Call(args=[ast.Constant(value=str(text)), *_])
                    | ast.Name(id=text)
                    | ast.Attribute(attr=text)
                ) if text != hole.name:
                    name = re.sub(r"\W+", "_", text.lower()).strip("_")
                    if re.fullmatch(r"[a-z]\w+", name):
                        yield from (f"{name}_limit",) if order else (name, f"wanted_{name}")
                case _:
                    pass


def unconverted(node: ast.expr) -> ast.expr:
    """What a program makes a number of: `row["grams"]` of `int(row["grams"])`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return node.args[0]
    return node


def names_by_prompts(
    values: Mapping[str, Argument], prompts: Mapping[str, str], choices: Set[str]
) -> Iterator[str]:
    """The word that stands most often beside a value, and that no task chose."""
    words = Counter[str]()
    for task, prompt in prompts.items():
        near = dict.fromkeys(
            word for mention in mentions(prompt) if values[task] in mention.readings.values()
            for word in around(prompt, mention)
        )  # fmt: skip
        words.update(w for w in near if re.fullmatch(r"[a-z]{3,}", w) and w not in COMMON | choices)
    yield from (word for word, times in words.most_common(1) if times >= LEAST)

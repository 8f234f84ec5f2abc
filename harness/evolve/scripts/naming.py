"""Names of functions: what the model that will call them would call them.

Shown functions by names of ours, Qwen2.5-Coder called others that it made up: of 18 tasks the 0.5 B
model named the function of none. By the names that it gives their tasks itself, it called 6, and
the 1.5 B model 14. So the tasks are shown to it, and what it writes most often is the name.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from harness.core import Usage, render
from harness.evolve.scripts.functions import COMMON
from harness.evolve.scripts.prompts import Kind
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
MODULE_NAMES = frozenset(("helpers", "functools", "for_files"))
NAMED = re.compile(r"\bfrom\s+helpers\s+import\s+([a-z][a-z_0-9]{2,40})\b")
# Tasks of a kind that a model is shown, tokens of its reply, and words of a name of ours.
SHOWN, REPLY, WORDS = 3, 24, 3


async def names(
    every: Sequence[Kind], prompts: Mapping[str, str], user: Model | None
) -> tuple[list[str], Usage]:
    """A name for the function of each kind, all different; and what asking for them took.

    Args:
        every: the kinds.
        prompts: task id -> prompt.
        user: the model that will call the functions; None for words of the prompts.
    """
    system: Message = {"role": "system", "content": render("function_name")}
    sampling = Sampling(temperature=0.0, max_tokens=REPLY)
    ours, chosen, usage = words_of(every), list[str](), Usage()
    if user is None:
        return ours, usage
    for kind, name in zip(every, ours, strict=True):
        theirs = Counter[str]()
        for task in kind.tasks[:SHOWN]:
            message: Message = {"role": "user", "content": prompts[task]}
            reply = await user.complete([system, *EXCHANGE, message], sampling=sampling)
            usage += reply.usage
            match, prompt = NAMED.search(reply.text), prompts[task].lower()
            if match and not any(word in match[1] and word not in prompt for word in REPEATED):
                theirs[match[1]] += 1
        texts = [usable(text) for text, _ in theirs.most_common()]
        texts += [f"{text}_{word}" for text in texts[:1] for word in own_words(kind, every)]
        taken = {*chosen, *ours} - {name}
        chosen.append(next((text for text in texts if text not in taken), name))
    return chosen, usage


def usable(name: str) -> str:
    """A name that hides nothing of the language or of the module, which every function sees."""
    reserved = keyword.iskeyword(name) or name in dir(builtins) or name in MODULE_NAMES
    return f"{name}_task" if reserved else name


def own_words(kind: Kind, every: Sequence[Kind]) -> list[str]:
    """The words of the rule that sets a kind apart from others that are otherwise alike."""

    def words(kind: Kind) -> list[str]:
        return re.findall(r"[a-z]{3,}", " ".join(kind.clauses).lower())

    elsewhere = {word for each in every if each is not kind for word in words(each)}
    return [word for word in words(kind) if word not in elsewhere and word not in COMMON]


def words_of(every: Sequence[Kind]) -> list[str]:
    """A name for each kind: the first words of its prompts that few other kinds have."""
    uses = Counter(word for kind in every for word in {word.lower() for word in kind.words})
    few = max(1, len(every) // 4)
    taken, texts = Counter[str](), list[str]()
    for kind in every:
        words = list(dict.fromkeys(word for word in map(str.lower, kind.words)))
        words = [word for word in words if word not in COMMON]
        telling = [word for word in words if uses[word] <= few] or words
        text = usable("_".join(telling[:WORDS]) or "solve")
        taken[text] += 1
        texts.append(text if taken[text] == 1 else f"{text}_{taken[text]}")
    return texts

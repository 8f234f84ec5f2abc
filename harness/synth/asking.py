"""Asking models of the factory: a reply or no verdict, and whether two answers are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.core import BadInput, Refused, Unreachable, plain, render
from harness.models import Message, Model, SampleLimitReached, Sampling
from harness.synth.types import Materials, Proposal, Unjudged
from harness.tasks.answers import normalise

_MARK = re.compile(r"\[\[(YES|NO)\]\]")
TOLERANCE = 0.0015
"""Relative, of numbers (SPELL's verifier: 0.15 %)."""
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


async def say(
    model: Model, messages: Sequence[Message] | str, *, seed: int, temperature: float, tokens: int
) -> str:
    """The text of a reply to messages, or to a prompt alone, without thoughts.

    Raises:
        Unjudged: if the model cannot be asked.
        LimitReached: if the budget cannot hold the call.
    """
    rows = [{"role": "user", "content": messages}] if isinstance(messages, str) else [*messages]
    sampling = Sampling(temperature=temperature, max_tokens=tokens, seed=seed)
    try:
        reply = await model.complete(rows, sampling=sampling)
    except (Unreachable, BadInput, Refused, SampleLimitReached) as error:
        raise Unjudged(f"{type(error).__name__}: {error}") from error
    return reply.text.strip()


def majority(votes: Sequence[bool | None]) -> bool | None:
    """Return the majority of the votes that count; a tie is no; None without a vote.

    Lost votes (None) are left out. A tie is decided always in the same way, and against.
    """
    counted = [vote for vote in votes if vote is not None]
    return sum(counted) * 2 > len(counted) if counted else None


def same_answer(gold: str, answer: str) -> bool:
    """The rule: the same words; the gold's words within the answer; a number within 0.15 %.

    A gold that is a number is met by an answer with one number in it.

    SPELL scores by sub-exact match, which a long answer satisfies by naming much: of an answer with
    more than twice the words of the gold (and eight more) only an exact match counts.
    """
    gold, answer = plain(gold), plain(answer)
    words, gold_words = normalise(answer), normalise(gold)
    if words == gold_words:
        return True
    if (number := _NUMBER.fullmatch(gold.strip(" %$€£."))) is not None:
        value = float(number[0].replace(",", ""))
        values = [float(text.replace(",", "")) for text in _NUMBER.findall(answer)]
        return len(values) == 1 and abs(values[0] - value) <= TOLERANCE * abs(value)
    brief = len(words.split()) <= 2 * len(gold_words.split()) + 8
    return brief and f" {gold_words} " in f" {words} "


async def verdict(
    model: Model, question: str, gold: str, answer: str, *, votes: int, seed: int
) -> bool | None:
    """Compare an answer with the gold by the rule, or else by the majority of a model's votes.

    The hybrid of QwenLong-L1 (section 23) and SPELL (section 19): max(rule, majority). None if the
    rule says no and no vote can be read.

    Raises:
        Unjudged: if the model cannot be asked.
    """
    if same_answer(gold, answer):
        return True
    if not answer.strip():
        return False
    prompt = render("synth_compare", question=question, gold=gold, answer=answer)
    return await vote(model, prompt, votes=votes, seed=seed)


async def vote(model: Model, prompt: str, *, votes: int, seed: int) -> bool | None:
    """The majority of a model's votes; a reply with both marks, or none, is a lost vote.

    Raises:
        Unjudged: if the model cannot be asked.
    """
    replies = [
        await say(model, prompt, seed=seed + number, temperature=0.7 if number else 0, tokens=200)
        for number in range(votes)
    ]
    marks = [set(_MARK.findall(reply)) for reply in replies]
    return majority([mark == {"YES"} if len(mark) == 1 else None for mark in marks])


async def is_right(materials: Materials, proposal: Proposal, answer: str) -> bool | None:
    """Compare an answer with the golds of a proposal; None if no vote can be read.

    Raises:
        Unjudged: if the checker cannot be asked.
    """
    verdicts = [
        await verdict(
            materials.checker, proposal.question, gold, answer,
            votes=materials.votes, seed=materials.seed,
        )
        for gold in proposal.answers
    ]  # fmt: skip
    return True if True in verdicts else None if None in verdicts else False

"""Rubrics that others can judge by (Proxy-GRM, arXiv 2603.16600).

A rubric is good if a judge who sees the answers and the rubric alone, without the evaluation or the
verdict that came with it, reaches the verdict. What a proxy that was not reached says is nothing:
the official code gives it 0.0 and a wrong one -1.0, so that an outage pays.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from examples.judges.refine import LabelledPair
from harness.core import Usage, Value
from harness.judge.direct import DirectJudge
from harness.judge.types import Question
from harness.models import Model

TAGS = ("rubric", "eval", "answer")
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_BEYOND = re.compile(r"</?\s*(?:eval|answer)\b.*", re.DOTALL | re.IGNORECASE)
LEAST_VALID = 0.5
"""Share of a rubric's verdicts that must be valid."""


def accuracy_reward(reply: str, expected: str) -> float:
    """+1 if the answer of a reply is that of `expected`, exactly `1` or `2`; else -1.

    An answer such as `12` is none.
    """
    found, gold = _ANSWER.findall(reply), _ANSWER.findall(expected)
    answer = found[0].strip() if len(found) == 1 else ""
    return 1.0 if answer in ("1", "2") and [answer] == [text.strip() for text in gold] else -1.0


def well_formed(reply: str) -> bool:
    """Return whether a reply has exactly one rubric, evaluation and answer, in this order."""
    marks = [mark for tag in TAGS for mark in (f"<{tag}>", f"</{tag}>")]
    places = [reply.find(mark) for mark in marks]
    return all(reply.count(mark) == 1 for mark in marks) and places == sorted(places)


def rubric_of(reply: str) -> str:
    """The rubric alone: what stands before `</rubric>`, or in all of a text without that tag.

    It ends where an evaluation or an answer begins, in whatever spelling of these tags.
    """
    text = reply.partition("</rubric>")[0].rpartition("<rubric>")[2]
    return _BEYOND.sub("", text).strip()


def reward(accuracy: float, proxy: float | None, formed: bool) -> float | None:
    """accuracy + proxy + 0.5 for the form; None where the proxy was not reached."""
    return None if proxy is None else accuracy + proxy + 0.5 * formed


class Transfer(Value):
    """Transfer of a rubric to other judges.

    Attributes:
        accuracy: share of the valid verdicts of proxies that are as labelled; a tie that is not
            labelled so is half. None if too few are valid.
        valid: verdicts that counted.
        invalid: verdicts that did not.
        agreement: share of them whose two orders agreed.
        kept: whether there is a rubric, and it reached the threshold.
        usage: of all calls.
    """

    accuracy: float | None
    valid: int
    invalid: int
    agreement: float | None
    kept: bool
    usage: Usage


async def transfer(
    rubric: str, pairs: Sequence[LabelledPair], proxies: Sequence[Model], threshold: float = 0.75
) -> Transfer:
    """Let proxy judges apply a rubric to labelled pairs, each in both orders.

    Args:
        rubric: criteria; a whole reply of a generative judge is cut down to its rubric.
        pairs: that the rubric was not made from.
        proxies: cheap judges.
        threshold: least accuracy of a rubric that is kept.
    """
    text = rubric_of(rubric)
    verdicts = await asyncio.gather(
        *(
            DirectJudge(proxy).compare(
                Question(prompt=pair.question.prompt, rubric=text), pair.a, pair.b
            )
            for proxy in proxies
            for pair in pairs
        )
    )
    labels = [pair.label for _ in proxies for pair in pairs]
    points = [
        0.5 if verdict.preference == "tie" != label else float(verdict.preference == label)
        for verdict, label in zip(verdicts, labels, strict=True)
        if verdict.preference is not None
    ]
    agreements = [verdict.agreement for verdict in verdicts if verdict.agreement is not None]
    enough = bool(points) and len(points) >= LEAST_VALID * len(verdicts)
    accuracy = sum(points) / len(points) if enough else None
    return Transfer(
        accuracy=accuracy,
        valid=len(points),
        invalid=len(verdicts) - len(points),
        agreement=sum(agreements) / len(agreements) if agreements else None,
        # Without criteria of its own a question has a general one, and a good proxy is right by it.
        kept=Question(prompt="", rubric=text).criteria != Question(prompt="").criteria
        and accuracy is not None
        and accuracy >= threshold,
        usage=sum((verdict.usage for verdict in verdicts), Usage()),
    )

"""Answers that are looked for in a reply: RULER, yes and no, LongBench's counts and classes."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CONTROL = re.compile(r"[\x00-\x1f]")
_YES_NO = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)


def match_all(reply: str, answers: Sequence[str]) -> float:
    """Share of the answers that stand in the reply, in any case (RULER, string_match_all)."""
    text = _CONTROL.sub("\n", reply).lower()
    return sum(answer.lower() in text for answer in answers) / len(answers)


def match_part(reply: str, answers: Sequence[str]) -> float:
    """1 if any of the answers stands in the reply, in any case (RULER, string_match_part)."""
    text = _CONTROL.sub("\n", reply).lower()
    return float(any(answer.lower() in text for answer in answers))


def yes_or_no(reply: str) -> bool | None:
    """What a reply says first of yes, no, true and false; None where it says none of them."""
    match = _YES_NO.search(reply)
    return None if match is None else match[1].lower() in ("yes", "true")


def match_numbers(reply: str, answer: str) -> float:
    """Share of the numbers in the reply that are the answer's (LongBench, count and retrieval)."""
    wanted = re.findall(r"\d+", answer)
    said = re.findall(r"\d+", reply)
    return said.count(wanted[0]) / len(said) if said and wanted else 0.0


def match_classes(reply: str, answer: str, classes: Sequence[str]) -> float:
    """1 over the number of classes that a reply names, if the right one is among them.

    Classes that are a part of the right class's name do not count (LongBench, classification).
    """
    named = [one for one in classes if one in reply]
    kept = [one for one in named if one == answer or one not in answer]
    return 1 / len(kept) if answer in kept else 0.0

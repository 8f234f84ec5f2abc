"""Pseudo-questions from plain sentences: unsupervised QA by cloze (Lewis et al. 2019, 1906.04980).

A rule picks an answer in a sentence (date, number, name, cause, noun phrase), a fitting question
phrase takes its place and moves to the front, and the words around it are thinned out, reworded
and shuffled, so that the question cannot be found by its words alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.compress.training.wordlists import FUNCTION_WORDS, PLACES, REWORDINGS

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_NAME = r"[A-Z][\w'’.-]+(?:\s(?:of|the|de|and|van|von)?\s?[A-Z][\w'’.-]+)*"  # noqa: RUF001
_RULES: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    (
        "date",
        re.compile(rf"\b(?:\d{{1,2}} {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:, \d{{4}})?)"),
        ("when", "when", "what date", "on what day"),
    ),
    ("year", re.compile(r"\b(?:1[5-9]\d\d|20[0-4]\d)\b"), ("when", "what year", "in what year")),
    ("money", re.compile(r"[$€£]\s?\d[\d.,]*(?: (?:million|billion))?"), ("how much", "what sum")),
    ("percent", re.compile(r"\b\d[\d.,]*\s?(?:%|percent\b)"), ("what percentage", "how much")),
    (
        "number",
        re.compile(r"\b(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twelve)\b(?= [a-z])"),
        ("how many", "how many", "what number of"),
    ),
    ("place", re.compile(rf"(?<=\bin )(?:the )?{_NAME}"), ("where", "where", "which place")),
    ("agent", re.compile(rf"(?<=\bby )(?:the )?{_NAME}"), ("who", "by whom", "which person")),
    (
        "cause",
        re.compile(r"\b(?:because|due to|owing to|as a result of)\b[^,.;]+"),
        ("why", "what is the reason", "what caused it that"),
    ),
    ("code", re.compile(r"\b(?=\w*[A-Z])(?=\w*[\dA-Z]\b)[A-Z][\w-]*[A-Z\d]\b"), ("what", "which")),
    ("name", re.compile(rf"(?<=[a-z,] ){_NAME}"), ("who", "what", "which", "who", "what is the name of the one")),
    (
        "phrase",
        re.compile(r"\b(?:the|a|an|its|their) (?:[a-z-]+ ){1,3}(?=of|in|is|was|for|that|and|to|[,.;])"),
        ("what", "what", "which", "what kind of thing"),
    ),
)  # fmt: skip
_DEFINED = re.compile(
    rf"^(?:The |A |An )?(?P<who>{_NAME}|[A-Za-z-]+(?: [a-z-]+)?) (?:is|was|are|were) "
    r"(?:the|a|an)\b"
)
_CLAUSE = re.compile(r"[,;:]|\(|\)| – | -- ")


@dataclass(frozen=True)
class Cloze:
    """A question made of a sentence, and the part of the sentence that answers it."""

    question: str
    answer: str
    kind: str


def make_cloze(sentence: str, rng: random.Random) -> Cloze | None:
    """A pseudo-question that `sentence` answers; None if no rule finds an answer in it."""
    defined = _DEFINED.match(sentence)
    if defined and rng.random() < 0.35:
        who = defined["who"]
        asked = rng.choice(("what is {}", "who is {}", "define {}", "what does {} mean", "{}"))
        return Cloze(_styled(asked.format(who), rng), who, "definition")
    found = [
        (kind, match, phrases)
        for kind, pattern, phrases in _RULES
        for match in pattern.finditer(sentence)
        if match.end() - match.start() < 0.5 * len(sentence)
    ]
    if not found:
        return None
    kinds = sorted({kind for kind, _, _ in found})
    kind = rng.choice(kinds)
    _, match, phrases = rng.choice([one for one in found if one[0] == kind])
    question = _asked(sentence, match, _question_phrase(kind, match.group(), phrases, rng), rng)
    return Cloze(question, match.group(), kind) if question else None


def _question_phrase(kind: str, answer: str, phrases: tuple[str, ...], rng: random.Random) -> str:
    if kind in ("place", "name") and answer.split()[-1].lower() in PLACES:
        return rng.choice(("where", "which country", "which city"))
    return rng.choice(phrases)


def _asked(sentence: str, match: re.Match[str], phrase: str, rng: random.Random) -> str:
    left, right = sentence[: match.start()], sentence[match.end() :]
    if rng.random() < 0.7:
        left, right = _CLAUSE.split(left)[-1], _CLAUSE.split(right)[0]
        if len((left + right).split()) < 4:
            left, right = sentence[: match.start()], sentence[match.end() :]
    before, after = _words(left)[-14:], _words(right)[:14]
    rest = after + before if rng.random() < 0.5 else before + after
    thin = rng.choice((0.0, 0.1, 0.25, 0.4))
    style = rng.random()
    kept = [word for word in rest if _stays(word, thin, style, rng)]
    if rng.random() < 0.25:
        kept = _jumbled(kept, rng)
    kept = [_reworded(word, rng) for word in kept]
    content = [word for word in kept if word.lower() not in FUNCTION_WORDS]
    if len(content) < 2:
        return ""
    front = "" if style > 0.85 else f"{phrase} "
    return _styled(front + " ".join(kept), rng)


def _stays(word: str, thin: float, style: float, rng: random.Random) -> bool:
    if word.lower() in FUNCTION_WORDS:
        return style < 0.6 or (style < 0.8 and rng.random() < 0.4)
    return rng.random() >= thin


def _jumbled(words: list[str], rng: random.Random) -> list[str]:
    """Words moved by at most three places."""
    places = [(at + rng.random() * 3, word) for at, word in enumerate(words)]
    return [word for _, word in sorted(places)]


def _reworded(word: str, rng: random.Random) -> str:
    lower = word.lower()
    if lower in REWORDINGS and rng.random() < 0.6:
        return rng.choice(REWORDINGS[lower])
    if word.islower() and len(word) > 5 and rng.random() < 0.12:
        for ending, others in _ENDINGS.items():
            if word.endswith(ending):
                return word[: -len(ending)] + rng.choice(others)
    return word


_ENDINGS = {"ing": ("e", "ed"), "ed": ("e", "ing"), "ies": ("y",), "s": ("",), "tion": ("te",)}


def _words(text: str) -> list[str]:
    return [word for word in (raw.strip("\"'“”‘’()[]{}.,;:!?") for raw in text.split()) if word]  # noqa: RUF001


_STYLES: tuple[Callable[[str], str], ...] = (
    str.lower,
    str.lower,
    lambda text: text[:1].upper() + text[1:] + "?",
    lambda text: text[:1].upper() + text[1:] + "?",
    lambda text: text + "?",
)


def _styled(text: str, rng: random.Random) -> str:
    return rng.choice(_STYLES)(" ".join(text.split()))

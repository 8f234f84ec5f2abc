"""Questions made of sentences without a model: cloze translation (Lewis et al. 2019), by rules."""

from __future__ import annotations

import random
import re

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_KINDS: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("date", re.compile(
        rf"(?:\d{{1,2}} )?(?:{_MONTH})(?: \d{{1,2}},?)?(?: \d{{4}})?|\b[12]\d{{3}}\b"),
     ("when", "in what year", "what date", "which year")),
    ("amount", re.compile(r"[$€£]\s?\d[\d,.]*(?: (?:million|billion|thousand))?|\b\d[\d,.]*\s?%"),
     ("how much", "what share", "what amount")),
    ("number", re.compile(r"\b\d[\d,.]*\b"), ("how many", "how much", "what number of")),
    ("name", re.compile(r"(?<=[\w,;] )(?:[A-Z][\w'-]+(?: (?:of|the|de|von|van))? ?){1,4}(?<! )"),
     ("who", "which", "what", "where", "what is the name of")),
)  # fmt: skip
_SMALL = frozenset(
    [
        *("a", "an", "the", "of", "in", "on", "at", "to", "for", "by"),
        *("with", "from", "as", "and", "or", "is", "are", "was", "were", "be"),
        *("been", "has", "have", "had", "that", "this", "it", "its", "which", "who"),
    ]
)
_LEAD = ("", "", "", "tell me ", "please find ", "i want to know ", "question: ")


def cloze_question(sentence: str, rng: random.Random) -> tuple[str, str] | None:
    """(a question that the sentence answers, the answer); None if nothing can be asked for.

    An entity, number or date is taken out for a question word, which moves to the front; words
    around it are dropped, shuffled or cut to what carries meaning, so that the question shares
    fewer words with its sentence.
    """
    if not 5 <= len(sentence.split()) <= 60:
        return None
    found = [
        (match.span(), words)
        for _, pattern, words in _KINDS
        for match in pattern.finditer(sentence)
    ]
    if not found:
        return None
    (start, end), words = rng.choice(found)
    answer = sentence[start:end].strip(" ,.;")
    before, after = _words(sentence[:start]), _words(sentence[end:])
    body = _noised(_cut(before, after, rng), rng)
    if len(body) < 2:
        return None
    question = f"{rng.choice(_LEAD)}{rng.choice(words)} {' '.join(body)}"
    question = question.casefold() if rng.random() < 0.4 else question[0].upper() + question[1:]
    return question + rng.choice(("?", "?", "")), answer


def _words(text: str) -> list[str]:
    return re.findall(r"[\w'$%-]+", text)


def _cut(before: list[str], after: list[str], rng: random.Random) -> list[str]:
    """What stands around the answer; of a long sentence only the nearer part."""
    reach = rng.choice((4, 6, 8, 12, 20))
    near, rest = before[-reach:], after[:reach]
    return [*rest, *near] if rng.random() < 0.5 else [*near, *rest]


def _noised(words: list[str], rng: random.Random) -> list[str]:
    """Word dropout; sometimes without small words; sometimes locally shuffled."""
    if rng.random() < 0.5:
        words = [word for word in words if word.casefold() not in _SMALL]
    drop = rng.choice((0.0, 0.1, 0.25, 0.4))
    kept = [word for word in words if rng.random() >= drop] or words
    if rng.random() < 0.4:
        keyed = sorted((index + rng.uniform(0, 3), word) for index, word in enumerate(kept))
        kept = [word for _, word in keyed]
    return kept

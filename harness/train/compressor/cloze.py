"""Questions made from sentences: a value is taken out, a question word stands for its kind.

A cheap kin of the cloze translation of Lewis et al. (2019, "Unsupervised Question Answering by
Cloze Translation") and the inverse cloze task (Lee et al. 2019): no generator model is needed.
"""

from __future__ import annotations

import random
import re

from harness.rag.retrieve.tokens import STOPWORDS

_VALUE = re.compile(
    r"(?P<year>\b(?:1[5-9]|20)\d\d\b)|(?P<number>\b\d[\d.,]*(?: ?%| percent| million| billion)?)"
    r"|(?P<name>(?<=[a-z,;] )[A-Z][\w'-]+(?: (?:of |the )?[A-Z][\w'-]+){0,3})"
)
_ASK = {
    "year": ("when", "in what year", "what year", "since when"),
    "number": ("how many", "how much", "what number of", "what percentage"),
    "name": ("who", "what", "which", "what is the name of", "where"),
}
_PLACES = ("in", "at", "from", "near")
_FEWEST, _MOST = 7, 45


def cloze(sentence: str, rng: random.Random) -> tuple[str, str] | None:
    """A question about the sentence and its answer; None where no value can be asked for."""
    if not _FEWEST <= len(sentence.split()) <= _MOST:
        return None
    values = list(_VALUE.finditer(sentence))
    if not values:
        return None
    value = rng.choice(values)
    before, after = sentence[: value.start()].split(), sentence[value.end() :].split()
    # The words near the value belong to its clause; the others would give the sentence away.
    near = before[-rng.randint(3, 9) :], after[: rng.randint(2, 8)]
    kept = [[word for word in half if rng.random() < _chance(word)] for half in near]
    if sum(word.lower() not in STOPWORDS for half in kept for word in half) < 3:
        return None
    kind = value.lastgroup or "name"
    asked = rng.choice(_ASK[kind])
    if kind == "name" and before and before[-1].lower() in _PLACES:
        asked = "where"
    parts = [*kept[1], *kept[0]] if rng.random() < 0.4 else [*kept[0], *kept[1]]
    question = " ".join([asked, *(word.strip('.,;:()[]"') for word in parts)])
    return (question.lower() if rng.random() < 0.5 else question) + "?", value.group()


def _chance(word: str) -> float:
    return 0.45 if word.lower().strip(".,;") in STOPWORDS else 0.7

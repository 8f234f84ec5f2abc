"""VQA accuracy of TextVQA: how many of ten people said the same (Antol et al. 2015, section 5.1).

The texts are brought to one form first, as the official server does. Its table of contractions is
longer than ours; apart from a word of that table spelt without its apostrophe nothing differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
} | {"none": "0"}
_ARTICLES = frozenset({"a", "an", "the"})
_CONTRACTED = {
    word.replace("'", ""): word
    for word in (
        "ain't", "aren't", "can't", "could've", "couldn't", "didn't", "doesn't", "don't", "hadn't",
        "hasn't", "haven't", "isn't", "might've", "mightn't", "must've", "mustn't", "needn't",
        "shan't", "should've", "shouldn't", "that's", "there's", "they're", "they've", "wasn't",
        "weren't", "what's", "where's", "who's", "won't", "would've", "wouldn't", "y'all",
        "you're", "you've",
    )
}  # fmt: skip
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_STOP = re.compile(r"(?<!\d)\.(?!\d)|\.(?!\d)")
FULL_AGREEMENT = 3
"""People who must agree with an answer for it to be entirely right."""


def consensus(prediction: str, answers: Sequence[str]) -> float:
    """VQA accuracy in [0, 1]: the mean over each person left out of min(1, agreeing others / 3).

    Args:
        prediction: what was said.
        answers: what people said, usually ten; of up to three, one equal answer is right.
    """
    said = evalai_form(prediction)
    given = [evalai_form(answer) for answer in answers]
    if len(given) <= FULL_AGREEMENT:
        return float(said in given)
    same = [one == said for one in given]
    total = sum(same)
    return sum(min(1.0, (total - one) / FULL_AGREEMENT) for one in same) / len(given)


def evalai_form(text: str) -> str:
    """Lower case, number words as digits, no articles, no punctuation but inside numbers."""
    lower = text.lower().replace("\n", " ").replace("\t", " ").strip()
    lower = lower.replace(",", "").replace("?", "").replace("'s", " 's")
    glued = _COMMA_IN_NUMBER.search(text) is not None
    out = lower
    for mark in _MARKS:
        alone = f"{mark} " in lower or f" {mark}" in lower
        out = out.replace(mark, "" if alone or glued else " ")
    words = (_NUMBERS.get(word, word) for word in _STOP.sub("", out).split())
    return " ".join(_CONTRACTED.get(word, word) for word in words if word not in _ARTICLES)

"""Metrics of visual question answering, each as the script of its data set computes it.

| metric | source |
|---|---|
| ANLS | DocVQA and InfographicVQA (Biten et al. 2019; Mathew et al. 2021) |
| relaxed accuracy | ChartQA (Masry et al. 2022, section 6; after Methani et al. 2020) |
| VQA accuracy | TextVQA (Antol et al. 2015, section 5.1) |
| normal forms | MathVista (Lu et al. 2024, section 3.1) and TabMWP (Lu et al. 2023, PromptPG) |
| key fields | SROIE, task 3 (Huang et al. 2019) |
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

THRESHOLD = 0.5
"""A similarity below it counts nothing. At it, an answer also counts as right (Trace2Skill)."""
_TOLERANCE = 0.05
# People who must agree with an answer for it to be entirely right.
_FULL_AGREEMENT = 3


def anls(prediction: str, answers: Sequence[str]) -> float:
    """Normalised Levenshtein similarity with the nearest accepted answer; 0 below 0.5.

    Capitals and runs of spaces are no edits. As in the official script, the edits are divided by
    the length of the longer text as it was given, spaces and all, in capitals (`ß` has two).

    Args:
        prediction: what was said.
        answers: accepted answers, at least one.

    Returns:
        A value in [0, 1] that is 0 or at least 0.5.
    """
    text, best = _joined(prediction.lower()), 0.0
    for raw in answers:
        answer, length = _joined(raw.lower()), max(len(raw.upper()), len(prediction.upper()), 1)
        # Else the lengths alone make too many edits.
        if 1 - abs(len(text) - len(answer)) / length >= THRESHOLD:
            best = max(best, 1 - edit_distance(text, answer) / length)
    return best if best >= THRESHOLD else 0.0


def _joined(text: str) -> str:
    return " ".join(text.split())


def edit_distance(source: str, target: str) -> int:
    """Fewest insertions, deletions and replacements of characters that make one the other."""
    previous = list(range(len(target) + 1))
    for row, letter in enumerate(source, 1):
        current = [row]
        for column, against in enumerate(target, 1):
            cost = previous[column - 1] + (letter != against)
            current.append(min(cost, previous[column] + 1, current[-1] + 1))
        previous = current
    return previous[-1]


def relaxed_match(prediction: str, answers: Sequence[str], tolerance: float = _TOLERANCE) -> bool:
    """Numbers within 5 % of an accepted answer, other answers equal but for capitals.

    A percentage is a number divided by 100, on either side. An answer of 0 must be said exactly.
    As in the official script, spaces count, but those around a number without a per cent sign.

    Args:
        prediction: what was said.
        answers: accepted answers.
        tolerance: relative, of the accepted number.
    """
    number = _float(prediction)
    for answer in answers:
        accepted = _float(answer)
        if number is not None and accepted:
            if abs(number - accepted) / abs(accepted) <= tolerance:
                return True
        elif prediction.lower() == answer.lower():
            return True
    return False


def _float(text: str) -> float | None:
    """Read a number as Python does, per cent signs allowed behind it; no thousands separators."""
    try:
        return float(text.rstrip("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        return None


def printed_match(prediction: str, answers: Sequence[str]) -> bool:
    """Return True if the prediction is an accepted answer that was copied from a picture.

    Capitals, runs of spaces, quotes, a full stop at the end and marks of currency do not count;
    12.4 is 12.40, and 1,200 is 1200.

    Args:
        prediction: what was said.
        answers: accepted answers.
    """
    text = _unquoted(prediction)
    number = _decimal(text)
    return any(
        text == answer or (number is not None and number == _decimal(answer))
        for answer in map(_unquoted, answers)
    )


def _unquoted(text: str) -> str:
    bare = _joined(text).strip("\"'`*").removesuffix(".")
    return re.sub(r"^[$€£]\s*|\s*[$€£]$", "", bare).casefold()


def _decimal(text: str) -> Decimal | None:
    try:
        value = Decimal(re.sub(r"(?<=\d),(?=\d{3}(?:\D|$))", "", text))
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


_NUMBERS = {
    "none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
# The official table is longer; apart from a word of it spelt without its apostrophe nothing
# differs.
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


def consensus(prediction: str, answers: Sequence[str]) -> float:
    """VQA accuracy in [0, 1]: the mean over each person left out of min(1, agreeing others / 3).

    Args:
        prediction: what was said.
        answers: what people said, usually ten; of up to three, one equal answer is right.
    """
    text = evalai_form(prediction)
    same = [evalai_form(answer) == text for answer in answers]
    if len(same) <= _FULL_AGREEMENT:
        return float(any(same))
    return sum(min(1.0, (sum(same) - agrees) / _FULL_AGREEMENT) for agrees in same) / len(same)


def evalai_form(text: str) -> str:
    """Lower case, number words as digits, no articles, no punctuation but inside numbers."""
    lower = text.lower().replace("\n", " ").replace("\t", " ").strip()
    lower = lower.replace(",", "").replace("?", "").replace("'s", " 's")
    glued = re.search(r"\d,\d", text) is not None
    form = lower
    for mark in ';/[]"{}()=+\\_-><@`,?!':
        beside_space = f"{mark} " in lower or f" {mark}" in lower
        form = form.replace(mark, "" if beside_space or glued else " ")
    form = re.sub(r"(?<!\d)\.(?!\d)|\.(?!\d)", "", form)
    words = (_NUMBERS.get(word, word) for word in form.split())
    return " ".join(_CONTRACTED.get(word, word) for word in words if word not in ("a", "an", "the"))


def mathvista_form(
    extraction: str,
    *,
    choices: Sequence[str] = (),
    answer_type: str = "text",
    precision: float | None = None,
) -> str | None:
    """The answer that MathVista's script compares with the gold answer by equality.

    Multiple choice: a letter, alone or in brackets, means the option at its place; anything else
    means the option at the least edit distance, the first of several. The script does so for any
    text, also for a refusal, so one guess in four is right by chance. An integer must be written as
    one: the script that judged the published answers took 13.0 for no answer.

    Args:
        extraction: the answer as taken out of the reply.
        choices: options in order; none for free-form questions.
        answer_type: `integer`, `float`, `list` or `text`.
        precision: decimals of a float.

    Returns:
        The normal form, or None where the text has none (a number that cannot be read).
    """
    if choices:
        text = extraction.strip()
        bracketed = re.search(r"\(([a-zA-Z])\)", text)
        letter = bracketed[1].upper() if bracketed else text
        index = ord(letter) - ord("A") if len(letter) == 1 else -1
        if 0 <= index < len(choices):
            return choices[index]
        return min(choices, key=lambda choice: edit_distance(letter, choice))
    try:
        if answer_type == "integer":
            return str(int(extraction))
        if answer_type == "float":
            return str(round(float(extraction), int(precision or 0)))
    except (ValueError, OverflowError):
        return None
    return extraction


# How a reply names an option, in the order in which the script tries.
_LETTER_PATTERNS = (
    r"^\(([A-Za-z])\)$",
    r"^([A-Za-z])$",
    r"^([A-Za-z]). ",
    r"[Th]he answer is ([A-Z])",
    r"^\(([A-Za-z])\) [\s\S]+$",
    r"[Th]he answer is \(([A-Za-z])\) [\s\S]+$",
)
# How a reply states a free answer, in the order tried; the last match counts.
_FREE_PATTERNS = (
    r"[Th]he answer is ([\s\S]+)$",
    r"[Th]he table shows that ([\d$.,/:]+) ",
    r" = ([\d$.,/:]+)",
    r"(?<= be| is) ([-\d$.,/:]{0,}\d+)",
    r"(?<= are| was) ([-\d$.,/:]{0,}\d+)",
    r"(?<= were) ([-\d$.,/:]{0,}\d+)",
    r" ([\d$.,/:]+ [AP]\.M\.)",
    r"([-\d$.,/:]{0,}\d+)",
)


def tabmwp_prediction(reply: str, choices: Sequence[str] = ()) -> str:
    """The answer in a reply, found as the script finds it.

    Args:
        reply: one line, usually ending in "The answer is …".
        choices: options in order; none for free-text questions. A reply without a letter means
            the option that shares most words with it, the first of several.
    """
    text = re.sub(r"\$?\\frac\{([\d.,-]+)\}\{([\d.,]+)\}\$?", r"\1/\2", reply)
    text = re.sub(r"(?<![AP]\.M)\.$", "", text)
    text = re.sub(r"(?<=\d)=(?=[-$\d])", " = ", text)
    matches = (
        re.findall(pattern, text) for pattern in (_LETTER_PATTERNS if choices else _FREE_PATTERNS)
    )
    if not choices:
        stated: str = next((spans[-1].strip() for spans in matches if spans), text)
        ends = stated != text and stated.endswith(".") and ".M." not in stated
        return stated[:-1] if ends else stated
    for letters in filter(None, matches):
        index = ord(letters[0].upper()) - ord("A")
        if index < len(choices):
            return choices[index]

    def likeness(choice: str) -> float:
        """Shared words by the longer text's words; 2 for equal texts."""
        if choice == text:
            return 2.0
        if " " not in choice and " " not in text:
            return 0.0
        offered, spoken = choice.split(" "), text.split(" ")
        return len(set(offered) & set(spoken)) / max(len(offered), len(spoken))

    return max(choices, key=likeness)


def tabmwp_form(text: str, unit: str | None = None) -> str:
    """The form in which answers are compared: numbers plain to three decimals, texts without unit.

    Args:
        text: the answer.
        unit: unit of the question; taken out of texts that are no number.
    """
    bare = re.sub(r"[,./]$", "", text.removeprefix("$"))
    if not re.fullmatch(r"[-+]?[\d,./]+", bare):
        return (bare.replace(unit, "").strip() if unit else bare).lower()
    number = bare.replace(",", "")
    try:
        if re.fullmatch(r"[-+]?\d+", number):
            return str(int(number))
        over, slash, under = number.partition("/")
        value = float(over) / float(under.partition("/")[0]) if slash else float(number)
        return re.sub(r"\.0+$", "", str(round(value, 3)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return number


def read_fields(reply: str) -> dict[str, str] | None:
    """The fields that a reply gives as a JSON object; None where it holds none."""
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(reply, reply.index("{"))
    except (ValueError, RecursionError):
        return None
    record: dict[str, Any] = value
    return {
        name.lower(): _joined(str(field)) for name, field in record.items() if field is not None
    }


def matching_fields(fields: Mapping[str, str], expected: Mapping[str, str]) -> dict[str, bool]:
    """Field -> whether it is given exactly, but for runs of spaces."""
    return {name: fields.get(name.lower()) == _joined(text) for name, text in expected.items()}

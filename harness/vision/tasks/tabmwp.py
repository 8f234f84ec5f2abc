"""The scorer of TabMWP (Lu et al. 2023, PromptPG): an answer out of a reply, in normal form."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FRACTION = re.compile(r"\$?\\frac\{([\d.,-]+)\}\{([\d.,]+)\}\$?")
_LAST_STOP = re.compile(r"(?<![AP]\.M)\.$")
_TIGHT_EQUALS = re.compile(r"(?<=\d)=(?=[-$\d])")
_LETTER = tuple(
    map(
        re.compile,
        (
            r"^\(([A-Za-z])\)$",
            r"^([A-Za-z])$",
            r"^([A-Za-z]). ",
            r"[Th]he answer is ([A-Z])",
            r"^\(([A-Za-z])\) [\s\S]+$",
            r"[Th]he answer is \(([A-Za-z])\) [\s\S]+$",
        ),
    )
)
"""How a reply names an option, in the order in which the script tries."""
_FREE = tuple(
    map(
        re.compile,
        (
            r"[Th]he answer is ([\s\S]+)$",
            r"[Th]he table shows that ([\d$.,/:]+) ",
            r" = ([\d$.,/:]+)",
            r"(?<= be| is) ([-\d$.,/:]{0,}\d+)",
            r"(?<= are| was) ([-\d$.,/:]{0,}\d+)",
            r"(?<= were) ([-\d$.,/:]{0,}\d+)",
            r" ([\d$.,/:]+ [AP]\.M\.)",
            r"([-\d$.,/:]{0,}\d+)",
        ),
    )
)
"""How a reply states a free answer, in the order tried; the last match counts."""
_NUMERIC = re.compile(r"[-+]?[\d,./]+")


def tabmwp_prediction(reply: str, choices: Sequence[str] = ()) -> str:
    """The answer in a reply, found as the script finds it.

    Args:
        reply: one line, usually ending in "The answer is …".
        choices: options in order; none for free-text questions. A reply without a letter means
            the option that shares most words with it, the first of several.
    """
    text = _FRACTION.sub(r"\1/\2", reply)
    text = _LAST_STOP.sub("", text)
    text = _TIGHT_EQUALS.sub(" = ", text).replace("\u2212", "-")
    return _chosen(text, choices) if choices else _stated(text)


def tabmwp_form(text: str, unit: str | None = None) -> str:
    """The form in which answers are compared: numbers plain to three decimals, texts without unit.

    Args:
        text: the answer.
        unit: unit of the question; taken out of texts that are no number.
    """
    bare = re.sub(r"[,./]$", "", text.removeprefix("$"))
    if not _NUMERIC.fullmatch(bare):
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


def _chosen(text: str, choices: Sequence[str]) -> str:
    for pattern in _LETTER:
        if found := pattern.findall(text):
            at = ord(found[0].upper()) - ord("A")
            if at < len(choices):
                return choices[at]
    return max(choices, key=lambda choice: _likeness(choice, text))


def _likeness(left: str, right: str) -> float:
    """Shared words by the longer text's words; 2 for equal texts."""
    if left == right:
        return 2.0
    if " " not in left and " " not in right:
        return 0.0
    words, others = left.split(" "), right.split(" ")
    return len(set(words) & set(others)) / max(len(words), len(others))


def _stated(text: str) -> str:
    for pattern in _FREE:
        if found := pattern.findall(text):
            said: str = found[-1].strip()
            return said[:-1] if said.endswith(".") and ".M." not in said else said
    return text

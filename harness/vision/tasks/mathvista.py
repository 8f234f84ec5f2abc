"""The scorer of MathVista (Lu et al. 2024, section 3.1): an extracted answer to its normal form."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.vision.tasks.anls import edit_distance

_BRACKETED = re.compile(r"\(([a-zA-Z])\)")


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
        return _option(extraction.strip(), choices)
    try:
        if answer_type == "integer":
            return str(int(extraction))
        if answer_type == "float":
            return str(round(float(extraction), int(precision or 0)))
    except (ValueError, OverflowError):
        return None
    return extraction


def _option(said: str, choices: Sequence[str]) -> str:
    bracketed = _BRACKETED.findall(said)
    letter = bracketed[0].upper() if bracketed else said
    at = ord(letter) - ord("A") if len(letter) == 1 else -1
    if 0 <= at < len(choices):
        return choices[at]
    return min(choices, key=lambda choice: edit_distance(letter, choice))

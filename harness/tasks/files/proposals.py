"""A proposal of the columns of a table of tasks, made from their names and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.tasks.files.rows import DEFAULT_CHECK, FIELDS, Row

_ANSWER = re.compile(
    r"answer|expected|label|gold|target|solution|antwort|soll|lösung", re.IGNORECASE
)
PHRASE, SENTENCE = 3, 8
"""Mean number of words of answers that are no labels any more, and of whole sentences."""
_NUMBER = re.compile(r"\s*[-+]?\d[\d,]*(?:\.\d+)?\s*")


def proposed_columns(
    rows: Sequence[Row], mapped: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Guess the columns of prompt and answer, where none has a usual name: column -> field.

    Those that are `mapped` already stay as they are.

    The prompt is the column with the longest texts. The answer is the one other column whose name
    says so, else the one whose values recur; of several, or of none, nothing is guessed. A bar in
    an answer parts several right ones. The check (:data:`DEFAULT_CHECK`) is `numeric` for answers
    that are numbers all; for different ones of :data:`PHRASE` words and more it is `contains`, and
    `f1` from :data:`SENTENCE` words on, as nobody writes those in the same words twice.
    """
    texts: dict[str, list[str]] = {}
    for row in rows:
        for name, value in row.items():
            texts.setdefault(name, []).append(str(value))
    guessed = dict(mapped or {})
    fields = {FIELDS.get(name.strip().casefold()) for name in texts}
    fields |= {FIELDS.get(field, "answer") for field in guessed.values()}
    reserved = {*FIELDS, *guessed}
    free = {
        name: values
        for name, values in texts.items()
        if name not in reserved and name.strip().casefold() not in reserved
    }
    answer_names = [name for name in free if _ANSWER.search(name)]
    if "prompt" not in fields and free:
        longest = max(
            [name for name in free if name not in answer_names] or free,
            key=lambda name: sum(map(len, free[name])) / len(free[name]),
        )
        guessed[longest] = "prompt"
    recurring = [
        name
        for name, values in free.items()
        if name not in guessed and 1 < len(set(values)) <= len(values) / 2
    ]
    if "answer" not in fields and len(answer_names or recurring) == 1:
        guessed[(answer_names or recurring)[0]] = "answer"
    column = next(
        (name for name in texts if guessed.get(name, FIELDS.get(name.casefold())) == "answer"), ""
    )
    answers = [answer for answer in texts.get(column, []) if answer[:1] not in ("{", "[")]
    if any("|" in answer for answer in answers) and not any("\n" in answer for answer in answers):
        guessed[column] = "answers"
        answers = [part for answer in answers for part in answer.split("|")]
    if DEFAULT_CHECK in guessed:
        return guessed
    words = sum(len(answer.split()) for answer in answers) / max(1, len(answers))
    if answers and all(_NUMBER.fullmatch(answer) for answer in answers):
        guessed[DEFAULT_CHECK] = "numeric"
    elif words >= PHRASE and len(set(answers)) > len(answers) / 2:
        guessed[DEFAULT_CHECK] = "contains" if words < SENTENCE else "f1"
    return guessed

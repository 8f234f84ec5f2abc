"""Perturbed inputs of tasks whose answer is a text: the prompt and the text files beside it.

`predicted`: the words or the number of the answer stand in the input, and are replaced there and in
the answer; the second time, a sentence is put in front too, so that positions change. `control`:
where the answer is a number that stands nowhere in the input (a count, a sum), numbers change and
every second line of data goes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from harness.evolve.analysts.agentic.renaming import renamed, renaming, words
from harness.evolve.analysts.agentic.renumbering import plain_number, renumbered, renumbering
from harness.evolve.analysts.agentic.trial import TASK_FILE, Trial
from harness.tasks.answers import COMPARISONS, accepted_answers, normalise

NUMBER = re.compile(r"(?<![\w.,/:-])(?!0\d)\d[\d,]*(?:\.\d+)?(?![\w/:-]|[.,]\d)")
_QUESTION = re.compile(r"[^.!?\n]*\?")
_ROW = re.compile(r"[,;|\t]|\d")
_NEUTRAL = "The text below was copied from a notebook with a green cover.\n\n"


def text_trials(clean: Trial, seed: int) -> tuple[list[Trial], list[Trial]]:
    """(inputs whose right answer is known, controls); both empty for a check that is code.

    Args:
        clean: the trial on the clean input.
        seed: of the choice of words and numbers.
    """
    task = clean.task
    if (task.check or "em") not in COMPARISONS:
        return [], []
    answers = accepted_answers(task)
    texts = _texts(clean.files)
    question = _question(clean)
    predicted = [
        trial
        for number, share in enumerate((0.5, 0.3))
        if (trial := _predicted(clean, texts, question, answers, seed + number, share))
    ]
    if predicted:
        return _moved_on(predicted, bool(task.files)), []
    if any(plain_number(answer.strip(" %")) is None for answer in answers):
        return [], []
    return [], [_control(clean, texts, question, seed, parity) for parity in (0, 1)]


def _texts(files: Mapping[str, bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, content in files.items():
        try:
            found[name] = content.decode()
        except UnicodeDecodeError:
            continue  # no text: it stays as it is
    return found


def _question(clean: Trial) -> str:
    """The part of the prompt that says what to do; its words keep their meaning."""
    prompt = clean.task.prompt
    if clean.task.files:
        return prompt
    asked: list[str] = _QUESTION.findall(prompt)
    lines = [line for line in prompt.splitlines() if line.strip()]
    return "\n".join(asked or [*lines[:1], *lines[-1:]])


def _predicted(
    clean: Trial,
    texts: Mapping[str, str],
    question: str,
    answers: list[str],
    seed: int,
    share: float,
) -> Trial | None:
    """The words and numbers of the answers replaced everywhere; None if no answer changes."""
    known = words(texts.values())
    names = renaming(words(answers) & known, known, words([question]), seed)
    held = _numbers(texts.values())
    wanted = _numbers(answers) & held
    numbers = renumbering(wanted, held, _numbers([question]), share)

    def change(text: str) -> str:
        return _replaced(renamed(text, names), numbers)

    new = [change(one) for one in answers]
    old = {normalise(one) for one in answers}
    changed = [one for one in new if normalise(one) not in old]
    if not changed:
        return None
    task = clean.task.model_copy(update={"answer": list(changed)})
    return replace(
        clean,
        name=f"other names and numbers, draw {1 if share == 0.5 else 2}",
        kind="predicted",
        files=_with(clean.files, texts, change),
        task=task,
    )


def _moved_on(predicted: list[Trial], has_files: bool) -> list[Trial]:
    """The last input with a sentence in front of the prompt, if the prompt holds the data."""
    if has_files:
        return predicted
    last = predicted[-1]
    files = {**last.files, TASK_FILE: _NEUTRAL.encode() + last.files[TASK_FILE]}
    return [*predicted[:-1], replace(last, name=f"{last.name}, moved", files=files)]


def _control(
    clean: Trial, texts: Mapping[str, str], question: str, seed: int, parity: int
) -> Trial:
    chosen = random.Random(seed + parity)
    fixed = _numbers([question])
    numbers = {
        number: float(round(number * chosen.uniform(1.1, 1.9)) + 1)
        for number in sorted(_numbers(texts.values()) - fixed)
    }
    asked = words([question])

    def change(text: str) -> str:
        kept: list[str] = []
        counts = {True: 0, False: 0}
        for index, line in enumerate(text.splitlines(keepends=True)):
            if index and _ROW.search(line) and "?" not in line and line.strip() not in question:
                concerned = bool(words([line]) & asked)
                counts[concerned] += 1
                if counts[concerned] % 2 == parity:
                    continue
            kept.append(line)
        return _replaced("".join(kept), numbers)

    files = _with(clean.files, texts, change)
    return replace(clean, name=f"half of the rows {parity + 1}", kind="control", files=files)


def _with(
    files: Mapping[str, bytes], texts: Mapping[str, str], change: Callable[[str], str]
) -> dict[str, bytes]:
    return {**files, **{name: change(text).encode() for name, text in texts.items()}}


def _numbers(texts: Iterable[str]) -> set[float]:
    tokens = (token for text in texts for token in NUMBER.findall(text))
    return {number for token in tokens if (number := plain_number(token)) is not None}


def _replaced(text: str, numbers: Mapping[float, float]) -> str:
    return NUMBER.sub(lambda token: str(renumbered(token[0], numbers)), text)

"""Perturbed inputs of tasks whose answer is a text: the prompt and the text files beside it.

`predicted`: the words or the number of the answer stand in the input, and are replaced there and in
the answer; the second time, a sentence is put in front too, so that positions change. `control`:
where the answer is a number that stands nowhere in the input (a count, a sum), numbers change and
every second line of data goes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from harness.evolve.analysts.agentic.replacements import (
    plain_number,
    renamed,
    renaming,
    renumbered,
    renumbering,
    words,
)
from harness.evolve.analysts.agentic.trial import TASK_FILE, Trial
from harness.tasks import COMPARISONS, accepted_answers, default_check, normalise

NUMBER = re.compile(r"(?<![\w.,/:-])(?!0\d)\d[\d,]*(?:\.\d+)?(?![\w/:-]|[.,]\d)")
_QUESTION = re.compile(r"[^.!?\n]*\?")
_ROW = re.compile(r"[,;|\t]|\d")
Names = dict[str, str]
Numbers = dict[float, float]
_NEUTRAL = "The text below was copied from a notebook with a green cover.\n\n"


def text_trials(clean: Trial, seed: int) -> tuple[list[Trial], list[Trial]]:
    """(inputs whose right answer is known, controls); both empty for a check that is code.

    Args:
        clean: the trial on the clean input.
        seed: of the choice of words and numbers.
    """
    if (clean.task.check or default_check(clean.task)) not in COMPARISONS:
        return [], []
    answers = accepted_answers(clean.task)
    question, texts = clean.task.prompt, dict[str, str]()
    for name, content in clean.files.items():
        try:
            texts[name] = content.decode()
        except UnicodeDecodeError:
            continue  # no text: it stays as it is
    if not clean.task.files:
        # The part of the prompt that says what to do; its words keep their meaning.
        questions: list[str] = _QUESTION.findall(question)
        lines = [line for line in question.splitlines() if line.strip()]
        question = "\n".join(questions or [*lines[:1], *lines[-1:]])
    names, numbers = words(texts.values()), _numbers(texts.values())
    fixed_names, fixed_numbers = words([question]), _numbers([question])

    def with_change(change: Callable[[str], str]) -> dict[str, bytes]:
        changed = {name: change(text).encode() for name, text in texts.items()}
        return {**clean.files, **changed}

    predicted: list[Trial] = []
    for draw, share in enumerate((0.5, 0.3)):
        # The words and numbers of the answers replaced everywhere.
        new_names = renaming(words(answers) & names, names, fixed_names, seed + draw)
        replaceable = _numbers(answers) & numbers
        new_numbers = renumbering(replaceable, numbers, fixed_numbers, share)

        def replaced(text: str, names: Names = new_names, numbers: Numbers = new_numbers) -> str:
            return _replaced(renamed(text, names), numbers)

        old = {normalise(answer) for answer in answers}
        new = [text for text in map(replaced, answers) if normalise(text) not in old]
        if new:
            task = clean.task.model_copy(update={"answer": new})
            name = f"other names and numbers, draw {draw + 1}"
            files = with_change(replaced)
            predicted.append(replace(clean, name=name, kind="predicted", files=files, task=task))
    if predicted:
        if not clean.task.files:
            # The prompt holds the data: in the last input, everything in it moves.
            last = predicted.pop()
            moved = {**last.files, TASK_FILE: _NEUTRAL.encode() + last.files[TASK_FILE]}
            predicted.append(replace(last, name=f"{last.name}, moved", files=moved))
        return predicted, []
    if any(plain_number(answer.strip(" %")) is None for answer in answers):
        return [], []
    controls: list[Trial] = []
    for parity in (0, 1):
        rng = random.Random(seed + parity)
        drawn = {
            number: float(round(number * rng.uniform(1.1, 1.9)) + 1)
            for number in sorted(numbers - fixed_numbers)
        }

        def thinned(text: str, parity: int = parity, numbers: Numbers = drawn) -> str:
            lines: list[str] = []
            counts = {True: 0, False: 0}
            for index, line in enumerate(text.splitlines(keepends=True)):
                if index and _ROW.search(line) and "?" not in line and line.strip() not in question:
                    concerned = bool(words([line]) & fixed_names)
                    counts[concerned] += 1
                    if counts[concerned] % 2 == parity:
                        continue
                lines.append(line)
            return _replaced("".join(lines), numbers)

        name, files = f"half of the rows {parity + 1}", with_change(thinned)
        controls.append(replace(clean, name=name, kind="control", files=files))
    return [], controls


def _numbers(texts: Iterable[str]) -> set[float]:
    tokens = (token for text in texts for token in NUMBER.findall(text))
    return {number for token in tokens if (number := plain_number(token)) is not None}


def _replaced(text: str, numbers: Numbers) -> str:
    return NUMBER.sub(lambda token: str(renumbered(token[0], numbers)), text)

"""Candidates for the holes of a program at another task, the likeliest first."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from pathlib import Path

from harness.evolve.scripts.forms import TEXTS, Mention, Scalar, enumerations, mentions
from harness.evolve.scripts.templates import SPECIFIC, Argument, Hole, around, stands_in
from harness.evolve.scripts.train_tasks import TrainTask

# Candidates of a hole that are tried at a task.
MOST = 12
Scored = tuple[float, Argument]


class Candidates:
    """Finds candidates; words that few prompts have tell more than others."""

    def __init__(self, tasks: Iterable[TrainTask]) -> None:
        prompts = [words_in(task.prompt) for task in tasks]
        self._uses, self._size = Counter(word for words in prompts for word in words), len(prompts)

    def distance(self, first: TrainTask, second: TrainTask) -> float:
        """How little two prompts share, rare words counting most."""
        shared = words_in(first.prompt) & words_in(second.prompt)
        return -fsum(1 / self._uses[word] for word in shared)

    def ranked(
        self, hole: Hole, source: TrainTask, task: TrainTask, constants: Sequence[Scalar] = ()
    ) -> list[Scored]:
        """Return candidates with their scores, the best first; the hole's own value is one of them.

        Args:
            hole: of a program.
            source: the task of the program.
            task: the other task.
            constants: of programs of the same structure, in this hole at the other task.
        """
        scored: list[Scored] = [(8.0, constant) for constant in constants]
        scored += self._scored(hole, source, task)
        best = {repr(value): (score, value) for score, value in sorted(scored, key=_score)}
        return sorted(best.values(), key=_score, reverse=True)[:MOST]

    def _scored(self, hole: Hole, source: TrainTask, task: TrainTask) -> Iterator[Scored]:
        value = hole.value
        if hole.sort == "file":
            for name in task.files:
                if Path(name).suffix == Path(str(value)).suffix:
                    yield 3.0 * (name == value) + (name in task.prompt), name
        elif isinstance(value, list):
            yield from lists(hole, value, task)
        elif hole.sort == "column" and value not in task.fields:
            for field in sorted(task.fields):
                yield 2.0 * (field in task.prompt) - (field in source.fields), field
        elif isinstance(value, str):
            texts = [
                (self._likelihood(hole, source, task, text, mention), text)
                for text, mention in texts_for(hole, task)
            ]
            unchanged = unchanged_score(hole, task)
            if hole.sort == "column":
                texts = [(s, text) for s, text in texts if text in task.fields and text != value]
                unstated = 5.0 if all(score <= 1 for score, _ in texts) else 0.5
                unchanged = 6.0 if stands_in(value, task.prompt) else unstated
            yield unchanged, value
            yield from texts
        else:
            yield unchanged_score(hole, task), value
            for mention in mentions(task.prompt):
                near = len(hole.near & {*around(task.prompt, mention)})
                ways = hole.ways or {(mention.form, reading) for reading in mention.readings}
                for form, name in sorted(ways):
                    number = mention.readings.get(name, "")
                    if mention.form == form and not isinstance(number, str):
                        yield near + (type(number) is type(value)), number

    def _likelihood(
        self, hole: Hole, source: TrainTask, task: TrainTask, text: str, mention: Mention
    ) -> float:
        """Score of a text of the other prompt."""
        value = str(hole.value)
        score = 4.0 * (text == value) + (shape(text) == shape(value))
        if value in source.values and value not in source.fields:
            score += 3 if text in task.values and text not in task.fields else -3
        if text != value and stands_in(text, source.prompt):
            score -= 3  # the program might have taken it, and did not
        rarest = min((self._uses[word] for word in words_in(text)), default=self._size)
        score += (
            1.5 if rarest <= max(2, self._size / 16) else 0.5 if rarest <= self._size / 6 else -1
        )
        score += 0.5 * len(hole.near & {*around(task.prompt, mention)})
        return score + 0.3 * (mention.form in ("quoted", "name") and bool(SPECIFIC.search(value)))


def words_in(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return {*re.findall(r"\w+", text.lower())}


def _score(scored: Scored) -> float:
    return scored[0]


def unchanged_score(hole: Hole, task: TrainTask) -> float:
    """Score of the value that the program's own task chose."""
    text = str(hole.value)
    if stands_in(text, task.prompt) or any(
        reading == hole.value and ("text" if m.form in TEXTS else m.form, name) in hole.ways
        for m in mentions(task.prompt)
        for name, reading in m.readings.items()
    ):
        return 4.0
    if hole.varied:
        return -4.0
    return 0.5 if hole.sort == "text" and not SPECIFIC.search(text) else -3.0


def lists(hole: Hole, value: list[str], task: TrainTask) -> Iterator[Scored]:
    """Enumerations of a prompt, single texts of it, and the list of the program's own task."""
    for members in enumerations(task.prompt):
        for _, name in sorted(hole.ways):
            texts = [str(m.readings[name]) for m in members if name in m.readings]
            if len(texts) == len(members):
                share = sum(text in task.values for text in texts) / len(texts)
                yield 3 * share + len(texts) / 10 + 4 * (texts == value), texts
    for text, _ in texts_for(hole, task):
        yield 1.0 * (text in task.values) - 1, [text]
    stated = all(text.lower() in task.prompt.lower() for text in value)
    yield 3.0 if stated else -1.0, value


def texts_for(hole: Hole, task: TrainTask) -> Iterator[tuple[str, Mention]]:
    """Texts that a prompt states in the way of a hole, or dates in the format of its value."""
    spellings = [name for form, name in sorted(hole.ways) if form == "text"] or ["exact"]
    formats = [way for way in sorted(hole.ways) if way[0] != "text"]
    for mention in mentions(task.prompt):
        if mention.form in TEXTS:
            for text in dict.fromkeys(
                str(mention.readings[n]) for n in spellings if n in mention.readings
            ):
                if not formats or shape(text) == shape(str(hole.value)):
                    yield text, mention
        for form, name in formats:
            if mention.form == form and name in mention.readings:
                yield str(mention.readings[name]), mention


def shape(text: str) -> str:
    """A text with its digits and letters made equal, runs of them counted once."""
    text = re.sub(r"\d+", "9", text)
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+[a-z]*", "A", text))


def best_first(columns: Sequence[Sequence[Scored]]) -> Iterator[tuple[Argument, ...]]:
    """Yield one candidate of every hole, combinations with the highest sum of scores first."""
    first: tuple[int, ...] = (0,) * len(columns)
    queue: list[tuple[float, tuple[int, ...]]] = [(0.0, first)]
    seen: set[tuple[int, ...]] = {first}
    while queue:
        cost, ranks = heapq.heappop(queue)
        yield tuple(column[rank][1] for column, rank in zip(columns, ranks, strict=True))
        for n, column in enumerate(columns):
            following = (*ranks[:n], ranks[n] + 1, *ranks[n + 1 :])
            if following[n] < len(column) and following not in seen:
                seen.add(following)
                step = column[ranks[n]][0] - column[following[n]][0]
                heapq.heappush(queue, (cost + step, following))

"""Location of a lesson's evidence in a run: verbatim, or what a paraphrase speaks of.

A quote that stands in a step is there (white space, case and numbers aside). Analysts also
paraphrase: "Used ws.max_row to find the last row". Then the longest part of it that stands in a
step is looked for, and the few lines that hold most of its words, each counted by how few steps of
all runs hold it. A step must have enough of both, or the quote is not located: a wrong step is
worse than none. What the user or the system wrote counts half, unless the quote speaks of the task,
and lines of it that many runs share (a skill, a form) not at all, unless it speaks of the skill.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from typing import Literal

from harness.core import Trajectory, Value
from harness.evolve.analysts.transcript import MIN_QUOTE, flat, stands_in, step_texts
from harness.evolve.merge.wording import stem

# Lines of a passage; atoms of a quote that are read; characters of a passage that is shown.
LINES, ATOMS, SHOWN = 4, 80, 300
# A word that one step in thousands holds counts no more than this; a pair of words counts half.
RAREST, PAIR = 6.0, 0.5
# What the task says counts so much, where the quote does not speak of it.
PROMPT = 0.5
# Of the weight of a quote's words, the least that a step and its best passage hold together.
ENOUGH = 0.3
_NUMBER = r"\d+(?:[.,]\d+)*"
_ATOM = re.compile(rf"[^\W\d]\w*|{_NUMBER}|[^\w\s]")
_WORD, _CAMEL = re.compile(r"[^\W\d_]{2,}|\d+"), re.compile(r"(?<=[a-z])(?=[A-Z])")
# Runs that share a line of their prompt, and their share of all runs, for it to be a form.
SHARING, SHARE = 3, 0.2
_OF_THE_SKILL = re.compile(r"\bskill\b", re.IGNORECASE)
_OF_THE_TASK = re.compile(
    r"\b(?:skill|instructions?|task|prompt|request(?:ed)?|required?s?|requirements?|user)\b",
    re.IGNORECASE,
)


class Location(Value):
    """Location of a quote.

    Attributes:
        step: id of the step, None where it is not located.
        how: `verbatim`, or `fragment` for a paraphrase; "" where it is not located.
        passage: the lines of the run that a paraphrase speaks of.
        fragment: the longest part of the quote that stands there, "" if it is short.
    """

    step: int | None = None
    how: Literal["verbatim", "fragment", ""] = ""
    passage: str = ""
    fragment: str = ""


@dataclass
class Locator:
    """Finds quotes in the steps of runs.

    Attributes:
        steps: number of steps that words were counted in.
        counts: word -> how many of them hold it.
        forms: lines that the prompts of many runs share.
    """

    steps: int = 0
    counts: Counter[str] = field(default_factory=Counter[str])
    forms: frozenset[str] = frozenset()

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory]) -> Locator:
        """A locator that knows how rare words are in these runs."""
        counts: Counter[str] = Counter()
        lines: Counter[str] = Counter()
        steps = runs = 0
        for trajectory in trajectories:
            runs += 1
            texts = step_texts(trajectory)
            for text in texts:
                counts.update(set(_words(text)))
            prompts = (text for text, step in zip(texts, trajectory.steps, strict=True)
                       if step.source != "agent")  # fmt: skip
            lines.update({line for text in prompts for line in text.splitlines()})
            steps += len(texts)
        many = max(SHARING, SHARE * runs)
        return cls(steps, counts, frozenset(line for line, n in lines.items() if n >= many))

    def locate(self, quotes: Sequence[str], trajectory: Trajectory) -> list[Location]:
        """Locate each quote in a run."""
        run = _Run(trajectory, self.forms)
        return [self._locate(quote, run) for quote in quotes]

    def _weight(self, word: str) -> float:
        return min(RAREST, log((self.steps + 1) / (self.counts[word] + 0.5)))

    def _locate(self, quote: str, run: _Run) -> Location:
        step = run.verbatim(quote)
        if step is not None:
            return Location(step=run.ids[step], how="verbatim", fragment=quote)
        words = _words(quote)
        weights = {word: max(0.0, self._weight(word)) for word in words}
        total = sum(weights.values())
        if not total:
            return Location()
        forms = _OF_THE_SKILL.search(quote) is not None
        fragment, steps = run.fragment(quote, forms)
        best, passage = (0.0, -1), ""
        for number, step_id in enumerate(run.ids):
            share, start = run.score(number, words, weights, forms)
            score = share / total
            if len(steps) == 1 and number in steps:
                score += sum(weights.get(word, 0.0) for word in _words(fragment)) / total
            if run.prompts[number] and not _OF_THE_TASK.search(quote):
                score *= PROMPT
            if score > best[0]:
                best, passage = (score, step_id), run.passage(number, start)
        if best[0] < ENOUGH:
            return Location()
        part = run.as_written(fragment, steps) if len(fragment) >= MIN_QUOTE else ""
        return Location(step=best[1], how="fragment", passage=passage, fragment=part)


class _Run:
    """The steps of one run, each with its lines and where its words stand.

    Attributes:
        ids: of the steps.
        prompts: whether the user or the system wrote the step.
    """

    def __init__(self, trajectory: Trajectory, forms: frozenset[str]) -> None:
        self.ids = [step.step_id for step in trajectory.steps]
        self.prompts = [step.source != "agent" for step in trajectory.steps]
        self._texts = step_texts(trajectory)
        self._lines = [[line for line in t.splitlines() if line.strip()] for t in self._texts]
        self._forms = [
            {number for number, line in enumerate(lines) if prompt and line in forms}
            for lines, prompt in zip(self._lines, self.prompts, strict=True)
        ]

    @cached_property
    def _atoms(self) -> list[str]:
        """The atoms of each step as one text."""
        return [_atom_text(text) for text in self._texts]

    @cached_property
    def _own(self) -> list[str]:
        """Return the texts without forms."""
        return [
            _atom_text("\n".join(line for n, line in enumerate(lines) if n not in skipped))
            for lines, skipped in zip(self._lines, self._forms, strict=True)
        ]

    @cached_property
    def _places(self) -> list[dict[str | tuple[str, str], set[int]]]:
        """Index each step: word, or pair of words -> numbers of the lines that hold it."""
        steps: list[dict[str | tuple[str, str], set[int]]] = []
        for lines in self._lines:
            lines_of: dict[str | tuple[str, str], set[int]] = defaultdict(set)
            for number, line in enumerate(lines):
                words = _words(line)
                for word in (*words, *pairwise(words)):
                    lines_of[word].add(number)
            steps.append(lines_of)
        return steps

    def verbatim(self, quote: str) -> int | None:
        """Number of the first step that holds the quote, white space, case and numbers aside."""
        for number, text in enumerate(self._texts):
            if stands_in(quote, flat(text)):
                return number
        bare = _atom_text(quote.strip(" \"'`"))
        same = (number for number, text in enumerate(self._atoms) if bare in text)
        return next(same, None) if len(bare.strip()) >= MIN_QUOTE else None

    def fragment(self, quote: str, forms: bool) -> tuple[str, list[int]]:
        """The longest part of a quote that stands in a step, and the numbers of those steps.

        Args:
            quote: of the analyst.
            forms: whether lines count that many runs share.
        """
        atoms = _atom_text(quote).split()[:ATOMS]
        texts = self._atoms if forms else self._own
        for size in range(len(atoms) - 1, 1, -1):
            for start in range(len(atoms) - size + 1):
                part = " ".join(atoms[start : start + size])
                steps = [n for n, text in enumerate(texts) if f" {part} " in text]
                if steps:
                    return part, steps
        return "", []

    def as_written(self, fragment: str, steps: Sequence[int]) -> str:
        """A fragment as the first of these steps has it."""
        atoms = [_NUMBER if atom == "#" else re.escape(atom) for atom in fragment.split()]
        written = re.search(r"\s*".join(atoms), self._texts[steps[0]], re.IGNORECASE)
        return "" if written is None else written[0]

    def score(
        self, step: int, words: Sequence[str], weights: dict[str, float], forms: bool
    ) -> tuple[float, int]:
        """Weight of the words that a step holds and of those in its best lines, and their start.

        Args:
            step: its number, from 0.
            words: of the quote.
            weights: theirs.
            forms: whether lines count that many runs share.
        """
        skipped = set[int]() if forms else self._forms[step]
        lines_of = {
            key: lines - skipped
            for key in (*words, *pairwise(words))
            if (lines := self._places[step].get(key, set[int]())) - skipped
        }
        windows: dict[int, float] = defaultdict(float)
        held = 0.0

        def add(numbers: Iterable[int], weight: float) -> None:
            for start in {max(0, n - before) for n in numbers for before in range(LINES)}:
                windows[start] += weight

        for word in dict.fromkeys(words):
            if word in lines_of:
                held += weights[word]
                add(lines_of[word], weights[word])
        for first, second in dict.fromkeys(pairwise(words)):
            if (first, second) in lines_of:
                add(lines_of[first, second], PAIR * (weights[first] + weights[second]))
        start = min(windows, key=lambda number: (-round(windows[number], 6), number), default=0)
        return held + windows.get(start, 0.0), start

    def passage(self, step: int, start: int) -> str:
        """The lines from `start` on."""
        return "\n".join(self._lines[step][start : start + LINES])[:SHOWN]


def _words(text: str) -> tuple[str, ...]:
    """Stemmed words and numbers in order, those inside of names too."""
    return tuple(_stem(word.casefold()) for word in _WORD.findall(_CAMEL.sub(" ", text)))


_stem = lru_cache(maxsize=65536)(stem)


def _atom_text(text: str) -> str:
    """Names, numbers (as `#`) and signs in one case, a blank before and behind each."""
    atoms = ("#" if atom[0].isdigit() else atom.casefold() for atom in _ATOM.findall(text))
    return f" {' '.join(atoms)} "

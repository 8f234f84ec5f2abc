"""Windows of text with a question and gold sentences: what the critic is trained on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.compress.training.cloze import cloze_question
from harness.compress.training.examples import Example, Passage
from harness.compress.training.generated import MAKERS

if TYPE_CHECKING:
    import bm25s

NEIGHBOURS = 40
"""Passages nearest by BM25 that hard negatives are drawn from."""
MIX = {"labelled": 0.40, "cloze": 0.42, "generated": 0.18}
"""Shares of the windows by where the question comes from."""
WITHOUT_GOLD = 0.25
SENTENCES = (3, 9)
"""Sentences of a window, at least and at most."""


@dataclass(frozen=True)
class Window:
    """A question and neighbouring sentences; `gold` numbers those that answer it."""

    query: str
    sentences: tuple[str, ...]
    gold: frozenset[int]
    source: str


class Pool:
    """Examples of the training part, and the passages that negatives come from."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.by_source: dict[str, list[Example]] = {}
        for example in examples:
            self.by_source.setdefault(example.passage.source, []).append(example)
        passages = {one.passage.sentences: one.passage for one in examples}
        self.passages = _cut(tuple(passages.values()))
        self._index = _index([" ".join(one.sentences) for one in self.passages])

    def windows(self, seed: int) -> Iterator[Window]:
        """Windows without end, always the same for one seed."""
        rng = random.Random(seed)
        makers = {"labelled": self.labelled, "cloze": self.cloze, "generated": self.generated}
        while True:
            kind = rng.choices(list(MIX), weights=list(MIX.values()))[0]
            window = makers[kind](rng)
            if window is not None:
                yield window

    def labelled(self, rng: random.Random) -> Window | None:
        """A question of the files; small sources come more often than their size asks for."""
        sources = list(self.by_source)
        weights = [len(self.by_source[name]) ** 0.7 for name in sources]
        example = rng.choice(self.by_source[rng.choices(sources, weights=weights)[0]])
        return self._window(example, rng)

    def cloze(self, rng: random.Random) -> Window | None:
        """A question made of a sentence of a passage."""
        passage = rng.choice(self.passages)
        number = rng.randrange(len(passage.sentences))
        made = cloze_question(passage.sentences[number], rng)
        if made is None:
            return None
        query, answer = made
        return self._window(Example(query, passage, frozenset({number}), (answer,)), rng)

    def generated(self, rng: random.Random) -> Window | None:
        """Needles, keys, chains, rows."""
        filler = rng.choice(self.passages).sentences[: rng.randint(2, 6)]
        example = rng.choice(MAKERS)(filler, rng)
        return Window(example.query, example.passage.sentences, example.gold, "generated")

    def _window(self, example: Example, rng: random.Random) -> Window | None:
        """A stretch of the passage with gold, of others, or of both."""
        passage, source = example.passage, example.passage.source
        size = rng.randint(*SENTENCES)
        if rng.random() < WITHOUT_GOLD:
            lines = self._others(example, size, rng)
            return Window(example.query, tuple(lines), frozenset(), source) if lines else None
        centre = rng.choice(sorted(example.gold))
        own = size if rng.random() < 0.5 else max(1, size // 2)
        start = max(0, min(centre - rng.randrange(own), len(passage.sentences) - own))
        lines = [(number, passage.sentences[number]) for number in
                 range(start, min(start + own, len(passage.sentences)))]  # fmt: skip
        others = [(-1, text) for text in self._others(example, size - len(lines), rng)]
        mixed = others + lines if rng.random() < 0.5 else lines + others
        gold = frozenset(at for at, (number, _) in enumerate(mixed) if number in example.gold)
        return Window(example.query, tuple(text for _, text in mixed), gold, source)

    def _others(self, example: Example, count: int, rng: random.Random) -> list[str]:
        """Neighbouring sentences of another passage, near by words half of the time.

        None of them holds an answer, where the answers are known.
        """
        if count < 1:
            return []
        other = rng.choice(self.passages)
        if rng.random() < 0.6:
            other = self.passages[rng.choice(_nearest(self._index, example.query))]
        if other.group == example.passage.group:
            return []
        start = rng.randrange(len(other.sentences))
        found = other.sentences[start : start + count]
        answers = [one.casefold() for one in example.answers if one]
        return [text for text in found if not any(one in text.casefold() for one in answers)]


def _cut(passages: Sequence[Passage], size: int = 12) -> list[Passage]:
    """Long passages in pieces, so that every piece is as likely as a short one."""
    return [
        Passage(one.source, one.group, one.sentences[at : at + size])
        for one in passages
        for at in range(0, len(one.sentences), size)
    ]


def _index(texts: Sequence[str]) -> bm25s.BM25:
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)
    return index


def _nearest(index: bm25s.BM25, query: str) -> list[int]:
    import bm25s

    words = bm25s.tokenize([query], show_progress=False)
    found: Any = index.retrieve(words, k=NEIGHBOURS, show_progress=False)
    return [int(one) for one in found.documents[0]]

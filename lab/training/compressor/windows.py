"""Windows of training: the query, then sentences; positives, lexical-hard and random negatives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from lab.training.compressor.mixture import PASSAGES, Label, Labelled, holds

# Least and most tokens of the sentences of a training window.
LENGTHS = (60, 120)
SENTENCE_TOKENS = 80
QUERY_TOKENS = 32
# Passages by BM25 that a lexical-hard negative is drawn from.
HARD_POOL = 12
_DOCUMENT = 25  # sentences from which a text holds its own hard negatives

Encoded = tuple[list[int], Label]


@dataclass(frozen=True)
class Window:
    """Input of the encoder.

    Attributes:
        group: windows of one query share it.
        ids: token ids, [CLS] query [SEP] sentences [SEP].
        places: of each token: 0 special, 1 query, k + 2 the k-th sentence.
        labels: of each sentence.
    """

    group: int
    ids: list[int]
    places: list[int]
    labels: list[Label]


class WindowMaker:
    """Draws the windows of an example, each time others.

    Args:
        examples: all that hard negatives are taken from.
        tokenizer: of the encoder, a `tokenizers.Tokenizer` without truncation.
        seed: same seed, same windows.
    """

    def __init__(self, examples: Sequence[Labelled], tokenizer: Any, seed: int) -> None:
        self.examples, self._seed = examples, seed
        self._cls, self._sep = (tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        self._texts: dict[str, list[int]] = {}
        ordered = sorted({text for e in examples for text in (e.query, *e.sentences)})
        for start in range(0, len(ordered), 4096):
            part = ordered[start : start + 4096]
            encoded = tokenizer.encode_batch_fast(part, add_special_tokens=False)
            self._texts.update(zip(part, (row.ids for row in encoded), strict=True))
        self._passages = [e for e in examples if e.source in PASSAGES]
        self._hard = self._hard_negatives()

    def windows(self, number: int, epoch: int) -> list[Window]:
        """Windows of the example `number`: one positive, one hard negative, half a random."""
        rng = random.Random(f"{self._seed}-{epoch}-{number}")
        example = self.examples[number]
        room = rng.randint(*LENGTHS)
        gold = rng.choice([i for i, label in enumerate(example.labels) if label == 1])
        chosen = self._around(example, gold, room, rng)
        drafts = [chosen, self._negative(number, gold, room, rng)]
        if rng.random() < 0.5:
            drafts.append(self._other(example, rng.choice(self._passages), room))
        spare = room - sum(len(ids) for ids, _ in chosen)
        if spare > 25:
            fill = self._other(example, rng.choice(self._passages), spare)
            chosen[:] = [*fill, *chosen] if rng.random() < 0.5 else [*chosen, *fill]
        return [self._window(number, example.query, draft) for draft in drafts if draft]

    def _window(self, number: int, query: str, sentences: Sequence[Encoded]) -> Window:
        head = self._texts[query][:QUERY_TOKENS]
        ids, places = [self._cls, *head, self._sep], [0, *[1] * len(head), 0]
        for place, (tokens, _) in enumerate(sentences):
            ids += tokens
            places += [place + 2] * len(tokens)
        return Window(number, [*ids, self._sep], [*places, 0], [label for _, label in sentences])

    def _around(self, example: Labelled, gold: int, room: int, rng: random.Random) -> list[Encoded]:
        """Consecutive sentences with `gold` among them, at a random place."""
        low = high = gold
        used = len(self._ids(example.sentences[gold]))
        while True:
            sides = [side for side in (low - 1, high + 1) if 0 <= side < len(example.sentences)]
            if not sides:
                break
            side = rng.choice(sides)
            used += len(self._ids(example.sentences[side]))
            if used > room:
                break
            low, high = min(low, side), max(high, side)
        return [
            (self._ids(example.sentences[i]), example.labels[i])
            for i in range(low, high + 1)
            if self._ids(example.sentences[i])
        ]

    def _negative(self, number: int, gold: int, room: int, rng: random.Random) -> list[Encoded]:
        example = self.examples[number]
        if len(example.sentences) >= _DOCUMENT:
            query = set(self._texts[example.query])
            far = [
                i for i, label in enumerate(example.labels) if not label and abs(i - gold) > 2
            ] or [gold]  # fmt: skip
            far = rng.sample(far, min(60, len(far)))
            best = max(far, key=lambda i: len(query & set(self._ids(example.sentences[i]))))
            return self._around(example, best, room, rng)
        return self._other(example, rng.choice(self._hard[number] or self._passages), room)

    def _other(self, example: Labelled, passage: Labelled, room: int) -> list[Encoded]:
        """Sentences of another text; one with the answer in it is no sure negative."""
        encoded: list[Encoded] = []
        for sentence in passage.sentences:
            ids = self._ids(sentence)
            room -= len(ids)
            if room < 0 and encoded:
                break
            if ids:
                encoded.append((ids, -1 if holds(sentence, example.answers) else 0))
        return encoded

    def _ids(self, sentence: str) -> list[int]:
        return self._texts[sentence][:SENTENCE_TOKENS]

    def _hard_negatives(self) -> list[list[Labelled]]:
        """Per example the passages that share most with its query, other texts and titles only."""
        bm25s: Any = import_module("bm25s")
        index = bm25s.BM25()
        index.index(
            [[str(i) for s in p.sentences for i in self._texts[s]] for p in self._passages],
            show_progress=False,
        )
        queries = [[str(i) for i in self._texts[e.query]] or ["0"] for e in self.examples]
        places, _ = index.retrieve(queries, k=HARD_POOL, show_progress=False)
        return [
            [
                self._passages[int(i)] for i in row
                if not (set(self._passages[int(i)].sentences) & set(e.sentences))
            ]
            for e, row in zip(self.examples, places, strict=True)
        ]  # fmt: skip


def batches(
    maker: WindowMaker, count: int, epoch: int, seed: int, tokens: int
) -> Iterator[list[Window]]:
    """Batches of whole groups of windows of like length, at most `tokens` with padding.

    Args:
        maker: draws the windows.
        count: examples.
        epoch: which pass over them.
        seed: of the order.
        tokens: of a batch, padding included.
    """
    rng = random.Random(f"order-{seed}-{epoch}")
    order = list(range(count))
    rng.shuffle(order)
    for start in range(0, count, 256):
        groups = [maker.windows(number, epoch) for number in order[start : start + 256]]
        groups.sort(key=lambda group: max(len(window.ids) for window in group))
        packed: list[list[Window]] = [[]]
        for group in groups:
            widest = max(len(window.ids) for window in [*packed[-1], *group])
            if packed[-1] and widest * (len(packed[-1]) + len(group)) > tokens:
                packed.append([])
            packed[-1] += group
        rng.shuffle(packed)
        yield from packed


def collate(windows: Sequence[Window]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Collate inputs of :class:`TokenCritic`: ids, mask, tokens of question and sentences."""
    length = max(len(window.ids) for window in windows)
    most = max(len(window.labels) for window in windows)
    longest = max(window.places.count(1) for window in windows)
    ids, mask, places = (torch.zeros((len(windows), length), dtype=torch.long) for _ in range(3))
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(window.ids)
        mask[row, :size] = 1
        places[row, :size] = torch.tensor(window.places)
    query = (places[:, 1 : 1 + longest] == 1).float()
    numbers = torch.arange(2, 2 + most)
    return ids, mask, query, (places[:, None] == numbers[None, :, None]).float()

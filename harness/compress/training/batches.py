"""Windows as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from harness.compress.training.windows import Pool, Window

QUERY_TOKENS, TOKENS = 48, 224
"""Word pieces of a question and of a whole input, at most."""
IGNORED = -100
CHUNK = 32
"""Batches that are made at a time."""
CHUNKS = 1_000_000  # more than any run makes: seeds of two runs never meet


@dataclass(frozen=True)
class Batch:
    """Inputs of :class:`TokenCritic` and what it should say.

    Attributes:
        tags: class of every token, shape (batch, tokens); -100 outside of sentences.
        gold: 1 or 0 for every sentence, shape (batch, sentences); -100 where there is none.
    """

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor
    pooling: Tensor
    tags: Tensor
    gold: Tensor


class Encoded:
    """One window as numbers: ids, where each sentence lies, and which are gold."""

    def __init__(self, window: Window, tokenizer: Any) -> None:
        query, *pieces = tokenizer(
            [window.query, *window.sentences], add_special_tokens=False, truncation=True,
            max_length=TOKENS,
        )["input_ids"]  # fmt: skip
        head = [tokenizer.cls_token_id, *query[:QUERY_TOKENS], tokenizer.sep_token_id]
        self.ids, self.spans = list(head), list[tuple[int, int]]()
        self.context = len(head)
        for piece in pieces:
            if len(self.ids) + len(piece) + 1 > TOKENS or not piece:
                break
            self.spans.append((len(self.ids), len(self.ids) + len(piece)))
            self.ids += piece
        self.ids.append(tokenizer.sep_token_id)
        self.gold = [number in window.gold for number in range(len(self.spans))]


class BatchStream:
    """Batches without end, of windows of about one length: a chunk of windows is sorted at a time.

    Each chunk has a seed of its own, so that a run that was stopped goes on at its place without
    making the windows before it again.

    Args:
        pool: makes the windows.
        tokenizer: of the encoder.
        size: windows of a batch.
        seed: same seed, same batches.
        chunk: where to go on.
        place: batches of that chunk that were used already.
    """

    def __init__(
        self, pool: Pool, tokenizer: Any, size: int, seed: int, chunk: int = 0, place: int = 0
    ) -> None:
        self._pool, self._tokenizer, self._size, self._seed = pool, tokenizer, size, seed
        self.chunk, self.place = chunk, place
        self._groups = self._made()

    def __next__(self) -> Batch:
        while self.place >= len(self._groups):
            self.chunk, self.place = self.chunk + 1, 0
            self._groups = self._made()
        self.place += 1
        return to_batch(self._groups[self.place - 1])

    def _made(self) -> list[list[Encoded]]:
        windows = self._pool.windows(self._seed * CHUNKS + self.chunk)
        encoded = [Encoded(next(windows), self._tokenizer) for _ in range(self._size * CHUNK)]
        usable = sorted((one for one in encoded if one.spans), key=lambda one: len(one.ids))
        groups = [usable[at : at + self._size] for at in range(0, len(usable), self._size)]
        # Lengths in an order that is neither rising nor falling, the same in every run.
        return [groups[index] for index in _scattered(len(groups))]


def _scattered(count: int) -> list[int]:
    return sorted(range(count), key=lambda index: (index * 7919) % 104729)


def to_batch(rows: Sequence[Encoded]) -> Batch:
    """Tensors of rows, padded to the longest."""
    length, most = max(len(row.ids) for row in rows), max(len(row.spans) for row in rows)
    shape = (len(rows), length)
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    types, tags = torch.zeros(shape, dtype=torch.long), torch.full(shape, IGNORED)
    pooling = torch.zeros((len(rows), most, length))
    gold = torch.full((len(rows), most), IGNORED)
    for at, row in enumerate(rows):
        ids[at, : len(row.ids)] = torch.tensor(row.ids)
        mask[at, : len(row.ids)] = 1
        types[at, row.context : len(row.ids)] = 1
        for number, (start, end) in enumerate(row.spans):
            pooling[at, number, start:end] = 1 / (end - start)
            gold[at, number] = int(row.gold[number])
            tags[at, start:end] = 2 if row.gold[number] else 0
            if row.gold[number]:
                tags[at, end - 1], tags[at, start] = 3, 1
    return Batch(ids, mask, types, pooling, tags, gold)

"""Losses of the token critic over a batch of windows."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from harness.train.compressor.network import focal_loss
from harness.train.compressor.windows import Window

MASKED = 0.5
"""Share of the tokens outside gold that a step leaves out (QwenLong-CPRS section 3)."""


def batch_loss(
    windows: Sequence[Window], logits: Tensor, scores: Tensor, rng: random.Random
) -> Tensor:
    """Tokens (focal), sentences (focal) and their order within a query (list-wise), summed."""
    return (
        2 * token_loss(windows, logits, rng)
        + 4 * sentence_loss(windows, scores)
        + list_loss(windows, scores)
    )


def token_loss(windows: Sequence[Window], logits: Tensor, rng: random.Random) -> Tensor:
    """Focal loss over the tokens of sentences whose label is known, easy ones thinned out."""
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    for row, window in enumerate(windows):
        for column, target in token_targets(window):
            if target or rng.random() >= MASKED:
                rows.append(row)
                columns.append(column)
                targets.append(target)
    if not targets:
        return logits.sum() * 0
    return focal_loss(logits[rows, columns], torch.tensor(targets)).mean()


def token_targets(window: Window) -> list[tuple[int, int]]:
    """Place and BIOE class of every token in a sentence with a known label."""
    found: list[tuple[int, int]] = []
    for column, place in enumerate(window.places):
        if place < 2 or window.labels[place - 2] < 0:
            continue
        gold = window.labels[place - 2] == 1
        begins = window.places[column - 1] != place
        ends = column + 1 == len(window.places) or window.places[column + 1] != place
        found.append((column, (1 if begins else 3 if ends else 2) if gold else 0))
    return found


def sentence_loss(windows: Sequence[Window], scores: Tensor) -> Tensor:
    """Focal loss of the sentences' scores taken as logits."""
    known = [
        (row, at, label)
        for row, window in enumerate(windows)
        for at, label in enumerate(window.labels)
        if label >= 0
    ]
    rows, places, labels = zip(*known, strict=True)
    chosen = scores[list(rows), list(places)]
    return focal_loss(
        torch.stack([torch.zeros_like(chosen), chosen], -1), torch.tensor(labels)
    ).mean()


def list_loss(windows: Sequence[Window], scores: Tensor) -> Tensor:
    """Cross entropy of each gold sentence against all others of its query's windows."""
    groups: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
    for row, window in enumerate(windows):
        for at, label in enumerate(window.labels):
            if label >= 0:
                groups.setdefault(window.group, ([], []))[label].append(scores[row, at])
    losses: list[Tensor] = []
    for negatives, positives in groups.values():
        if negatives and positives:
            rest = torch.logsumexp(torch.stack(negatives), 0)
            losses.append(nn.functional.softplus(rest - torch.stack(positives)).mean())
    return torch.stack(losses).mean() if losses else scores.sum() * 0

"""Windows as tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from harness.train.compressor.windows import Window


def collate(windows: Sequence[Window]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What :class:`TokenCritic` takes: ids, mask, tokens of the question and of each sentence."""
    length = max(len(window.ids) for window in windows)
    most = max(len(window.labels) for window in windows)
    asked = max(window.places.count(1) for window in windows)
    ids, mask, places = (torch.zeros((len(windows), length), dtype=torch.long) for _ in range(3))
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(window.ids)
        mask[row, :size] = 1
        places[row, :size] = torch.tensor(window.places)
    query = (places[:, 1 : 1 + asked] == 1).float()
    numbers = torch.arange(2, 2 + most)
    return ids, mask, query, (places[:, None] == numbers[None, :, None]).float()

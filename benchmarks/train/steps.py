"""What every proof does with torch: seed it, and take a step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

reseed: Callable[[int], object] = torch.manual_seed  # pyright: ignore[reportUnknownMemberType]


def step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of an optimizer."""
    optimizer.zero_grad()
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    optimizer.step()  # pyright: ignore[reportUnknownMemberType]

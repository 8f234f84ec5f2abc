"""Steps that every proof takes with torch: seed it, and step."""

from __future__ import annotations

import torch
from torch import Tensor


def reseed(seed: int) -> None:
    """Make what torch draws next depend on the seed alone."""
    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]


def step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of an optimizer."""
    optimizer.zero_grad()
    loss.backward()  # pyright: ignore[reportUnknownMemberType]
    optimizer.step()  # pyright: ignore[reportUnknownMemberType]

"""SiameseNorm (arXiv 2602.08064): a block of two streams, normalised after and before."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn


class SiameseBlock(nn.Module):
    """Attention and MLP read the sum of both streams once, and write to each.

    Args:
        width: of the streams.
        attention: (batch, tokens, width) -> the same shape.
        mlp: the same.
        layer: place of the block, from 0; what it adds to the first stream is divided by
            sqrt(2 (layer + 1)).
    """

    def __init__(
        self,
        width: int,
        attention: Callable[[Tensor], Tensor],
        mlp: Callable[[Tensor], Tensor],
        layer: int,
    ) -> None:
        super().__init__()
        self.attention, self.mlp = attention, mlp
        self.scale = (2 * (layer + 1)) ** 0.5
        self.after = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.before = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.entry = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])

    def forward(self, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        """Both streams after the block; they begin as the same embeddings."""
        for number, part in enumerate((self.attention, self.mlp)):
            first = self.after[number](first)
            change = part(self.entry[number](first + self.before[number](second)))
            first, second = first + change / self.scale, second + change
        return first, second


class SiameseOutput(nn.Module):
    """The sum of both streams, each normalised, normalised.

    Args:
        width: of the streams.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second, self.both = (nn.LayerNorm(width) for _ in range(3))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Shape (batch, tokens, width)."""
        return self.both(self.first(first) + self.second(second))

"""MORE in TRL: one reward model of four sources of preferences, one of which differs."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor

from examples.objectives.mixture import GradientMixture
from examples.objectives.preferences import bradley_terry
from examples.objectives.recipes.tiny import TRL, fit, preferred, tiny_model

WORDS = "abcd"
# The worth of each word to each source.
WORTH = [(1.0, 0.2, 0, 0), (1.0, 0, 0.2, 0), (1.0, 0, 0, 0), (-0.3, 1.0, 0, 0)]
SOURCES = [dict(zip(WORDS, worth, strict=True)) for worth in WORTH]


class MORETrainer(TRL.RewardTrainer):
    """TRL's trainer of reward models, with weights of sources under which none gets worse.

    Batches need `source`, the number of each pair's source.
    """

    def __init__(self, *args: Any, sources: int, **settings: Any) -> None:
        super().__init__(*args, **settings)  # pyright: ignore[reportUnknownMemberType]
        self.mixture = GradientMixture(sources)

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        source = inputs.pop("source")
        chosen, rejected = model(**inputs).logits[:, 0].chunk(2)
        losses = torch.stack(
            [
                bradley_terry(chosen[source == number], rejected[source == number])
                for number in range(self.mixture.sources)
            ]
        )
        head = model.score.weight
        slopes: list[Tensor] = [
            torch.autograd.grad(loss, head, retain_graph=True)[0] for loss in losses
        ]
        return (self.mixture(torch.cat(slopes)) * losses).sum()


def pairs(size: int, draw: random.Random) -> list[dict[str, Any]]:
    """`size` pairs of six words of each source, whose chosen is worth more to it."""
    rows: list[dict[str, Any]] = []
    for number, worth in enumerate(SOURCES):
        while len(rows) < size * (number + 1):
            texts = (draw.choices(WORDS, k=6) for _ in range(2))
            (less, rejected), (more, chosen) = sorted(
                (sum(map(worth.__getitem__, t)), t) for t in texts
            )
            if more - less > 0.1:
                pair = {"chosen": " ".join(chosen), "rejected": " ".join(rejected)}
                rows.append({**pair, "source": number})
    return rows


def compare(seed: int, steps: int = 200) -> tuple[float, float, float]:
    """MORE: accuracy on the worst of four sources, three of which agree, beside equal weights."""
    draw = random.Random(seed)
    train, test = pairs(400, draw), pairs(500, draw)

    def trained(steps: int, **given: Any) -> float:
        model, tokenizer = tiny_model(WORDS, seed, scores=True)
        fit("Reward", model, tokenizer, train, steps, rate=0.003, seed=seed, **given)
        right = preferred(model, tokenizer, test).view(len(SOURCES), -1)
        return float(right.mean(1).min())

    mixed = trained(steps, trainer=MORETrainer, sources=len(SOURCES), batch=128, columns=["source"])
    return mixed, trained(steps, batch=128), trained(0)

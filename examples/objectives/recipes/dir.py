"""DIR in TRL: a reward model that learns from pairs without learning that longer is better."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor, nn

from examples.objectives.preferences import dir_loss, fit_bias
from examples.objectives.recipes.tiny import TRL, fit, preferred, tiny_model

WORDS = ["awful", "poor", "fair", "good", "great"]


class DIRTrainer(TRL.RewardTrainer):
    """TRL's trainer of reward models, with what rewards know of the length taken off.

    Args:
        weight: of the bound on what the difference of states says about which text is longer.
    """

    def __init__(self, *args: Any, weight: float = 1.0, **settings: Any) -> None:
        super().__init__(*args, **settings)  # pyright: ignore[reportUnknownMemberType]
        self.weight, width = weight, self.model.config.hidden_size
        self.guess = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2))
        self.guesser = torch.optim.AdamW(self.guess.parameters(), 0.01)

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        last = inputs["attention_mask"].sum(1) - 1
        states = model.model(**inputs).last_hidden_state[torch.arange(len(last)), last]
        chosen, rejected = states.chunk(2)
        longer = (last.chunk(2)[0] > last.chunk(2)[1]).long()
        fit_bias(self.guess, chosen - rejected, longer, self.guesser)
        better, worse = model.score(states)[:, 0].chunk(2)
        return dir_loss(better, worse, self.guess(chosen - rejected), longer, self.weight)


def pairs(size: int, longer: float, draw: random.Random) -> list[dict[str, str]]:
    """Pairs of which the better text is as a rule the chosen, and `longer` of them the longer."""
    rows: list[dict[str, str]] = []
    for _ in range(size):
        ranks = sorted(draw.sample(range(5), 2), reverse=draw.random() < 0.9)
        lengths = sorted(draw.sample(range(1, 9), 2), reverse=draw.random() < longer)
        chosen, rejected = (
            " ".join(draw.sample([WORDS[rank], *["well"] * length], length + 1))
            for rank, length in zip(ranks, lengths, strict=True)
        )
        rows.append({"chosen": chosen, "rejected": rejected})
    return rows


def compare(seed: int, steps: int = 300) -> tuple[float, float, float]:
    """DIR: accuracy on pairs where the shorter text is better, after training where it is rare."""
    draw = random.Random(seed)
    train, test = pairs(1000, 0.9, draw), pairs(1000, 0.1, draw)

    def trained(steps: int, trainer: Any = None) -> float:
        model, tokenizer = tiny_model([*WORDS, "well"], seed, scores=True)
        fit("Reward", model, tokenizer, train, steps, rate=0.003, trainer=trainer, seed=seed)
        return float(preferred(model, tokenizer, test).mean())

    return trained(steps, DIRTrainer), trained(steps), trained(0)

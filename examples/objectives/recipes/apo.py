"""APO in TRL: a reward model goes on learning, so that the policy cannot exploit it."""

from __future__ import annotations

import random
from math import exp
from statistics import fmean
from typing import Any

import torch

from examples.objectives.preferences import apo_loss
from examples.objectives.recipes.tiny import fit, tiny_model
from examples.objectives.steps import step

WORDS, LENGTH, BEST = ["say", "dear", "plain"], 8, 3


def text(dear: int, draw: random.Random) -> str:
    """A text of eight words, so many of which are *dear*."""
    return " ".join(draw.sample(["dear"] * dear + ["plain"] * (LENGTH - dear), LENGTH))


def compare(seed: int, steps: int = 60) -> tuple[float, float, float]:
    """APO: how far a policy is from the best text, 0 at best, beside a frozen reward model.

    People compared texts with up to three *dear* words of eight, where more is better; three are
    best. A policy that follows what a model makes of that writes eight.
    """
    draw = random.Random(seed)
    accepted = [text(BEST, draw) for _ in range(32)]
    people: list[dict[str, str]] = []
    for _ in range(256):
        first, second = draw.sample(range(BEST + 1), 2)
        # People err: else the model learns an order and no slope.
        ranks = sorted((first, second), reverse=draw.random() < 1 / (1 + exp(-abs(first - second))))
        people.append({"chosen": text(ranks[0], draw), "rejected": text(ranks[1], draw)})
    written = [text(draw.randint(0, LENGTH), draw) for _ in range(256)]

    def trained(weight: float) -> list[float]:
        """Distances of all steps, the first before any, with pairs of the policy so weighted."""
        judge, tokenizer = tiny_model(WORDS, seed, scores=True)
        fit("Reward", judge, tokenizer, people, steps, rate=0.003, seed=seed)
        policy, _ = tiny_model(WORDS, seed)
        rows = [{"prompt": "say", "completion": f" {words}"} for words in written]
        fit("SFT", policy, tokenizer, rows, steps, seed=seed)
        optimizer = torch.optim.Adam(judge.parameters(), 0.003)
        ranks = torch.tensor([[1.0, 0.0]]).expand(64, 2)
        apart: list[float] = []

        def rewards(texts: list[str]) -> torch.Tensor:
            ended = [f"{text}<eos>" for text in texts]
            return judge(**tokenizer(ended, padding=True, return_tensors="pt")).logits[:, 0]

        def opponent(completions: list[str], **_: Any) -> list[float]:
            """A reward function whose model first learns that accepted texts are better."""
            apart.append(-fmean(abs(words.split().count("dear") - BEST) for words in completions))
            if weight:
                sides = [rewards([p[side] for p in people[:64]]) for side in ("chosen", "rejected")]
                sampled = rewards(completions).expand(len(accepted), -1)
                parts = torch.stack(sides, 1), ranks, rewards(accepted), sampled
                step(optimizer, apo_loss(*parts, weight))
            return [float(reward) for reward in rewards(completions)]

        fit(
            "GRPO", policy, tokenizer, [{"prompt": "say"}] * 8, steps, rate=0.003, seed=seed,
            reward_funcs=[opponent],
            settings={"num_generations": 64, "max_completion_length": LENGTH},
        )  # fmt: skip
        return apart

    ours, plain = trained(1.0), trained(0.0)
    last = -max(steps // 4, 1)
    return fmean(ours[last:]), fmean(plain[last:]), plain[0]

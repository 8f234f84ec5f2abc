"""GD2PO's problem: a bandit of which two rewards want different arms."""

from __future__ import annotations

from statistics import fmean

import torch

from examples.objectives.batches import clipped_loss
from examples.objectives.steps import reseed, step
from harness.train.objectives.advantages import Rule, gd2po


def two_rewards(
    seed: int,
    rule: Rule = "hard",
    threshold: float = 0.8,
    steps: int = 150,
    size: int = 32,
    group: int = 8,
    noise: float = 0.3,
    best: float = 1.0,
    policies: int = 10,
) -> tuple[float, float]:
    """GD2PO: how often a policy takes the arm that is good by both rewards, beside GDPO.

    Two arms are best by a reward and worst by the other; one is fair by both, one bad. The sums of
    the first three are alike; where the fair arm has the best sum, GDPO takes it as well. A policy
    drifts among arms of equal sums, so that a figure is the mean of `policies` of them.
    """
    means = torch.tensor([[best, 1 - best, 0.5, 0.1], [1 - best, best, 0.5, 0.1]])

    def trained(rule: Rule, policy: int) -> float:
        reseed(1000 * policy + seed)
        logits = torch.zeros(4, requires_grad=True)
        optimizer = torch.optim.Adam([logits], 0.05)
        for _ in range(steps):
            arms = torch.multinomial(logits.detach().softmax(0), size, replacement=True)
            rewards = means[:, arms] + noise * torch.randn(2, size)
            groups = [number // group for number in range(size)]
            advantages = gd2po(rewards, groups, rule, threshold).values[:, None]
            now = logits.log_softmax(0)[arms][:, None]
            ones = torch.ones_like(now)
            step(optimizer, clipped_loss(now, now.detach(), advantages[:, 0], ones))
        return float(logits.detach().softmax(0)[2])

    ours, control = (
        fmean(trained(chosen, policy) for policy in range(policies)) for chosen in (rule, "none")
    )
    return ours, control

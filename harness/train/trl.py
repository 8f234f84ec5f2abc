"""GD2PO as a trainer of TRL: its GRPO with other advantages.

Rewards come from :mod:`harness.train.rewards`, or from any reward function of TRL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from harness.core import require
from harness.train.objectives.advantages import Rule, gd2po

if TYPE_CHECKING:

    class GRPOTrainer:
        """Interface of TRL's trainer, as far as it is used."""

        model: Any
        accelerator: Any
        reward_weights: Tensor
        num_generations: int
        num_generations_eval: int
        _metrics: dict[str, dict[str, list[float]]]

        def __init__(self, *args: Any, **settings: Any) -> None: ...
        def _calculate_rewards(self, *args: Any) -> Tensor: ...
        def _generate_and_score_completions(
            self, inputs: list[dict[str, Any]]
        ) -> dict[str, Any]: ...
else:
    GRPOTrainer = require("trl", "this is a trainer of TRL", extra="trl").GRPOTrainer


class GD2POTrainer(GRPOTrainer):
    """GRPO in which rollouts whose rewards conflict teach nothing (arXiv 2606.16771).

    Takes what `trl.GRPOTrainer` takes; with one reward function it is GRPO. A reward that is None
    has no part in the mean of its group. Reward weights other than 1 are refused: rewards are
    normalised each by itself. Logs `gd2po/conflict` and `gd2po/keep`, shares of rollouts.

    Args:
        rule: see :func:`harness.train.objectives.advantages.gd2po`.
        threshold: of the rule `snr`.

    Raises:
        ValueError: reward weights that differ.
    """

    def __init__(
        self, *args: Any, rule: Rule = "hard", threshold: float = 0.8, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        if not bool((self.reward_weights == 1).all()):
            raise ValueError("GD2PO normalises each reward by itself: leave reward_weights out")
        self._rule: Rule = rule
        self._threshold = threshold
        self._rewards = torch.zeros(0)

    def _calculate_rewards(self, *args: Any) -> Tensor:
        self._rewards = super()._calculate_rewards(*args)
        return self._rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        mode = "train" if self.model.training else "eval"
        size = self.num_generations if mode == "train" else self.num_generations_eval
        groups = [number // size for number in range(len(self._rewards))]
        result = gd2po(self._rewards.T.cpu(), groups, self._rule, self._threshold)
        first = self.accelerator.process_index * len(inputs)
        batch["advantages"] = result.values[first : first + len(inputs)].to(batch["advantages"])
        for name, values in (("conflict", result.conflict), ("keep", result.keep)):
            self._metrics[mode][f"gd2po/{name}"].append(float(values.double().mean()))
        return batch

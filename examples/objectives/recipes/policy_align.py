"""PolicyAlign in TRL: a model refuses what a policy text forbids, without the text."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from examples.objectives.distillation import distillation_loss
from examples.objectives.recipes.tiny import TRL, fit, tiny_model

ANSWERS = ["refuse", "a1", "a2", "a3", "a4", "a5"]


class PolicyAlignTrainer(TRL.GRPOTrainer):
    """TRL's trainer that samples, taught by the same model with the policy before the prompt.

    Rewards are logged and teach nothing. Prompts must be of equal length.

    Args:
        policy: tokens of the policy, shape (1, tokens).
    """

    def __init__(self, model: Any, *args: Any, policy: Tensor, **settings: Any) -> None:
        self.teacher, self.policy = deepcopy(model), policy
        super().__init__(model, *args, **settings)  # pyright: ignore[reportUnknownMemberType]

    def _compute_loss(self, model: Any, inputs: dict[str, Tensor]) -> Tensor:
        completion = inputs["completion_ids"]
        asked = torch.cat([inputs["prompt_ids"], completion], 1)
        policy = self.policy.expand(len(asked), -1)
        places = slice(-completion.shape[1] - 1, -1)
        student = model(asked).logits[:, places]
        with torch.no_grad():
            teacher = self.teacher(torch.cat([policy, asked], 1)).logits[:, places]
        return distillation_loss(student, teacher, inputs["completion_mask"])


def compare(seed: int, steps: int = 100) -> tuple[float, float, float]:
    """PolicyAlign: prompts answered as with the policy, after and before distillation."""
    prompts = [f"ask{number}" for number in range(40)]
    model, tokenizer = tiny_model(["policy", *prompts, *ANSWERS], seed)
    wanted = {p: ANSWERS[0 if n < 20 else 1 + n % 5] for n, p in enumerate(prompts)}
    rows = [
        {"prompt": f"{policy}{prompt}", "completion": f" {answer}"}
        for n, prompt in enumerate(prompts)
        for policy, answer in (("policy ", wanted[prompt]), ("", ANSWERS[1 + n % 5]))
    ]
    fit("SFT", model, tokenizer, rows, 3 * steps, batch=80, seed=seed)

    def followed() -> float:
        with torch.no_grad():
            answers = model(**tokenizer(prompts, return_tensors="pt")).logits[:, -1].argmax(-1)
        right = [tokenizer.vocab[wanted[prompt]] for prompt in prompts]
        return float((answers == torch.tensor(right)).double().mean())

    def refused(completions: list[str], **_: Any) -> list[float]:
        return [float("refuse" in text) for text in completions]

    before = followed()
    fit(
        "GRPO", model, tokenizer, [{"prompt": prompt} for prompt in prompts], steps, batch=80,
        seed=seed, trainer=PolicyAlignTrainer, policy=tokenizer("policy", return_tensors="pt")[
            "input_ids"], reward_funcs=[refused],
        settings={"num_generations": 2, "max_completion_length": 2},
    )  # fmt: skip
    return followed(), before, before

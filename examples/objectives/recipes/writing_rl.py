"""Writing-RL in TRL: a policy is judged beside references that get better as it does."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from examples.objectives.recipes.tiny import fit, tiny_model
from examples.objectives.references import Outcome, ReferenceLadder, pairwise_reward

SAMPLES, GROUP = ["ode", "note", "tale", "plea"], 16
WORDS = [f"word{number}" for number in range(8)]
REFERENCES = range(1, len(WORDS) + 1)
"""Words in their right place of each reference, the weakest first; every sample has as many."""


def compare(seed: int, steps: int = 80) -> tuple[float, float, float]:
    """Writing-RL: words of eight in their right place, beside the weakest reference for good."""

    def trained(steps: int, climbs: bool = True) -> float:
        model, tokenizer = tiny_model([*SAMPLES, *WORDS], seed)
        quality: list[float] = []

        def judge(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
            """A reward function: each text beside the reference that its sample is at."""
            good = [sum(map(str.__eq__, text.split(), WORDS)) for text in completions]
            quality.append(fmean(good))
            rewards: list[float] = []
            for start in range(0, len(prompts), GROUP):
                reference = REFERENCES[ladder.place(prompts[start]) if climbs else 0]
                outcomes: list[Outcome] = [
                    "win" if count > reference else "tie" if count == reference else "loss"
                    for count in good[start : start + GROUP]
                ]
                ladder.record(prompts[start], outcomes, len(REFERENCES))
                rewards += [pairwise_reward(outcome, True) for outcome in outcomes]
            return rewards

        with TemporaryDirectory() as folder:
            ladder = ReferenceLadder(Path(folder) / "ladder.sqlite")
            fit(
                "GRPO", model, tokenizer, [{"prompt": sample} for sample in SAMPLES], steps,
                rate=0.005, seed=seed, reward_funcs=[judge],
                settings={"num_generations": GROUP, "max_completion_length": len(WORDS)},
            )  # fmt: skip
        return quality[-1]

    return trained(steps), trained(steps, climbs=False), trained(1)

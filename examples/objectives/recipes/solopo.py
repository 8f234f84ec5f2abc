"""SoLoPO in TRL: preferences are learnt with one line in the context, and hold with ten."""

from __future__ import annotations

import random
from copy import deepcopy
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from examples.objectives.long_context import Likelihoods, solopo_loss
from examples.objectives.recipes.tiny import TRL, fit, tiny_model

KEYS, VALUES = range(12), range(8)


class SoLoPOTrainer(TRL.DPOTrainer):
    """TRL's trainer of preferences, with ORPO on short contexts and SoLoPO's part on long ones.

    Rows need `long_ids`, the tokens of the long prompt.

    Args:
        weight: of the long part; 0 is ORPO on the short prompts.
    """

    def __init__(self, *args: Any, weight: float = 1.0, **settings: Any) -> None:
        collator: Any = import_module("trl.trainer.dpo_trainer").DataCollatorForPreference(0)

        def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
            long = [{**row, "prompt_ids": row["long_ids"]} for row in rows]
            # Chosen, chosen with the long prompt, rejected; rejected is not read with that.
            batch = collator([*rows, *long])
            return {name: values[: 3 * len(rows)] for name, values in batch.items()}

        super().__init__(*args, data_collator=collate, **settings)  # pyright: ignore[reportUnknownMemberType]
        self.weight = weight

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        mask = inputs.pop("completion_mask")[:, 1:]
        likely = model(**inputs).logits[:, :-1].log_softmax(-1)
        likely = likely.gather(2, inputs["input_ids"][:, 1:, None])[..., 0] * mask
        parts = zip(likely.sum(1).chunk(3), mask.sum(1).chunk(3), strict=True)
        chosen, long, rejected = (Likelihoods(*part) for part in parts)
        return solopo_loss(chosen, rejected, long, "orpo", 1.0, self.weight)


def questions(size: int, draw: random.Random) -> list[dict[str, str]]:
    """Rows of a prompt with the line that is asked for, one with nine more lines, and answers."""
    rows: list[dict[str, str]] = []
    for _ in range(size):
        values = {key: draw.choice(VALUES) for key in draw.sample(KEYS, 10)}
        lines = [f"k{key}=v{value}" for key, value in values.items()]
        asked = draw.choice(list(values))
        wrong = draw.choice([value for value in VALUES if value != values[asked]])
        rows.append(
            {
                "prompt": f"k{asked}=v{values[asked]} k{asked}?",
                "long": " ".join([*lines, f"k{asked}?"]),
                "chosen": f" v{values[asked]}",
                "rejected": f" v{wrong}",
            }
        )
    return rows


def compare(seed: int, steps: int = 200) -> tuple[float, float, float]:
    """SoLoPO: accuracy with ten lines in the context, trained to prefer with one, beside ORPO."""
    draw = random.Random(seed)
    train, test = questions(4000, draw), questions(1000, draw)
    lines = [f"k{key}=v{value}" for key in KEYS for value in VALUES]
    words = [*lines, *(f"k{key}?" for key in KEYS), *(f"v{value}" for value in VALUES)]

    def trained(steps: int, weight: float) -> float:
        model, tokenizer = tiny_model(words, seed)
        rows = [{**row, "long_ids": tokenizer(row["long"])["input_ids"]} for row in train]
        fit(
            "DPO", model, tokenizer, rows, steps, batch=64, seed=seed, trainer=SoLoPOTrainer,
            weight=weight, ref_model=deepcopy(model), settings={"remove_unused_columns": False},
        )  # fmt: skip
        with torch.no_grad():
            long = tokenizer([row["long"] for row in test], return_tensors="pt")
            answers = model(**long).logits[:, -1].argmax(-1)
        right = [tokenizer.vocab[row["chosen"].strip()] for row in test]
        return float((answers == torch.tensor(right)).double().mean())

    return trained(steps, 1.0), trained(steps, 0.0), trained(0, 0.0)

"""SPAG in TRL: a model plays a game against itself, and learns from both sides' moves.

The game is Nim: two players take one to three of a heap by turns, and who takes the last wins. A
heap of a multiple of four is lost; of any other one move wins.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from examples.objectives.games import imitation_loss, offline_loss
from examples.objectives.recipes.tiny import TRL, fit, tiny_model

HEAPS, TAKES, DECAY = range(1, 12), range(1, 4), 0.8


class SPAGTrainer(TRL.SFTTrainer):
    """TRL's trainer on completions, with SPAG's losses of the moves of games.

    Batches need `reward` and `weight` of each row. The reference is the model as it comes.

    Args:
        imitate: learn from the winner's moves alone, of which the data set must consist.
    """

    def __init__(self, model: Any, *args: Any, imitate: bool, **settings: Any) -> None:
        self.reference, self.imitate = deepcopy(model), imitate
        super().__init__(model, *args, **settings)  # pyright: ignore[reportUnknownMemberType]

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        taught = inputs["labels"][:, 1:] >= 0

        def likelihood(reader: Any) -> Tensor:
            logits = reader(inputs["input_ids"], inputs["attention_mask"]).logits[:, :-1]
            likely = logits.log_softmax(-1).gather(2, inputs["input_ids"][:, 1:, None])[..., 0]
            return (likely * taught).sum(1) / taught.sum(1)

        with torch.no_grad():
            reference = likelihood(self.reference)
        if self.imitate:
            return imitation_loss(likelihood(model), reference, inputs["weight"])
        return offline_loss(likelihood(model), reference, inputs["reward"], inputs["weight"])


def moves(model: Any, tokenizer: Any) -> Tensor:
    """Probabilities of one, two and three from each heap, shape (heaps, takes)."""
    with torch.no_grad():
        logits = model(**tokenizer([f"heap{n}" for n in HEAPS], return_tensors="pt")).logits[:, -1]
    return logits[:, [tokenizer.vocab[f"take{n}"] for n in TAKES]].softmax(-1)


def play(chances: Tensor, games: int) -> list[dict[str, Any]]:
    """Moves of games of a model with itself, each with what it did for its side.

    To take more than there is loses. The winner's moves are worth up to 1, the loser's down to -1,
    the last of each side most. Both sides have half of the weight.
    """
    rows: list[dict[str, Any]] = []
    for game in range(games):
        turns: list[tuple[int, int]] = []
        heap = HEAPS[game % len(HEAPS)]
        while heap > 0:
            take = TAKES[int(torch.multinomial(chances[heap - 1], 1))]
            turns.append((heap, take))
            heap -= take
        last = len(turns) - 1
        winner = last if heap == 0 else last - 1
        for turn, (heap, take) in enumerate(turns):
            worth = DECAY ** ((last - turn) // 2) * (1 if (turn - winner) % 2 == 0 else -1)
            rows.append({"prompt": f"heap{heap}", "completion": f" take{take}", "reward": worth,
                         "role": turn % 2})  # fmt: skip
    sizes = Counter(row["role"] for row in rows)
    return [{**row, "weight": len(rows) / 2 / sizes[row["role"]]} for row in rows]


def compare(seed: int, rounds: int = 6, steps: int = 20) -> tuple[float, float, float]:
    """SPAG: heaps at which the likeliest move wins, beside the imitation of winners alone."""

    def trained(rounds: int, improves: bool) -> float:
        words = [*(f"heap{n}" for n in HEAPS), *(f"take{n}" for n in TAKES)]
        model, tokenizer = tiny_model(words, seed)
        for number in range(rounds):
            imitate = not (improves and number)
            rows = play(moves(model, tokenizer), 400)
            fit(
                "SFT", model, tokenizer, [r for r in rows if r["reward"] > 0 or not imitate], steps,
                rate=0.003, batch=128, seed=seed, trainer=SPAGTrainer, imitate=imitate,
                columns=["reward", "weight"],
            )  # fmt: skip
        best = moves(model, tokenizer).argmax(1) + 1
        right = [int(take) == heap % 4 for heap, take in zip(HEAPS, best, strict=True) if heap % 4]
        return sum(right) / len(right)

    return trained(rounds, True), trained(rounds, False), trained(0, False)

"""The training loop: seeded, resumable, with a checkpoint every few minutes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from harness.compress.training.batches import IGNORED, Batch, BatchStream
from harness.compress.training.examples import read_examples
from harness.compress.training.network import TokenCritic, focal_loss, masked_mean, new_critic
from harness.compress.training.options import TrainOptions
from harness.compress.training.windows import Pool
from harness.retrieve.encoder import bundled_model

CHECKPOINT = "checkpoint.pt"


def train(options: TrainOptions, tell: Callable[[str], None] = print) -> TokenCritic:
    """Train the critic; a run that was stopped goes on behind its checkpoint.

    Raises:
        BadInput: if a training file is missing or malformed.
    """
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    folder = options.encoder or bundled_model()
    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(str(folder))
    examples = [one for one in read_examples(options.data) if not one.passage.held_out]
    critic = new_critic(folder, frozen=options.frozen)
    optimiser = _optimiser(critic, options)
    state = _restore(options, critic, optimiser)
    step = int(state["step"])
    stream = BatchStream(
        Pool(examples), tokenizer, options.batch, options.seed, state["chunk"], state["place"]
    )
    started, saved, running = time.monotonic(), time.monotonic(), list[float]()
    critic.train()
    while step < options.steps:
        for group in optimiser.param_groups:
            group["lr"] = group["top"] * schedule(step, options.steps)
        loss = _update(critic, optimiser, next(stream))
        running.append(loss)
        step += 1
        if step % 50 == 0:
            mean = sum(running[-50:]) / len(running[-50:])
            row = {"step": step, "loss": round(mean, 4), "s": round(time.monotonic() - started, 1)}
            tell(json.dumps(row))
        if time.monotonic() - saved > options.save_s or step == options.steps:
            _save(options, critic, optimiser, step, stream)
            saved = time.monotonic()
    return critic


def schedule(step: int, steps: int) -> float:
    """Factor of the learning rate: up for a twentieth, then down along a cosine."""
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def loss_of(critic: TokenCritic, batch: Batch) -> Tensor:
    """Focal loss of tokens and of sentences, each without its easiest half of negatives."""
    tags, sentences = critic(
        batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.pooling
    )
    there = batch.tags != IGNORED
    wanted = batch.tags[there]
    tokens = masked_mean(focal_loss(tags[there], wanted), wanted == 0)
    real = batch.gold != IGNORED
    gold = batch.gold[real]
    logits = torch.stack([torch.zeros_like(sentences[real]), sentences[real]], dim=-1)
    return tokens + 2 * masked_mean(focal_loss(logits, gold), gold == 0)


def _update(critic: TokenCritic, optimiser: torch.optim.Optimizer, batch: Batch) -> float:
    optimiser.zero_grad()
    loss = loss_of(critic, batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
    optimiser.step()
    return float(loss.detach())


def _optimiser(critic: TokenCritic, options: TrainOptions) -> torch.optim.Optimizer:
    body = [one for one in critic.encoder.parameters() if one.requires_grad]
    heads = [*critic.tags.parameters(), *critic.sentence.parameters()]
    groups = [
        {"params": body, "lr": 0.0, "top": options.rate},
        {"params": heads, "lr": 0.0, "top": options.head_rate},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.01)


def _save(
    options: TrainOptions,
    critic: TokenCritic,
    optimiser: torch.optim.Optimizer,
    step: int,
    stream: BatchStream,
) -> None:
    """Written beside and moved: a kill leaves the checkpoint before."""
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / CHECKPOINT
    state = {
        "step": step,
        "chunk": stream.chunk,
        "place": stream.place,
        "random": torch.get_rng_state(),
        "critic": critic.state_dict(),
        "optimiser": optimiser.state_dict(),
    }
    torch.save(state, path.with_suffix(".part"))
    path.with_suffix(".part").replace(path)


def _restore(
    options: TrainOptions, critic: TokenCritic, optimiser: torch.optim.Optimizer
) -> dict[str, Any]:
    path = options.out / CHECKPOINT
    if not path.exists():
        return {"step": 0, "chunk": 0, "place": 0}
    state: dict[str, Any] = torch.load(path, weights_only=True)
    critic.load_state_dict(state["critic"])
    optimiser.load_state_dict(state["optimiser"])
    torch.set_rng_state(state["random"])  # dropout goes on as it would have
    return state

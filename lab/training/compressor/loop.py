"""Losses of the token critic over a batch of windows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from harness.core import BadInput
from harness.rag.retrieve import bundled_model
from lab.training.compressor.examples import read_examples
from lab.training.compressor.mixture import mixture
from lab.training.compressor.network import TokenCritic, focal_loss, new_critic
from lab.training.compressor.session import TrainOptions
from lab.training.compressor.windows import Window, WindowMaker, batches, collate

# Share of the tokens outside gold that a step leaves out (QwenLong-CPRS section 3).
MASKED = 0.5


def batch_loss(
    windows: Sequence[Window], logits: Tensor, scores: Tensor, rng: random.Random
) -> Tensor:
    """Tokens (focal), sentences (focal) and their order within a query (list-wise), summed."""
    return (
        2 * token_loss(windows, logits, rng)
        + 4 * sentence_loss(windows, scores)
        + list_loss(windows, scores)
    )


def token_loss(windows: Sequence[Window], logits: Tensor, rng: random.Random) -> Tensor:
    """Focal loss over the tokens of sentences whose label is known, easy ones thinned out."""
    rows: list[int] = []
    columns: list[int] = []
    targets: list[int] = []
    for row, window in enumerate(windows):
        for column, target in token_targets(window):
            if target or rng.random() >= MASKED:
                rows.append(row)
                columns.append(column)
                targets.append(target)
    if not targets:
        return logits.sum() * 0
    return focal_loss(logits[rows, columns], torch.tensor(targets)).mean()


def token_targets(window: Window) -> list[tuple[int, int]]:
    """Place and BIOE class of every token in a sentence with a known label."""
    targets: list[tuple[int, int]] = []
    for column, place in enumerate(window.places):
        if place < 2 or window.labels[place - 2] < 0:
            continue
        gold = window.labels[place - 2] == 1
        begins = window.places[column - 1] != place
        ends = column + 1 == len(window.places) or window.places[column + 1] != place
        targets.append((column, (1 if begins else 3 if ends else 2) if gold else 0))
    return targets


def sentence_loss(windows: Sequence[Window], scores: Tensor) -> Tensor:
    """Focal loss of the sentences' scores taken as logits."""
    labelled = [
        (row, place, label)
        for row, window in enumerate(windows)
        for place, label in enumerate(window.labels)
        if label >= 0
    ]
    rows, places, labels = zip(*labelled, strict=True)
    chosen = scores[list(rows), list(places)]
    return focal_loss(
        torch.stack([torch.zeros_like(chosen), chosen], -1), torch.tensor(labels)
    ).mean()


def list_loss(windows: Sequence[Window], scores: Tensor) -> Tensor:
    """Cross entropy of each gold sentence against all others of its query's windows."""
    groups: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
    for row, window in enumerate(windows):
        for place, label in enumerate(window.labels):
            if label >= 0:
                groups.setdefault(window.group, ([], []))[label].append(scores[row, place])
    losses: list[Tensor] = []
    for negatives, positives in groups.values():
        if negatives and positives:
            against = torch.logsumexp(torch.stack(negatives), 0)
            losses.append(nn.functional.softplus(against - torch.stack(positives)).mean())
    return torch.stack(losses).mean() if losses else scores.sum() * 0


REPORT_EVERY = 10


def fit(options: TrainOptions, tell: Callable[[str], None] = print) -> TokenCritic:
    """Train; the same options and data on one machine give the same weights.

    Returns:
        the critic with the moving average of its weights.

    Raises:
        BadInput: if a training file is missing or malformed, or there is no GPU for `cuda`.
    """
    gpu = torch.cuda.is_available()
    if options.device == "cuda" and not gpu:
        raise BadInput("expected a GPU that PyTorch can use for the device 'cuda'")
    torch.set_num_threads(options.threads)
    generator: Any = torch.random
    generator.manual_seed(options.seed)
    folder = options.encoder or bundled_model()
    examples = [e for e in read_examples(options.data) if not e.passage.held_out]
    critic = new_critic(folder, frozen=options.frozen)
    state = _State(critic.cuda() if gpu and options.device != "cpu" else critic, options)
    recent: list[float] = []
    for batch in _stream(examples, folder, options):
        if state.windows >= options.windows:
            break
        recent = [*recent[-49:], state.step(batch)]
        if state.steps % REPORT_EVERY == 0:
            loss = sum(recent) / len(recent)
            tell(f"{state.windows} of {options.windows} windows, {state.steps} updates, "
                 f"loss {loss:.4f}")  # fmt: skip
    state.critic.load_state_dict(state.average)
    return state.critic.cpu()


class _State:
    """Weights, their average and the optimiser."""

    def __init__(self, critic: TokenCritic, options: TrainOptions) -> None:
        self.critic, self._options = critic, options
        self._device = critic.mix.weight.device
        heads = [p for m in (critic.tokens, critic.state, critic.mix) for p in m.parameters()]
        body = [weight for weight in critic.encoder.parameters() if weight.requires_grad]
        groups = [
            {"params": body, "rate": options.rate},
            {"params": heads, "rate": options.head_rate},
        ]
        self._optimiser: Any = torch.optim.AdamW(groups, lr=options.rate, weight_decay=0.01)
        self.average: dict[str, Tensor] = {
            name: weight.clone() for name, weight in critic.state_dict().items()
        }
        self.steps = self.windows = 0

    def step(self, batch: Sequence[Window]) -> float:
        """One update; its masking has a seed of its own, so that it can be repeated."""
        masking = random.Random(f"mask-{self._options.seed}-{self.steps}")
        for group in self._optimiser.param_groups:
            group["lr"] = group["rate"] * min(1.0, (self.steps + 1) / self._options.warm_up)
        self.critic.eval()  # no dropout: hardly a window is seen twice
        given = (part.to(self._device) for part in collate(batch))
        # Losses are many small steps: on the CPU they take less time than starting them elsewhere.
        tags, sentences = (part.cpu() for part in self.critic(*given))
        loss: Any = batch_loss(batch, tags, sentences, masking)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self._optimiser.step()
        self._optimiser.zero_grad()
        self.steps, self.windows = self.steps + 1, self.windows + len(batch)
        # The first updates would weigh too much in an average of long memory.
        decay = min(self._options.averaging, self.steps / (self.steps + 10))
        with torch.no_grad():
            for name, weight in self.critic.named_parameters():
                if weight.requires_grad:
                    self.average[name].lerp_(weight, 1 - decay)
        return float(loss.detach())


def _stream(examples: Sequence[Any], folder: Path, o: TrainOptions) -> Iterator[list[Window]]:
    """Batches without end, always the same for one seed."""
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    mixed = mixture(examples, o.seed)
    maker = WindowMaker(mixed, tokenizer, o.seed)
    for epoch in itertools.count():
        yield from batches(maker, len(mixed), epoch, o.seed, o.batch_tokens)

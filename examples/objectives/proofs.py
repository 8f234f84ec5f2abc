"""Does each objective learn what it is for? A small problem each, beside its control, five seeds.

    python -m examples.objectives.proofs [--only NAME ...] [--designs] [--out FILE]

Synthetic throughout: each problem has the fault that the objective is against, and nothing else.
`gain` is the objective's figure less the control's, with a 95 % interval over seeds (Student's t);
a proof holds where the whole interval is above its bar. Settings were chosen on seeds from 0, and
what is reported comes from seeds from 100.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.reports import earlier_report, option, read_options, report
from examples.objectives.bandit import two_rewards
from examples.objectives.characters import fast_rate
from examples.objectives.coteaching import trusted
from examples.objectives.designs import DESIGNS
from examples.objectives.distillation import distillation_loss, reverse_kl
from examples.objectives.long_context import Likelihoods, solopo_loss
from examples.objectives.mixture import GradientMixture
from examples.objectives.outliers import outlier, outlier_by_neighbour, outlier_of_one_way
from examples.objectives.preferences import (
    apo_loss,
    bradley_terry,
    dir_loss,
    fit_bias,
)
from examples.objectives.steps import reseed, step
from harness.stats import t_of
from harness.train.objectives.advantages import clipped_loss, normalized, refill
from harness.vision.metrics import global_reward, local_reward

SEEDS, FIRST = 5, 100
TRIED = ("ours", "control", "gain", "ci95", "cpu_seconds")
# The figure of the objective and that of its control.
Pair = tuple[float, float]
Spans = Sequence[tuple[float, float]]


def length_bias(
    seed: int,
    weight: float = 1.0,
    rate: float = 0.003,
    steps: int = 300,
    size: int = 500,
    guesses: int = 5,
    spread: bool = False,
) -> Pair:
    """DIR: accuracy on pairs where the shorter text is better, after training where it is rare.

    The reward model learns at `rate`, the guesser of the bias at 0.01 and in `guesses` steps for
    each of the model's, on states of deviation 1 with `spread`.
    """
    reseed(seed)

    def pairs(size: int, longer: float) -> Tensor:
        content = 0.6 + torch.randn(size)
        length = 2.0 * (torch.rand(size) < longer) - 1 + 0.1 * torch.randn(size)
        return torch.stack([content, length, torch.randn(size)], 1)

    train, test = pairs(size, 0.9), pairs(2000, 0.1)
    bias = (train[:, 1] > 0).long()

    def trained(weight: float) -> float:
        reseed(seed + 100)
        encoder, head = nn.Linear(3, 16), nn.Linear(16, 1, bias=False)
        guess = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
        model = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], rate)
        guesser = torch.optim.AdamW(guess.parameters(), 0.01)
        for _ in range(steps):
            # The encoder is linear, so the state of a difference is the difference of states.
            states = encoder(train) - encoder(torch.zeros_like(train))
            shown = states / states.std(0) if spread else states
            if weight:
                fit_bias(guess, shown, bias, guesser, guesses)
            gap = head(states)[:, 0]
            step(model, dir_loss(gap, torch.zeros_like(gap), guess(shown), bias, weight))
        with torch.no_grad():
            gap = head(encoder(test) - encoder(torch.zeros_like(test)))
        return float((gap > 0).double().mean())

    return trained(weight), trained(0.0)


def conflicting_sources(seed: int) -> Pair:
    """MORE: accuracy on the worst of four sources, three of which agree, beside equal weights."""
    reseed(seed)
    truths = torch.tensor([[1.0, 0.2, 0], [1.0, 0, 0.2], [1.0, 0, 0], [-0.3, 1.0, 0]])
    train = [torch.randn(400, 3) for _ in truths]
    test = [torch.randn(2000, 3) for _ in truths]

    def trained(mixed: bool) -> float:
        head, mixture = torch.zeros(3, requires_grad=True), GradientMixture(len(truths))
        optimizer = torch.optim.SGD([head], 0.5)
        for _ in range(200):
            losses = torch.stack(
                [
                    bradley_terry((rows * (rows @ truth).sign()[:, None]) @ head, torch.zeros(1))
                    for rows, truth in zip(train, truths, strict=True)
                ]
            )
            weights = torch.full((len(truths),), 1 / len(truths))
            if mixed:
                each = [torch.autograd.grad(loss, head, retain_graph=True)[0] for loss in losses]
                weights = mixture(torch.stack(each))
            step(optimizer, (weights * losses).sum())
        with torch.no_grad():
            right = [
                float((((rows @ head) * (rows @ truth)) > 0).double().mean())
                for rows, truth in zip(test, truths, strict=True)
            ]
        return min(right)

    return trained(True), trained(False)


def exploited_reward(seed: int) -> Pair:
    """APO: true utility of a policy at the end, best 0, beside a reward model that stands still.

    People compared answers between -1 and 1, where more is better; the best is 1. A policy that
    follows such a model goes far beyond.
    """
    reseed(seed)
    people = torch.rand(400, 2) * 2 - 1
    ranks = torch.stack([people[:, 0] > people[:, 1], people[:, 0] <= people[:, 1]], 1).float()
    accepted = 1 + 0.1 * torch.randn(200, 1)

    def run(refreshed: bool) -> float:
        reseed(seed + 100)
        model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        learner = torch.optim.Adam(model.parameters(), 0.01)
        mean = torch.zeros(1, requires_grad=True)
        policy = torch.optim.Adam([mean], 0.05)

        def scored(answers: Tensor) -> Tensor:
            return model(answers[..., None])[..., 0]

        none = torch.zeros(1), torch.zeros(1, 4)
        for _ in range(300):
            step(learner, apo_loss(scored(people), ranks, *none))
        for _ in range(200):
            if refreshed:
                sampled = mean.detach() + 0.3 * torch.randn(200, 4)
                loss = apo_loss(scored(people), ranks, scored(accepted[:, 0]), scored(sampled), 1.0)
                step(learner, loss)
            step(policy, -scored(mean + 0.3 * torch.randn(64)).mean())
        return -float((mean.detach() - 1) ** 2)

    return run(True), run(False)


class Reader(nn.Module):
    """One head of attention over (key, value) pairs; logits of the value that a key has."""

    def __init__(self, keys: int = 12, values: int = 8, width: int = 32) -> None:
        super().__init__()
        self.key, self.value = nn.Embedding(keys, width), nn.Embedding(values, width)
        self.query, self.out = nn.Embedding(keys, width), nn.Linear(width, values)

    def forward(self, keys: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Keys and values of shape (batch, pairs), query of shape (batch,)."""
        rows = self.key(keys)
        near = (rows @ self.query(query)[:, :, None])[..., 0] / rows.shape[-1] ** 0.5
        return self.out((near.softmax(-1)[..., None] * self.value(values)).sum(1))


def needle(seed: int) -> Pair:
    """SoLoPO: accuracy with ten pairs in the context, trained to prefer with one pair."""

    def batch(size: int, chance: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        keys = torch.rand(size, 12, generator=chance).argsort(1)[:, :10]
        return keys, torch.randint(8, (size, 10), generator=chance), keys[:, 0]

    def likelihoods(logits: Tensor, answers: Tensor) -> Likelihoods:
        total = logits.log_softmax(-1).gather(1, answers[:, None])[:, 0]
        return Likelihoods(total, torch.ones_like(total))

    def trained(weight: float) -> float:
        reseed(seed)
        chance, model = torch.Generator().manual_seed(seed), Reader()
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        for _ in range(500):
            keys, values, query = batch(128, chance)
            right = values[:, 0]
            wrong = (right + torch.randint(1, 8, right.shape, generator=chance)) % 8
            short = model(keys[:, :1], values[:, :1], query)
            order = torch.rand(keys.shape, generator=chance).argsort(1)
            long = model(keys.gather(1, order), values.gather(1, order), query)
            parts = likelihoods(short, right), likelihoods(short, wrong), likelihoods(long, right)
            step(optimizer, solopo_loss(*parts, "orpo", 1.0, weight))
        keys, values, query = batch(2000, chance)
        with torch.no_grad():
            answers = model(keys, values, query).argmax(-1)
        return float((answers == values[:, 0]).double().mean())

    return trained(1.0), trained(0.0)


def drift(seed: int) -> Pair:
    """Mutual-Taught: accuracy of the reward model on what the last policy writes, beside a frozen.

    Two features make quality. The first model knows the first; the policy picks the best of
    eight by the model, so that soon all its texts have the first and differ in the second.
    """
    reseed(seed)
    quality = torch.tensor([0.3, 1.0])

    def write(mean: Tensor, spread: Tensor, size: int) -> Tensor:
        rows = torch.randn(size, 2)
        rows[:, 1] = 0.6 * rows[:, 0] + 0.8 * rows[:, 1]
        return mean + spread * rows

    def run(taught: bool) -> float:
        reseed(seed + 100)
        weights = torch.tensor([1.0, 0.0], requires_grad=True)
        mean, spread = torch.zeros(2), torch.ones(2)
        for _ in range(4):
            samples = write(mean, spread, 4000).view(500, 8, 2)
            best = samples[torch.arange(500), (samples @ weights.detach()).argmax(1)]
            new_mean, new_spread = best.mean(0), best.std(0)
            if taught:
                new, old = write(new_mean, new_spread, 500), write(mean, spread, 500)
                gaps = ((new - old) @ weights.detach()).numpy().tolist()
                stay = trusted(gaps)
                optimizer = torch.optim.SGD([weights], 0.2)
                for _ in range(50):
                    step(optimizer, bradley_terry(new[stay] @ weights, old[stay] @ weights))
            mean, spread = new_mean, new_spread
        first, second = write(mean, spread, 4000), write(mean, spread, 4000)
        gap = first - second
        return float((((gap @ weights.detach()) * (gap @ quality)) > 0).double().mean())

    return run(True), run(False)


def policy_text(seed: int) -> Pair:
    """PolicyAlign: probes refused without the policy text, after and before distillation."""
    reseed(seed)
    prompts, unsafe = torch.eye(40), torch.arange(40) < 20
    model = nn.Sequential(nn.Linear(41, 64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)

    def asked(policy: float) -> Tensor:
        return torch.cat([prompts, torch.full((40, 1), policy)], 1)

    # With the policy unsafe prompts are refused (answer 0); all else is answered as before.
    answer = 1 + torch.arange(40) % 5
    with_policy = torch.where(unsafe, torch.zeros_like(answer), answer)
    for _ in range(300):
        loss = functional.cross_entropy(model(asked(0.0)), answer)
        step(optimizer, loss + functional.cross_entropy(model(asked(1.0)), with_policy))
    with torch.no_grad():
        teacher, before = model(asked(1.0)), model(asked(0.0))
    for _ in range(300):
        student = model(asked(0.0))
        step(optimizer, distillation_loss(student[:, None], teacher[:, None], torch.ones(40, 1), 4))
    with torch.no_grad():
        after = model(asked(0.0))
    if reverse_kl(after, teacher).mean() >= reverse_kl(before, teacher).mean():
        raise AssertionError("the divergence did not fall")
    if not (after.argmax(-1) == with_policy)[~unsafe].all():
        raise AssertionError("what the policy allows was refused")
    rates = [(logits.argmax(-1) == 0)[unsafe].double().mean() for logits in (after, before)]
    return float(rates[0]), float(rates[1])


def jitter(seed: int) -> Pair:
    """MUSEG: share of steps at which moving spans further costs something, beside a hit or miss.

    The control pays 1 where spans overlap by half of their union.
    """
    draw = random.Random(seed)
    shares: list[float] = []
    for rule in (museg, hit):
        costs: list[bool] = []
        for _ in range(200):
            start, length = draw.uniform(0, 50), draw.uniform(5, 20)
            gold = [(start, start + length)]
            moved = ([(start + move, start + length + move)] for move in range(5))
            costs += [later < sooner for sooner, later in pairwise(rule(m, gold) for m in moved)]
        shares.append(fmean(costs))
    return shares[0], shares[1]


def museg(spans: Spans, gold: Spans) -> float:
    """Both rewards of the paper for spans."""
    return global_reward(spans, gold) + local_reward(spans, gold)


def hit(spans: Spans, gold: Spans) -> float:
    """1 where two spans overlap by half of their union, else 0."""
    (start, end), (first, last) = spans[0], gold[0]
    common = max(0.0, min(end, last) - max(start, first))
    return float(common >= 0.5 * (end - start + last - first - common))


def refilled(seed: int) -> Pair:
    """DUPO: share of a batch's slots that teach, beside the same batch left as it is."""
    draw = random.Random(seed)
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(100):
        rates = [draw.choice([0.0, 0.05, 0.5, 0.95, 1.0]) for _ in range(32)]
        groups = {str(n): [float(draw.random() < p) for _ in range(8)] for n, p in enumerate(rates)}
        names, idle = refill(groups, draw)
        if len(names) != len(groups):
            raise AssertionError("the batch has another size")
        advantages = [normalized(torch.tensor([groups[name]]), [0] * 8)[0] for name in names]
        ours.append(fmean(float(value.any()) for value in advantages))
        plain.append(1 - len(idle) / len(groups))
        now = torch.zeros(8, 6, requires_grad=True)
        mask = torch.tensor([[1.0, 1, 0, 0, 1, 1]]).expand(8, 6)
        step(torch.optim.SGD([now], 1.0), clipped_loss(now, now.detach(), advantages[0], mask))
        if now.detach()[mask == 0].any() or not now.detach()[mask == 1].any():
            raise AssertionError("tokens of tools were taught, or those of the model were not")
    return fmean(ours), fmean(plain)


# The objective's problem, and what its interval must be above.
PROOFS: dict[str, tuple[Callable[..., Pair], float]] = {
    "DIR": (length_bias, 0.1),
    "MORE": (conflicting_sources, 0.0),
    "APO": (exploited_reward, 0.0),
    "SoLoPO": (needle, 0.0),
    "Mutual-Taught": (drift, 0.0),
    "PolicyAlign": (policy_text, 0.0),
    "CLIPO": (outlier, 0.0),
    "CLIPO, one way": (outlier_of_one_way, 0.0),
    "CLIPO, neighbour": (outlier_by_neighbour, 0.0),
    "MUSEG": (jitter, 0.0),
    "GD2PO": (two_rewards, 0.0),
    "DUPO": (refilled, 0.0),
    "SiameseNorm": (fast_rate, 0.0),
}


def prove(name: str, first: int, seeds: int, design: str = "") -> dict[str, Any]:
    """Figures over seeds, the gain with its interval, and seconds of processor time."""
    start = time.process_time()
    problem, bar = PROOFS[name]
    settings = DESIGNS[name][design] if design else {}
    rows = [problem(seed, **settings) for seed in range(first, first + seeds)]
    gains = [ours - control for ours, control in rows]
    half = t_of(seeds) * stdev(gains) / seeds**0.5
    return {
        "what": (problem.__doc__ or "").splitlines()[0],
        "ours": fmean(ours for ours, _ in rows),
        "control": fmean(control for _, control in rows),
        "gain": fmean(gains),
        "ci95": [fmean(gains) - half, fmean(gains) + half],
        "bar": bar,
        "holds": fmean(gains) - half > bar,
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def main() -> None:
    """Prove all, or some; those that the file holds already stay in it.

    With `--designs` those that were tried are measured instead, on the seeds that settings were
    chosen on.
    """
    names = option(nargs="*", default=list(PROOFS), choices=list(PROOFS))
    options = read_options(
        __doc__, only=names, first=FIRST, seeds=SEEDS, designs=False,
        out=option(type=Path, default=None),
    )  # fmt: skip
    torch.set_num_threads(1)
    head = {"command": "python -m examples.objectives.proofs", "seeds": options.seeds}
    proofs: dict[str, Any] = earlier_report(options.out).get("proofs", {})
    tried: dict[str, Any] = earlier_report(options.out).get("tried", {})
    for name in options.only:
        if options.designs:
            for design in DESIGNS.get(name, ()):
                row = prove(name, 0, options.seeds, design)
                tried.setdefault(name, {})[design] = {key: row[key] for key in TRIED}
        else:
            proofs[name] = prove(name, options.first, options.seeds)
        report({**head, "first": options.first, "proofs": proofs, "tried": tried}, options.out)


if __name__ == "__main__":
    main()

"""Does each objective learn what it is for? A small problem each, beside its control.

    python -m examples.objectives.proofs [--only NAME ...] [--seeds N] [--steps N] [--out FILE]
    python -m examples.objectives.proofs --designs

Those of `recipes` train tiny Llamas in TRL, where the control is TRL's own loss or the objective
without its addition; `before` is the figure of the model that both start from. The rest are plain
torch.

Synthetic throughout: each problem has the fault that the objective is against, and nothing else.
`gain` is the objective's figure less the control's, with a 95 % interval over seeds (Student's t);
a proof holds where the whole interval is above its bar. Settings were chosen on seeds from 0; what
is reported comes from seeds from 100, that of recipes from 200 (`--first`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor

from benchmarks.reports import earlier_report, option, read_options, report
from examples.objectives.bandit import two_rewards
from examples.objectives.batches import clipped_loss, refill
from examples.objectives.characters import fast_rate
from examples.objectives.coteaching import trusted
from examples.objectives.designs import DESIGNS
from examples.objectives.outliers import outlier, outlier_by_neighbour, outlier_of_one_way
from examples.objectives.preferences import bradley_terry
from examples.objectives.spans import global_reward, local_reward
from examples.objectives.steps import reseed, step
from harness.stats import t_quantile
from harness.train.objectives.advantages import normalized

SEEDS, FIRST = 5, 100
TRIED = ("ours", "control", "gain", "ci95", "cpu_seconds")
# The figure of the objective and that of its control.
Pair = tuple[float, float]
Spans = Sequence[tuple[float, float]]


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


# The objective's problem, or the module of its recipe in TRL, which takes seconds to import; and
# what its interval must be above.
PROOFS: dict[str, tuple[Callable[..., Sequence[float]] | str, float]] = {
    "DIR": ("dir", 0.1),
    "MORE": ("more", 0.0),
    "APO": ("apo", 0.0),
    "SoLoPO": ("solopo", 0.0),
    "PolicyAlign": ("policy_align", 0.0),
    "SPAG": ("spag", 0.0),
    "Writing-RL": ("writing_rl", 0.0),
    "Mutual-Taught": (drift, 0.0),
    "CLIPO": (outlier, 0.0),
    "CLIPO, one way": (outlier_of_one_way, 0.0),
    "CLIPO, neighbour": (outlier_by_neighbour, 0.0),
    "MUSEG": (jitter, 0.0),
    "GD2PO": (two_rewards, 0.0),
    "DUPO": (refilled, 0.0),
    "SiameseNorm": (fast_rate, 0.0),
}


def prove(
    name: str, first: int, seeds: int, design: str = "", steps: int | None = None
) -> dict[str, Any]:
    """Figures over seeds, the gain with its interval, and seconds of processor time."""
    start = time.process_time()
    problem, bar = PROOFS[name]
    if isinstance(problem, str):
        problem = import_module(f"examples.objectives.recipes.{problem}").compare
    settings = DESIGNS[name][design] if design else {"steps": steps} if steps else {}
    rows = [problem(seed, **settings) for seed in range(first, first + seeds)]
    gains = [ours - control for ours, control, *_ in rows]
    half = t_quantile(seeds - 1) * stdev(gains) / seeds**0.5 if seeds > 1 else inf
    return {
        "what": (problem.__doc__ or "").splitlines()[0],
        "seeds": seeds,
        "before": fmean(row[2] for row in rows) if len(rows[0]) > 2 else None,
        "ours": fmean(row[0] for row in rows),
        "control": fmean(row[1] for row in rows),
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
        __doc__, only=names, first=FIRST, seeds=SEEDS, designs=False, steps=0,
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
            proofs[name] = prove(name, options.first, options.seeds, steps=options.steps)
        report({**head, "first": options.first, "proofs": proofs, "tried": tried}, options.out)


if __name__ == "__main__":
    main()

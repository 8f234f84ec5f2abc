"""A finished evolution at the simulated order desk, and a way to run its gate's tasks."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.core import Task, assets
from harness.evals import EvalSettings, Evaluator, ItemRecord, LoadedSuite, load_suite, records
from harness.evolve import Evolution, seed_skill
from harness.evolve.analysts.single import single_reader
from harness.evolve.baselines import Ground
from harness.evolve.report import Finished, finished
from harness.evolve.settings import EvolveOptions
from harness.models import open_model
from lab.simulator.orders import HEADER, answer, read_task

AGENT, ANALYST = "simulated/orders", "simulated/orders-analyst?error=0.1"
QUESTIONS = (
    "What is the total price of the orders of {}?",
    "How many orders did {} place?",
    "What is the date of the first order of {}?",
    "What share of the orders of {} is paid?",
)


def order_suite(root: Path, **splits: int) -> str:
    """Write a suite of so many tasks in each split."""
    for split, count in splits.items():
        rows = [task.model_dump(mode="json") for task in order_tasks(split, count)]
        (root / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "suite.yaml").write_text(
        "name: orders\ntasks: {train: train.jsonl, selection: selection.jsonl}\ntools: []\n"
    )
    return str(root / "suite.yaml")


def order_tasks(prefix: str, count: int) -> list[Task]:
    """Tasks of the order desk with the answers that its customs demand."""
    chance = random.Random(prefix)
    made: list[Task] = []
    for number in range(count):
        rows = [
            f"| {line} | {chance.choice(('Ashford', 'Birchall'))} | ink "
            f"| {chance.randrange(40, 4000)} | {chance.uniform(1, 90):.3f} "
            f"| {chance.choice(('paid', 'open', 'cancelled', 'refunded'))} | {line} May 2025 |"
            for line in range(1, 9)
        ]
        table = "\n".join([HEADER, "|---|---|---|---|---|---|---|", *rows])
        asked = QUESTIONS[number % len(QUESTIONS)].format("Ashford")
        prompt = f"Order book {prefix}-{number}.\n\n{table}\n\nQuestion: {asked}"
        read = read_task(prompt)
        assert read is not None
        right = answer(*read, set())[1]
        made.append(Task(id=f"{prefix}-{number}", prompt=prompt, answer=right, check="exact"))
    return made


@dataclass
class Bench:
    """The suite of the order desk under `root`, run with the simulated agent.

    Attributes:
        seen: (name, skill directory, prompts) of every run.
    """

    root: Path
    seen: list[tuple[str, Path | None, list[str]]] = field(
        default_factory=list[tuple[str, Path | None, list[str]]]
    )

    def suite(self, split: Any) -> LoadedSuite:
        """One split of the suite."""
        return load_suite(str(self.root / "suite.yaml"), split)

    async def evaluate(self, name: str, skill: Path | None, suite: LoadedSuite) -> list[ItemRecord]:
        """Run a suite."""
        self.seen.append((name, skill, [task.prompt for task in suite.tasks]))
        settings = EvalSettings(suite="orders", models=(AGENT,), sandbox="none")
        await Evaluator(settings, suite).run(self.root / "runs" / name, skill)
        return records(self.root / "runs" / name)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    root = tmp_path_factory.mktemp("orders")
    order_suite(root, train=24, selection=24)
    return Bench(root)


async def _evolve(bench: Bench) -> Finished:
    """The stages of the graph, with the artifact store left open."""
    await bench.evaluate("train", None, bench.suite("train"))
    options = EvolveOptions(
        out=bench.root / "out", create="order-desk", trajectories=bench.root / "runs" / "train"
    )
    model, seed = open_model(ANALYST, role="analyst"), seed_skill(options)
    evolution = Evolution(options=options, seed=seed, read=single_reader(model, seed.text))
    graph: Any = assets.load_graph("trace2skill").builder.compile()
    return finished(evolution, await graph.ainvoke({}, context=evolution))


@pytest.fixture(scope="module")
def done(bench: Bench) -> Iterator[Finished]:
    found = asyncio.run(_evolve(bench))
    yield found
    found.evolution.store.close()


@pytest.fixture
def ground(done: Finished) -> Ground:
    return Ground(done=done, model=open_model(ANALYST, role="analyst"), seed=41)

"""The demo's lift with its controls, on the test split of the almanac, paired.

    python benchmarks/demo_lift.py [--out evals/results/demo_lift.json] [--test 250]

The skill is what `harness evolve --analyst exemplar` writes from the model's own runs on the train
split: format rules and worked examples. That is few-shot prompting, so it is compared with
few-shot prompting: random worked examples with gold answers, the best of eight random sets (chosen
on the selection split), and the format rules alone. Every set holds as many examples as the skill,
of the same length in tokens within a tenth. Nothing is chosen on the test split.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.agents.examples import split_examples
from harness.core import AgentInfo, Step, Task, Trajectory, assets, write_atomic
from harness.core.prompts import render
from harness.evals.statistics import compare_paired, detectable_lift, wilson
from harness.evals.types import ItemRecord
from harness.evolve import exemplar_patch
from harness.evolve.exemplar import EXAMPLES_SECTION, FORMAT_SECTION
from harness.models import Model, Sampling, open_model
from harness.models.types import Message
from harness.tasks import family

SPEC = "local/smollm2-135m"
SAMPLING = Sampling(temperature=0.0, max_tokens=16, stop=("\n",))
EXAMPLES = 6
SETS = 8
SELECTION = 40
SKILL = "skill: rules and own examples"
Example = tuple[str, str]


class Bench:
    """One model, asked in the form of `graphs/answer.py`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._form: Sequence[Message] = assets.load_object("graphs/answer.py:FORM", assets.root())
        self.calls = 0

    async def answers(
        self, tasks: Sequence[Task], examples: Sequence[Example] = (), rule: str = ""
    ) -> list[str]:
        """The model's answer to every task."""
        system = render("react_system", skill=rule, tools=[], protocol="native", output_file="")
        text = "## Worked examples\n\n" + "\n\n".join(
            f"Task: {task}\nAnswer: {answer}" for task, answer in examples
        )
        head = [{"role": "system", "content": system}, *self._form, *split_examples(text)[1]]

        async def ask(task: Task) -> str:
            messages = [*head, {"role": "user", "content": task.prompt}]
            reply = await self._model.complete(messages, sampling=SAMPLING)
            return reply.text.strip()

        self.calls += len(tasks)
        return list(await asyncio.gather(*(ask(task) for task in tasks)))

    async def arm(
        self, tasks: Sequence[Task], examples: Sequence[Example] = (), rule: str = ""
    ) -> list[ItemRecord]:
        """Scored attempts at every task."""
        said = await self.answers(tasks, examples, rule)
        return [_scored(task, answer) for task, answer in zip(tasks, said, strict=True)]


def _scored(task: Task, answer: str) -> ItemRecord:
    score = family(task).score(task, Path(), Path(), answer)
    return ItemRecord(
        id=task.id,
        task_id=task.id,
        outcome=score.outcome,
        value=score.value,
        answer=answer,
        stratum=str(task.meta["stratum"]),
    )


def load(split: str) -> list[Task]:
    """Tasks of the almanac."""
    generator = assets.load_module(assets.find("corpora/almanac/generate.py"))
    return [Task.model_validate(row) for row in generator.tasks(split)]


def learn(train: Sequence[Task], runs: Sequence[ItemRecord]) -> tuple[str, list[Example]]:
    """Format rules and worked examples that the exemplar analyst takes from the runs."""
    edits = exemplar_patch([_trajectory(*pair) for pair in zip(train, runs, strict=True)], EXAMPLES)
    rules = [edit.content for edit in edits.edits if edit.target_section == FORMAT_SECTION]
    tasks = {task.id: task for task in train}
    examples = [
        (tasks[edit.sources[0]].prompt, str(tasks[edit.sources[0]].answer))
        for edit in edits.edits
        if edit.target_section == EXAMPLES_SECTION
    ]
    return "\n".join([FORMAT_SECTION, "", *rules]), examples


def _trajectory(task: Task, run: ItemRecord) -> Trajectory:
    return Trajectory(
        trajectory_id=task.id,
        agent=AgentInfo(name="graph:answer", version="1"),
        steps=(
            Step(step_id=1, source="user", message=task.prompt),
            Step(step_id=2, source="agent", message=run.answer or ""),
        ),
        extra={"harness": {"task_id": task.id, "outcome": run.outcome, "answer": run.answer or ""}},
    )


def random_sets(train: Sequence[Task], like: Sequence[Example]) -> list[list[Example]]:
    """Random sets of examples with gold answers, of the skill's length within a tenth."""
    from harness.models.embedded.server import engine

    encode = engine(SPEC.partition("/")[2]).load().encode_chat

    def tokens(task: str, answer: str) -> int:
        turns = [{"role": "user", "content": task}, {"role": "assistant", "content": answer}]
        return len(encode(turns))

    wanted = sum(tokens(*example) for example in like)
    sizes = [(task, tokens(task.prompt, str(task.answer))) for task in train]
    chance = random.Random("demo-lift")
    found: list[list[Example]] = []
    while len(found) < SETS:
        drawn = chance.sample(sizes, len(like))
        if abs(sum(size for _, size in drawn) - wanted) <= 0.1 * wanted:
            found.append([(task.prompt, str(task.answer)) for task, _ in drawn])
    return found


async def measure(test_size: int) -> dict[str, Any]:
    """Run every arm; figures of each, and the skill against each, paired."""
    started = time.monotonic()
    bench = Bench(open_model(SPEC, concurrency=8))
    train, selection, test = load("train"), load("selection"), load("test")[:test_size]
    learned = await bench.arm(train)
    rules, examples = learn(train, learned)
    sets = random_sets(train, examples)
    on_selection = [await bench.arm(selection[:SELECTION], chosen) for chosen in sets]
    passes = [sum(run.outcome == "pass" for run in runs) for runs in on_selection]
    best = passes.index(max(passes))
    runs = {
        "no skill": await bench.arm(test),
        "format rules alone": await bench.arm(test, rule=rules),
        "random examples": await bench.arm(test, sets[0]),
        "best of eight random sets": await bench.arm(test, sets[best]),
        "examples of the skill alone": await bench.arm(test, examples),
        SKILL: await bench.arm(test, examples, rules),
    }
    return {
        "model": SPEC,
        "train": {"tasks": len(train), "passed": sum(r.outcome == "pass" for r in learned)},
        "selection_passes_of_random_sets": passes,
        "test_tasks": len(test),
        "detectable_lift": detectable_lift(len(test)),
        "arms": {name: _summary(items) for name, items in runs.items()},
        "skill_against": {
            name: compare_paired(items, runs[SKILL]).model_dump(
                mode="json", exclude={"broken", "fixed"}
            )
            for name, items in runs.items()
            if name != SKILL
        },
        "rules": rules,
        "examples": [{"task": task, "answer": answer} for task, answer in examples],
        "answers": {
            name: {item.task_id: item.answer for item in items} for name, items in runs.items()
        },
        "calls": bench.calls,
        "seconds": round(time.monotonic() - started),
        "command": "python benchmarks/demo_lift.py",
    }


def _summary(items: Sequence[ItemRecord]) -> dict[str, Any]:
    passed = sum(item.outcome == "pass" for item in items)
    strata = sorted({item.stratum for item in items})
    return {
        "passed": passed,
        "of": len(items),
        "ci95": wilson(passed, len(items)),
        "strata": {
            name: [
                sum(item.outcome == "pass" for item in items if item.stratum == name),
                sum(item.stratum == name for item in items),
            ]
            for name in strata
        },
    }


def main() -> None:
    """Measure, print the arms, keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("evals/results/demo_lift.json"))
    parser.add_argument("--test", type=int, default=200)
    wanted = parser.parse_args()
    result = asyncio.run(measure(wanted.test))
    write_atomic(wanted.out, json.dumps(result, indent=2) + "\n")
    for name, arm in result["arms"].items():
        print(f"{name:30} {arm['passed']}/{arm['of']}  {arm['ci95'][0]:.3f}-{arm['ci95'][1]:.3f}")


if __name__ == "__main__":
    main()

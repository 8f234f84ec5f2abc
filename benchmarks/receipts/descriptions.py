"""Clients' use of evolved skills: generated descriptions beside the earlier ones and ours.

    python -m benchmarks.receipts.descriptions [--model SPEC] [--agent choose] [--runs FOLDER]

Six skills are evolved from train tasks of our own corpora (worked examples, no model), so that each
describes itself by its tasks; the arm `earlier` has the sentence that every new skill had before,
`by hand` what we wrote. Each arm is one run of `harness skill trigger` over a library of the six,
on the written queries of `evals/trigger/evolved.yaml` and on prompts of the test split, which no
description was made from. The default model is the simulated librarian, SIMULATED: it opens the
skill that shares most words with the query, two or more. Ask a real one before you believe a row:
`--model local/qwen2.5-coder-1.5b --agent choose`. Arms that the result has of that model are not
run again; a run that was stopped is gone on with.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, benchmark, earlier_report, out_or_resume, report
from harness.core import AgentInfo, Step, Task, Trajectory, read_yaml
from harness.corpora import Split, generate
from harness.evolve import EvolveOptions, evolve
from harness.receipts.trigger import TriggerSettings, run_trigger
from harness.skills import load_skill, new_skill, write_skill

QUERIES = Path("evals/trigger/evolved.yaml")
# Skill -> the corpus whose tasks teach it; the order book is made here.
SKILLS = {
    "workbook-cleaning": "ledger",
    "chart-reading": "folio",
    "long-documents": "dossier",
    "document-search": "institute",
    "passage-answers": "almanac",
    "order-books": "",
}
TAUGHT, TRIED = 60, 8  # train tasks of a skill, and prompts of its test split that are asked
EARLIER = "Rules for {words}, distilled from many agent runs. Use for tasks of {words}."
_CUSTOMERS = ("Ashford", "Birchall", "Wexley", "Dunmore")
_ITEMS = ("ink", "paper", "string", "wax")
_QUESTIONS = (
    "What is the total price of the orders of {customer}?",
    "How many orders did {customer} place?",
    "What is the date of the first order of {customer}?",
    "What share of the orders of {customer} is paid?",
    "What is the total weight of {item} ordered?",
    "Which customers ordered {item}?",
)


def tasks_of(name: str, split: Split, limit: int, folder: Path) -> list[Task]:
    """Tasks of one skill's corpus."""
    corpus = SKILLS[name]
    if not corpus:
        return [order_task(split, number) for number in range(limit)]
    out = folder / corpus / split
    generate(corpus, out, split, limit)
    lines = (out / f"{split}.jsonl").read_text("utf-8").splitlines()
    return [Task.model_validate_json(line) for line in lines[:limit]]


def order_task(split: str, number: int) -> Task:
    """A question about an order book; the book and the question are drawn from split and number."""
    draw = random.Random(f"{split}-{number}")
    lines = [
        f"| {line} | {draw.choice(_CUSTOMERS)} | {draw.choice(_ITEMS)} | {draw.randrange(4000)} | "
        f"{draw.uniform(1, 90):.2f} | {draw.choice(('paid', 'open', 'cancelled'))} |"
        for line in range(1, 9)
    ]
    question = draw.choice(_QUESTIONS).format(
        customer=draw.choice(_CUSTOMERS), item=draw.choice(_ITEMS)
    )
    table = "\n".join(["| line | customer | item | grams | price | state |", *lines])
    return Task(id=f"orders-{split}-{number}", prompt=f"Question: {question}\n\n{table}")


def evolve_one(name: str, folder: Path) -> str:
    """The description of a skill that is evolved from passing runs of its train tasks."""
    runs = folder / "runs" / name
    runs.mkdir(parents=True)
    for task in tasks_of(name, "train", TAUGHT, folder):
        plain = task.model_dump(mode="json", include={"prompt", "files"})
        trajectory = Trajectory(
            trajectory_id=task.id,
            agent=AgentInfo(name="none", version="0"),
            steps=(
                Step(step_id=1, source="user", message=task.prompt),
                Step(step_id=2, source="agent", message=str(task.answer)),
            ),
            extra={"harness": {"task_id": task.id, "task": plain, "outcome": "pass"}},
        )
        text = trajectory.model_dump_json(exclude_none=True)
        (runs / f"{task.id}.json").write_text(text, "utf-8")
    options = EvolveOptions(
        out=folder / "evolved" / name, create=name, analyst="exemplar", trajectories=runs
    )
    return load_skill(Path(asyncio.run(evolve(options)).skill)).description


def unseen(folder: Path) -> list[dict[str, str]]:
    """Prompts of the test split of every skill, as queries that should load it."""
    return [
        {"query": " ".join(task.prompt.split())[:400], "expect": name}
        for name in SKILLS
        for task in tasks_of(name, "test", TRIED, folder)
    ]


def library(descriptions: dict[str, str], folder: Path) -> Path:
    """A folder with a skill of each name."""
    for name, description in descriptions.items():
        write_skill(new_skill(name, description), folder / name)
    return folder


@benchmark(
    model="simulated/librarian",
    agent="graph:react",
    runs=Path("runs/descriptions"),
    out=Path("evals/results/descriptions.json"),
)
def main(options: Options) -> None:
    result: dict[str, Any] = earlier_report(options.out)
    with tempfile.TemporaryDirectory() as folder:
        evolved = {name: evolve_one(name, Path(folder)) for name in SKILLS}
        written: dict[str, str] = read_yaml(QUERIES)["descriptions"]
        arms = {
            "generated": evolved,
            "earlier": {name: EARLIER.format(words=name.replace("-", " ")) for name in SKILLS},
            "by hand": written,
        }
        queries = Path(folder) / "queries.json"
        queries.write_text(json.dumps([*read_yaml(QUERIES)["queries"], *unseen(Path(folder))]))
        result["command"] = "python -m benchmarks.receipts.descriptions"
        rows = result.setdefault(options.model, {})
        for arm, descriptions in arms.items():
            if arm in rows and rows[arm]["descriptions"] == descriptions:
                continue
            run = options.runs / options.model.replace("/", "-") / arm.replace(" ", "-")
            figures = run_trigger(
                TriggerSettings.model_validate(
                    {
                        "skill": library(descriptions, Path(folder) / arm),
                        "queries": queries,
                        "models": (options.model,),
                        "agent": options.agent,
                        "concurrency": 2,
                        **out_or_resume(run),
                    }
                )
            )
            rows[arm] = {"descriptions": descriptions, **figures.model_dump(mode="json")}
            report(result, options.out)
    for arm in arms:
        skills = rows[arm]["skills"]
        for share in ("recall", "precision"):
            hits = sum(skill[share]["hits"] for skill in skills)
            total = sum(skill[share]["n"] for skill in skills)
            print(f"{arm:10} {share:9} {hits} of {total}")

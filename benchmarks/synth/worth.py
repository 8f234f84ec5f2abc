"""Worth of the factory's tasks: a skill learned from them beside one from human questions.

    python -m benchmarks.synth.worth QUESTIONS [--kind table|fog] [--model SPEC] [--base-url URL]

QUESTIONS are those of WikiTableQuestions (`.jsonl`, or a published `.tsv`). Of every table up to
`--each` human questions teach and the others are held out. From the same tables the factory makes
tasks, without a model; of a table both skills learn from equally many. Each skill is learned by
`evolve --analyst answers`, without a gate; then one model answers the held-out human questions
without a skill and with either: these runs are what a gate on human tasks would see. Only questions
with a single answer are taken, and the table stands in the prompt. A run that was stopped resumes.
"""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from benchmarks.reports import Options, Result, benchmark, option, out_or_resume, share_interval
from harness.api import compare_runs, evaluate, evolve
from harness.core import BadInput, HarnessError, Task, grouped
from harness.corpora import write_tasks
from harness.corpora.tables import TableQuestion, wikitablequestions
from harness.synth.factory import write_suite
from harness.synth.registry import suite_tasks
from harness.synth.session import SynthCommand, synthesise

SETTINGS: dict[str, JsonValue] = {
    "agent": "graph:answer",
    "skill_mode": "preloaded",
    "sampling": {"temperature": 0.0, "max_tokens": 32, "stop": ["\n"]},
}


def prompt_of(table: str, question: str) -> str:
    """A question on a table, in the form that `graph:answer` shows to every model."""
    return f"Text: {table.strip()}\nQuestion: {' '.join(question.split())}\nAnswer:"


def human_task(question: TableQuestion, table: str) -> Task:
    """A question of people, with the table in its prompt."""
    prompt = prompt_of(table, question.question)
    return Task(id=question.id, prompt=prompt, answer=list(question.answers), check="em")


def made_task(task: Task, folder: Path, table: str, name: str) -> Task:
    """A task of the factory whose files have become texts of the prompt and of the answer."""
    answer = task.answer
    if "table.csv" in task.files:
        table = (folder / task.files["table.csv"]).read_text("utf-8")
        answer = (folder / str(task.answer)).read_text("utf-8").strip()
    prompt = prompt_of(table, task.prompt)
    return Task(id=f"{name}-{task.id}", prompt=prompt, answer=answer, check="em")


def synthesised(path: Path, kind: str, count: int, out: Path, model: str) -> list[Task]:
    """Up to so many tasks that the factory accepts from a table; none where it can use none.

    The model is named, as a factory must have one, and not asked: both kinds are made by programs.
    """
    settings = SynthCommand(
        source=path, kind=kind, n=count, models=(model,), out=out, sandbox="none"
    )
    try:
        asyncio.run(synthesise(settings))
    except HarnessError as error:
        print(f"{path.stem}: {error}")
        return []
    return suite_tasks(str(out))


def write_arms(
    questions: Path, runs: Path, kind: str, per_group: int, characters: int, model: str
) -> None:
    """Write the suites `human` and `synthesised`, which teach, and `held-out`."""
    tables = grouped(
        (question.cells, question)
        for question in wikitablequestions(questions)
        if len(question.answers) == 1
    )
    arms: dict[str, list[Task]] = {"human": [], "synthesised": [], "held-out": []}
    (runs / "tables").mkdir(parents=True, exist_ok=True)
    for number, (cells, group) in enumerate(tables.items()):
        path = runs / "tables" / f"table-{number:03d}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(cells)
        table = path.read_text("utf-8")
        if len(table) > characters:
            continue
        folder = runs / "factory" / path.stem
        synthetic = synthesised(path, kind, min(per_group, len(group) // 2), folder, model)
        rows = [human_task(question, table) for question in group]
        arms["human"] += rows[: len(synthetic)]
        arms["synthesised"] += [made_task(task, folder, table, path.stem) for task in synthetic]
        arms["held-out"] += rows[len(synthetic) :]
    if not arms["synthesised"]:
        raise BadInput(f"the factory makes no task of the kind {kind!r} from these tables")
    for name, tasks in arms.items():
        # Of a suite without splits `evolve` and `eval` would take a part each.
        split = "test" if name == "held-out" else "train"
        write_tasks(tasks, runs / name, split)
        write_suite(runs / name / "suite.yaml", name, {split: f"{split}.jsonl"}, SETTINGS)


@benchmark(
    "questions",
    kind=option(default="table", choices=["table", "fog"]),
    each=2,
    characters=2500,
    limit=1000,
    model="local/qwen2.5-coder-0.5b",
    base_url=option(default=None),
    runs=Path("runs/worth"),
    out=option(type=Path, default=None),
)
def main(options: Options) -> Result:
    """Make the tasks, learn both skills, and ask the held-out questions."""
    runs: Path = options.runs
    if not (runs / "held-out" / "suite.yaml").is_file():
        write_arms(
            options.questions, runs, options.kind, options.each, options.characters, options.model
        )
    settings: dict[str, Any] = {
        "model": options.model, "base_url": options.base_url, "limit": options.limit,
        "sandbox": "none", "progress": False,
    }  # fmt: skip
    rates: dict[str, Any] = {}
    for arm in ("none", "human", "synthesised"):
        learned: dict[str, Any] = {}
        if arm != "none":
            suite = str(runs / arm / "suite.yaml")
            evolution = evolve(
                runs / "evolved" / arm, suite=suite, create="table-questions",
                analyst="answers", gate="none", **settings,
            )  # fmt: skip
            learned = {"skill": evolution.skill}
        folder = runs / "evals" / arm
        held_out = str(runs / "held-out" / "suite.yaml")
        result = evaluate(held_out, **settings, **learned, **out_or_resume(folder))
        passed = sum(item.outcome == "pass" for item in result.samples)
        rates[arm] = {"passed": passed, "tasks": result.items, "tokens": result.tokens,
                      "ci95": share_interval(passed, result.items)}  # fmt: skip
    pairs = [("human", "synthesised"), ("none", "human"), ("none", "synthesised")]
    compared = [(a, b, compare_runs(runs / "evals" / a, runs / "evals" / b)) for a, b in pairs]
    return {
            "command": "python -m benchmarks.synth.worth QUESTIONS", "kind": options.kind,
            "model": options.model,
            "learned_from": min(
                options.limit, len(suite_tasks(str(runs / "synthesised" / "suite.yaml")))
            ),
            "held_out": rates,
            "differences": [
                {"of": after, "less": before, **comparison.paired.model_dump(mode="json")}
                for before, after, comparison in compared
            ],
        }  # fmt: skip

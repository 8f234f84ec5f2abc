"""Functions that were made from templated prompts, on the same wishes in other words.

Run: python -m benchmarks.evolution.wordings [--model SPEC [--base-url URL]] \\
         [--out evals/results/wordings.json]

`labels/wordings.jsonl` words test tasks of `wire` anew: three of each kind that train has, one of
each kind that it lacks. The wordings were written in this house, before anything was run on them,
but by somebody who knew the templates: they are no sample of what users write. Inputs and checks
are those of the tasks.

Without a model it says how many wordings code can match to a train template, and how many pairs of
one kind are alike enough for `evolve --analyst programs`. With one, it runs the rungs of
`harness skill ladder skills/log-wrangling --suite wire --rungs nearest` on them: the gold examples
nearest to each task, the functions without a model, and the skill, by kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.core import Task, assets, loops, read_rows
from harness.evals import LoadedSuite, budget_of, load_suite
from harness.evolve.scripts.prompts import alike, plain
from harness.receipts.ladder.no_model import NO_FUNCTION, matcher_of, replies_without_model
from harness.receipts.ladder.plan import LadderSettings, prepare
from harness.receipts.ladder.session import climb
from harness.skills import load_skill

SUITE, SKILL, EXAMPLES = "wire", "log-wrangling", "evals/examples/wire.jsonl"
WORDINGS = Path(__file__).parent / "labels" / "wordings.jsonl"


def reworded() -> LoadedSuite:
    """The test tasks that are worded anew, with the new prompts."""
    suite = load_suite(SUITE, "test")
    prompts = {str(row["id"]): str(row["prompt"]) for _, row in read_rows(WORDINGS)}
    tasks = tuple(
        task.model_copy(update={"prompt": prompts[task.id]})
        for task in suite.tasks
        if task.id in prompts
    )
    return suite.model_copy(update={"tasks": tasks})


def pairs_alike(templates: Iterable[Task], tasks: Iterable[Task]) -> dict[str, list[int]]:
    """Count pairs of prompts of one kind that are alike: [alike, all].

    Args:
        templates: the tasks as they were worded.
        tasks: the same ones in other words.

    Returns:
        Counts among the new wordings, and between each and its old one.
    """
    old = {task.id: plain(task.prompt) for task in templates}
    new = [(str(task.meta["kind"]), task.id, plain(task.prompt)) for task in tasks]
    among = [alike(a, b) for (k, _, a), (m, _, b) in combinations(new, 2) if k == m]
    between = [alike(old[id_], words) for _, id_, words in new]
    return {
        "pairs_alike_among_wordings": [sum(among), len(among)],
        "pairs_alike_with_template": [sum(between), len(between)],
    }


def climbed(settings: LadderSettings, suite: LoadedSuite, out: Path) -> dict[str, Any]:
    """Run the rungs of a ladder on other tasks than those of its suite: passes by rung and kind.

    Args:
        settings: of the ladder; its suite has the train tasks and the prompts that examples show.
        suite: the tasks to attempt.
        out: folder of the runs, which are resumed.
    """
    prepared = prepare(settings, out)
    train = load_suite(settings.suite, "train").tasks
    replies = replies_without_model(matcher_of(prepared.skill, train), suite.tasks)
    prepared = replace(prepared, suite=suite, replies=replies)
    records = loops.run(climb(settings, prepared, "", out, budget_of(settings), print, None))
    kinds = {task.id: str(task.meta["kind"]) for task in suite.tasks}
    return {
        rung.name: {
            "passed": sum(row.outcome == "pass" for row in rows),
            "valid": sum(row.outcome != "invalid" for row in rows),
            "tokens_per_task": round(sum(row.tokens for row in rows) / len(rows)),
            "passed_by_kind": dict(Counter(kinds[r.task] for r in rows if r.outcome == "pass")),
        }
        for rung in records.header.rungs
        for rows in [[row for row in records.rows if row.rung == rung.name]]
    }


@benchmark(
    model=option(help="spec; without it no model is asked"),
    base_url=option(),
    concurrency=4,
    runs=Path("runs/wordings"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    suite, folder = reworded(), assets.root() / "skills" / SKILL
    matcher = matcher_of(load_skill(folder), load_suite(SUITE, "train").tasks)
    replies = replies_without_model(matcher, suite.tasks)
    result: dict[str, Any] = {
        "command": "python -m benchmarks.evolution.wordings",
        "suite": SUITE,
        "tasks": len(suite.tasks),
        "kinds": len({str(task.meta["kind"]) for task in suite.tasks}),
        "matched_without_model": sum(reply != NO_FUNCTION for reply in replies.values()),
        **pairs_alike(load_suite(SUITE, "test").tasks, suite.tasks),
    }
    if options.model is not None:
        settings = LadderSettings(
            skill=folder, suite=SUITE, examples=EXAMPLES, rungs="nearest", out=options.runs,
            models=(options.model,), base_url=options.base_url, concurrency=options.concurrency,
        )  # fmt: skip
        result |= {"model": options.model, "rungs": climbed(settings, suite, options.runs)}
    return result

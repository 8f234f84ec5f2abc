"""The tableqa family: a question about a table in a workbook; the answer goes into a sheet.

| metric | pass |
|---|---|
| `denotation` | the items denote what the gold's do (WikiTableQuestions) |
| `ordered` | the items are the gold's in their order, numbers within 1e-5 (HiTab) |
"""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput, Score, Task, failed, passed, render
from harness.tasks.answers import accepted_answers
from harness.tasks.inputs import copy_inputs
from harness.tasks.tableqa.denotation import item_of, normalised, same_denotation
from harness.tasks.tableqa.hierarchical import same_list
from harness.tasks.tableqa.sheet import ANSWER_SHEET, OUTPUT_NAME, written_items

__all__ = ["TableFamily", "item_of", "judge_items", "normalised", "same_denotation", "same_list"]

INPUT_NAME = "input.xlsx"
METRICS = ("denotation", "ordered")


class TableFamily:
    """Judges column A of the sheet `Answer` in `output.xlsx`, an item a cell.

    A task whose meta has `form: reply` is judged by the lines of the final answer instead.
    """

    name = "tableqa"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.types.Family.prepare`."""
        _wanted(task)
        if INPUT_NAME not in task.files:
            raise BadInput(f"task {task.id!r}: expected the file {INPUT_NAME!r}, found none")
        copy_inputs(task, base, workdir)
        return render(
            "table_task",
            question=task.prompt,
            input_name=INPUT_NAME,
            output_name="" if _by_reply(task) else OUTPUT_NAME,
            sheet=ANSWER_SHEET,
            ordered=_metric(task) == "ordered",
        )

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the items that were written."""
        if _by_reply(task):
            items = [line.strip() for line in (answer or "").splitlines() if line.strip()]
            return judge_items(task, items) if items else failed("there is no final answer")
        try:
            items = written_items(workdir / OUTPUT_NAME)
        except BadInput as error:
            return failed(str(error))
        return judge_items(task, items)


def judge_items(task: Task, items: list[str]) -> Score:
    """Judge the items of an answer by the task's metric.

    Raises:
        BadInput: if the task has no such metric, or canonical forms that do not fit its answer.
    """
    gold, forms = _wanted(task)
    if _metric(task) == "ordered":
        ok = same_list(gold, items)
    else:
        wanted = [item_of(text, form) for text, form in zip(gold, forms, strict=True)]
        ok = same_denotation(wanted, [item_of(text) for text in items])
    if ok:
        return passed(items=len(items))
    return failed(f"expected {gold!r:.300}, got {items!r:.300}", items=len(items))


def _metric(task: Task) -> str:
    metric = task.meta.get("metric", METRICS[0])
    if metric not in METRICS:
        raise BadInput(
            f"task {task.id!r}: expected meta 'metric' to be one of {', '.join(METRICS)}, "
            f"found {metric!r}"
        )
    return str(metric)


def _wanted(task: Task) -> tuple[list[str], list[str]]:
    """The answer's items and their canonical forms, which only `denotation` looks at."""
    gold = accepted_answers(task)
    forms = task.meta.get("canonical") if _metric(task) == "denotation" else None
    forms = forms or [""] * len(gold)
    if not isinstance(forms, list) or len(forms) != len(gold):
        raise BadInput(
            f"task {task.id!r}: expected meta 'canonical' with {len(gold)} items, "
            f"found {forms!r:.200}"
        )
    return gold, [str(form) for form in forms]


def _by_reply(task: Task) -> bool:
    return task.meta.get("form") == "reply"

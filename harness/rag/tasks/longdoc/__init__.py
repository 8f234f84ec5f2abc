"""The longdoc family: a question over long documents, each a text file in the work folder."""

from __future__ import annotations

from pathlib import Path

from harness.core import Score, Task
from harness.rag.tasks.reading import check, judge, metric_of, with_form
from harness.sandbox import Sandbox
from harness.tasks.inputs import copy_inputs


class LongDocFamily:
    """Judges the answer by the task's metric, and its citations by the gold evidence."""

    name = "longdoc"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """Take the sandbox, as every family does; no code of a suite runs here."""

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.types.Family.prepare`."""
        check(task)
        metric = metric_of(task)
        copy_inputs(task, base, workdir)
        choices = task.meta.get("choices", {})
        listed = choices.items() if isinstance(choices, dict) and metric != "classes" else ()
        parts = [task.prompt, *(f"{letter}. {text}" for letter, text in listed if text)]
        return with_form("\n".join(parts), metric)

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; `detail` has support and joint figures where there is gold."""
        return judge(task, answer)

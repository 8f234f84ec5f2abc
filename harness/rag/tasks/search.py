"""The search family: a question over many documents, which the agent finds by searching.

The work folder holds one file, `documents.jsonl`, with a document a line; the tools `search` and
`read` work on it. Sets that come without documents leave it out: the agent brings its own.
"""

from __future__ import annotations

from pathlib import Path

from harness.core import Score, Task
from harness.rag.tasks.reading import check, judge, metric_of, with_form
from harness.sandbox import Sandbox
from harness.tasks import copy_inputs


class SearchFamily:
    """Judges the answer by the task's metric, and its citations by the gold evidence."""

    name = "search"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """Take the sandbox, as every family does; no code of a suite runs here."""

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.Family.prepare`."""
        check(task)
        copy_inputs(task, base, workdir)
        return with_form(self.question(task), metric_of(task))

    def question(self, task: Task) -> str:
        """The prompt, as the agent reads it before the form of the answer."""
        return task.prompt

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; `detail` has support and joint figures where there is gold."""
        return judge(task, answer)

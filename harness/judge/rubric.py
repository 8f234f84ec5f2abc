"""The check `rubric`: a model decides whether an answer meets a suite's criteria."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Score, Task, failed, invalid, loops, passed
from harness.judge.direct import DirectJudge
from harness.judge.types import Question, Verdict
from harness.tasks import JudgeSettings, ModelJudge, copy_inputs


class RubricFamily:
    """Judges by criteria: `meta.rubric` of the task, else those of the suite's `judge:`.

    An `answer` of the task is shown to the judge as a right one. Votes that cannot be read are
    counted; without a majority of valid ones the attempt is invalid, not failed.
    """

    name = "rubric"

    def __init__(self, judge: ModelJudge) -> None:
        self._judge = judge
        self._loop = _running()

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.Family.prepare`."""
        question_of(task, self._judge.settings)
        copy_inputs(task, base, workdir)
        return task.prompt

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """See :meth:`harness.tasks.Family.score`. Called beside the event loop of the run, whose
        connections and limits the judge shares.
        """
        settings = self._judge.settings
        if not (answer or "").strip():
            return failed("there is no final answer")
        question = question_of(task, settings)
        judge = DirectJudge(self._judge.model, votes=settings.votes)
        work = judge.rate(question, answer or "")
        if self._loop is None or self._loop is _running():
            return score_of(loops.run(work), settings.threshold)
        return score_of(
            asyncio.run_coroutine_threadsafe(work, self._loop).result(), settings.threshold
        )


def question_of(task: Task, settings: JudgeSettings) -> Question:
    """Make the judge's question about a task.

    Raises:
        BadInput: if there are no criteria, or they or the reference are no text.
    """
    rubric = task.meta.get("rubric", settings.rubric)
    if isinstance(rubric, list):
        rubric = "\n".join(f"- {line}" for line in rubric)
    if not isinstance(rubric, str) or not rubric.strip():
        raise BadInput(
            f"task {task.id!r}: expected criteria in 'judge: rubric' of the suite or in "
            f"'meta.rubric' of the task, found {rubric!r:.80}"
        )
    answers = cast("list[Any]", task.answer if isinstance(task.answer, list) else [task.answer])
    reference = "\n".join(str(answer) for answer in answers if answer is not None)
    return Question(prompt=task.prompt, rubric=rubric, reference=reference)


def score_of(verdict: Verdict, threshold: float) -> Score:
    """A verdict on one answer as a score; what the judge used is in the detail `judge`."""
    used: dict[str, Any] = {
        "usage": verdict.usage.model_dump(mode="json"),
        "votes": verdict.votes,
        "lost": verdict.lost,
    }
    if verdict.score is None:
        return invalid(f"the judge: {verdict.invalid}", judge=used)
    used["evidence"] = [seen.model_dump(mode="json") for seen in verdict.evidence]
    if verdict.score >= threshold:
        return passed(value=verdict.score, judge=used)
    unmet = [seen.criterion for seen in verdict.evidence if seen.decision == "unmet"]
    reason = verdict.evidence[0].observation if verdict.evidence else ""
    summary = f"unmet: {'; '.join(unmet)}; {reason}" if unmet else reason
    reason = f"{summary} (score {verdict.score:.2f}, below {threshold:g})"
    return failed(reason, verdict.score, judge=used)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

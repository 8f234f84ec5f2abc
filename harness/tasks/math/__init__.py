"""The math family: a problem with one final answer, compared by math-verify and not by its text."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput, Score, Task, failed, invalid, passed, render
from harness.tasks.answers import accepted_answers
from harness.tasks.inputs import copy_inputs
from harness.tasks.math.verifying import Verified, require, verify
from harness.tasks.math.words import same_words

__all__ = ["MathFamily", "Verified", "judge_math", "verify"]


class MathFamily:
    """Judges the last boxed answer of a reply, or else its last formula or number."""

    name = "math"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.types.Family.prepare`."""
        require()
        if any(not one.strip() for one in accepted_answers(task)):
            raise BadInput(f"task {task.id!r}: expected an answer, found an empty one")
        copy_inputs(task, base, workdir)
        return render("math_task", problem=task.prompt)

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer.

        An answer that cannot be compared within the bounds fails: it is the reply that asked for
        so much. A gold answer that cannot be read makes the attempt invalid.
        """
        return judge_math(accepted_answers(task), answer)


def judge_math(accepted: list[str], answer: str | None) -> Score:
    """A pass if the reply equals one of the accepted answers.

    Args:
        accepted: LaTeX, numbers, or words (`\\text{even}`).
        answer: the reply.

    Raises:
        BadInput: if math-verify is missing.
    """
    if answer is None or not answer.strip():
        return failed("there is no final answer")
    found: list[Verified] = []
    for gold in accepted:
        if same_words(gold, answer):
            return passed(read=gold)
        found.append(verify(gold, answer))
        if found[-1].ok:
            return passed(read=found[-1].answer)
    last = found[-1]
    if last.error:
        return failed(f"the answer could not be compared: {last.error}")
    if all(one.gold is None for one in found):
        return invalid(f"the gold answer {accepted[0]!r:.200} cannot be read")
    read = "no formula and no number" if last.answer is None else repr(last.answer)
    return failed(f"expected {accepted[0]!r:.200}, read {read} in the reply", read=last.answer)

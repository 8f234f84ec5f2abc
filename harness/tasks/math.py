"""The math family: a problem with one final answer, compared by math-verify and not by its text.

math-verify runs in processes of its own, bounded in processor time and memory. Answers that are
words, which it would read as a product of letters, are compared here.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.core import BadInput, Score, Task, failed, invalid, passed, plain, render
from harness.core.plugins import install_command
from harness.corpora import last_box
from harness.tasks.answers import accepted_answers
from harness.tasks.bounded import Unusable, workers
from harness.tasks.families import copy_inputs

MOST_TEXT = 4000
"""Characters of a reply that are looked at: from its last box on, or else its end."""
_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[^\W\d_][^\W\d_' -]*")


class MathFamily:
    """Judges the last boxed answer of a reply, or else its last formula or number."""

    name = "math"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.Family.prepare`."""
        require()
        if not all(gold.strip() for gold in accepted_answers(task)):
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
    answer = plain(answer)
    comparisons: list[dict[str, Any]] = []
    for gold in map(plain, accepted):
        if same_words(gold, answer):
            return passed(read=gold)
        comparisons.append(verify(gold, answer))
        if comparisons[-1]["ok"]:
            return passed(read=comparisons[-1]["answer"])
    last = comparisons[-1]
    if last.get("error"):
        return failed(f"the answer could not be compared: {last['error']}")
    if all(comparison["gold"] is None for comparison in comparisons):
        return invalid(f"the gold answer {accepted[0]!r:.200} cannot be read")
    read = "no formula and no number" if last["answer"] is None else repr(last["answer"])
    return failed(f"expected {accepted[0]!r:.200}, read {read} in the reply", read=last["answer"])


def same_words(gold: str, reply: str) -> bool:
    """Return True if gold and the reply's last box, or the whole reply, are the same words.

    Only a gold answer that is text alone counts: letters outside `\\text{}` are variables, and `xy`
    is not `yx` as a word.
    """
    if _TEXT.sub("", gold).strip():
        return False
    words = _plain(gold)
    if not _WORDS.fullmatch(words):
        return False
    boxed = last_box(reply)
    return words == _plain(reply if boxed is None else boxed)


def _plain(text: str) -> str:
    inner = _TEXT.sub(r"\1", text).strip().strip("$").strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    return " ".join(inner.rstrip(".").casefold().split())


def require() -> None:
    """Find out whether math-verify is there, before a model call is paid for.

    Raises:
        BadInput: if it is not.
    """
    if find_spec("math_verify") is None:
        raise BadInput(f"math tasks need math-verify: {install_command('math')}")


def verify(gold: str, reply: str) -> dict[str, Any]:
    """Compare a reply's final answer with the gold answer by math-verify (Apache-2.0).

    Its last boxed answer counts, or else its last formula or number. May be called in any thread.

    Args:
        gold: LaTeX or a number.
        reply: of any length; the end of it is looked at.

    Raises:
        BadInput: if math-verify is missing, or cannot be started.
    """
    require()
    try:
        return workers("math").call("compare", gold, tail(reply), about="the answer")
    except Unusable as error:
        return {"ok": False, "gold": None, "answer": None, "error": str(error)}


def tail(reply: str) -> str:
    """The part of a reply in which its answer stands."""
    if len(reply) <= MOST_TEXT:
        return reply
    boxed = reply.rfind("\\boxed")
    return reply[boxed : boxed + MOST_TEXT] if boxed >= 0 else reply[-MOST_TEXT:]

"""The math family: what counts as equal, and what hostile answers cost."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from harness.core import BadInput, Task
from harness.tasks import family, judge_math
from harness.tasks.bounded import Overlong, Workers
from harness.tasks.math import MOST_TEXT, tail

HERE = Path()
EQUAL = [
    # numbers
    ("18", "The total is 18."), ("18", "A: 18"), ("18", r"\boxed{18}"), ("18", r"\boxed{18.0}"),
    ("1234", r"\boxed{1,234}"), ("70000", "She made $70,000."), ("-3", r"\boxed{-3}"),
    ("0.5", r"\boxed{\frac12}"), ("2.5", r"so we get $x = \frac{5}{2}$"), ("45", r"\boxed{045}"),
    # fractions, roots, powers
    (r"\frac{1}{2}", r"\boxed{\dfrac{2}{4}}"), (r"\frac{1}{2}", "1/2"),
    (r"\frac{14}{3}", r"\boxed{4\frac{2}{3}}"), (r"2\sqrt{3}", r"\boxed{\sqrt{12}}"),
    (r"\frac{\sqrt{2}}{2}", r"\boxed{\frac{1}{\sqrt{2}}}"), ("2^{10}", r"\boxed{1024}"),
    (r"\frac{\pi}{4}", r"\boxed{0.25\pi}"), (r"3\sqrt[3]{2}", r"\boxed{\sqrt[3]{54}}"),
    # expressions
    ("x^2+2x+1", r"\boxed{(x+1)^2}"), ("2x-y", r"\boxed{-y+2x}"), ("6 - 5i", r"\boxed{-5i+6}"),
    (r"\cot x", r"\boxed{\frac{\cos x}{\sin x}}"), ("5", r"\boxed{x = 5}"),
    # sets, tuples, intervals, matrices
    ("1,2,3", r"\boxed{3, 1, 2}"), (r"\{1, -2\}", r"\boxed{\{-2, 1\}}"),
    ("(3, -1)", r"\boxed{(3,-1)}"), (r"\left( 3, \frac{\pi}{2} \right)", r"\boxed{(3, \pi/2)}"),
    ("[0, 1)", r"\boxed{\left[0,1\right)}"), (r"(-\infty, 2]", r"\boxed{(-\infty, 2]}"),
    (r"(0,1) \cup (2,3)", r"\boxed{(2,3)\cup(0,1)}"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
     r"\boxed{\begin{bmatrix}1&2\\3&4\end{bmatrix}}"),
    # percent, units, degrees, money
    ("10\\%", r"\boxed{10\%}"), ("25", r"\boxed{25\%}"), (r"12\text{ cm}", r"\boxed{12}"),
    (r"90^\circ", r"\boxed{90}"), (r"5.4 \text{ cents}", r"\boxed{5.4}"), ("36", r"\boxed{\$36}"),
    # words
    (r"\text{east}", r"\boxed{East}"), (r"\text{even}", r"\boxed{\text{even}}"),
    (r"\text{(C)}", r"\boxed{C}"), (r"\text{Evelyn}", "Evelyn"),
]  # fmt: skip
UNEQUAL = [
    ("18", "17"), ("18", "180"), ("18", r"\boxed{18.5}"), ("-3", r"\boxed{3}"), ("18", "no idea"),
    (r"\frac{1}{2}", r"\boxed{\frac{1}{3}}"), (r"2\sqrt{3}", r"\boxed{2\sqrt{2}}"),
    ("1,2,3", r"\boxed{1,2}"), ("(3, -1)", r"\boxed{(-1, 3)}"), ("[0, 1)", r"\boxed{(0, 1]}"),
    ("x^2", r"\boxed{x^3}"), ("2x", r"\boxed{2y}"), (r"\text{east}", r"\boxed{west}"),
    (r"\text{(C)}", r"\boxed{B}"), ("3", r"\boxed{1} \boxed{2} \boxed{3}"),
    ("3", r"the answer is 3, or \boxed{4}"), (r"\text{east}", "either east or west"),
]  # fmt: skip
HOSTILE = [
    r"\boxed{9^{9^{9^9}}}", "10^10^10", "1" * 2_000_000, "(" * 3000 + "1" + ")" * 3000,
    r"\frac{" * 1000, "\x00\ud800 12", r"\boxed{" * 200_000, "answer " * 500_000, "1 " * 2000,
]  # fmt: skip


@pytest.mark.parametrize(("gold", "reply"), EQUAL)
def test_equal(gold: str, reply: str) -> None:
    assert judge_math([gold], reply).outcome == "pass"


@pytest.mark.parametrize(("gold", "reply"), UNEQUAL)
def test_unequal(gold: str, reply: str) -> None:
    assert judge_math([gold], reply).outcome == "fail"


def test_hostile_answers_are_bounded() -> None:
    workers = Workers("math", seconds=1)
    started, limited = time.monotonic(), set[str]()
    for reply in HOSTILE:
        try:
            assert not workers.call("compare", "3", tail(reply))["ok"], reply
        except Overlong:
            limited.add(reply)
        except BadInput:
            continue
    assert {"10^10^10", r"\boxed{9^{9^{9^9}}}"} <= limited, "these have no end"
    assert workers.call("compare", "3", r"\boxed{3}")["ok"], "and the next one is judged"
    assert time.monotonic() - started < 120


def test_hanging_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is stopped uses no processor time, and never answers."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before = set(children.read_text().split())
    workers = Workers("patterns")
    assert workers.call("search", "a+", ["baa"])
    (pid,) = set(children.read_text().split()) - before
    os.kill(int(pid), signal.SIGSTOP)
    monkeypatch.setattr("harness.tasks.bounded.HANGING_S", 0.2)
    with pytest.raises(Overlong):
        workers.call("search", "a+", ["baa"])
    monkeypatch.undo()
    assert workers.call("search", "a+", ["baa"]), "and the next call is answered"
    workers.close()


def test_a_worker_that_cannot_be_started_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit(1)")
    monkeypatch.setattr("harness.tasks.bounded._WORKER", tmp_path / "ends.py")
    begun = Workers("math")
    monkeypatch.setattr("harness.tasks.math.workers", {"math": begun}.get)
    with pytest.raises(BadInput, match="no worker for math can be started"):
        judge_math(["3"], r"\boxed{3}")


def test_what_is_said_of_a_failure() -> None:
    assert judge_math(["3"], "").reason == "there is no final answer"
    assert judge_math(["3"], None).outcome == "fail"
    assert judge_math(["3"], r"\boxed{4}").reason == "expected '3', read '4' in the reply"
    assert "no formula and no number" in judge_math(["3"], "who knows").reason


def test_any_accepted_answer_passes() -> None:
    assert judge_math(["3", "4"], r"\boxed{4}").outcome == "pass"


def test_the_family(tmp_path: Path) -> None:
    task = Task(id="t", prompt="What is 1 + 1?", answer=2, check="math")
    prompt = family(task).prepare(task, HERE, tmp_path)
    assert task.prompt in prompt and r"\boxed{}" in prompt
    assert family(task).score(task, HERE, tmp_path, r"It is \boxed{2}.").outcome == "pass"
    empty = task.model_copy(update={"answer": " "})
    with pytest.raises(BadInput, match="empty"):
        family(empty).prepare(empty, HERE, tmp_path)


def test_the_end_of_a_long_reply_is_read() -> None:
    long = "7 " * MOST_TEXT
    assert judge_math(["3"], f"{long} so the answer is 3").outcome == "pass"
    assert judge_math(["3"], rf"\boxed{{3}} because {long}").outcome == "pass"
    assert len(tail(long)) == MOST_TEXT


def test_published_solutions_equal_their_own_answers(shared: Path) -> None:
    rows = (shared / "data" / "dev" / "math500.jsonl").read_text("utf-8").splitlines()
    drawn = random.Random(41).sample([json.loads(row) for row in rows], 40)
    missed = [
        row["answer"]
        for row in drawn
        if judge_math([row["answer"]], row["solution"]).outcome != "pass"
    ]
    assert missed == []


def test_recorded_solutions_are_judged_as_their_authors_judged_them(shared: Path) -> None:
    rows = (shared / "data" / "dev" / "gsm8k_test_recorded.jsonl").read_text("utf-8").splitlines()
    drawn = random.Random(41).sample([json.loads(row) for row in rows], 60)
    apart = [
        (row["ground_truth"][-20:], row[name]["solution"][-40:])
        for row in drawn
        for name in ("6b_finetuning", "175b_verification")
        if row[name]["is_correct"]
        is not (
            judge_math(
                [row["ground_truth"].rsplit("A:", 1)[1].strip()], row[name]["solution"]
            ).outcome
            == "pass"
        )
    ]
    assert apart == []

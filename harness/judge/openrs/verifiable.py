"""Comparisons of two answers that a program can make, before any model is asked.

A reference decides by number or by words. A constraint (`at most 50 words`) becomes a Python
function, written by a model that sees the constraint alone, kept only if it is right about its own
examples, and run in the sandbox: the official code executes it with all builtins in its own
process.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from collections.abc import Sequence
from typing import NamedTuple

from harness.core import Usage, listing, parse_json, plain, temporary_work_folder
from harness.judge.asking import ask, text_field
from harness.judge.types import Evidence, Preference, Question
from harness.models import Model
from harness.sandbox import Limits, Sandbox
from harness.tasks import read_number

LONGEST_CODE = 1500
LIMITS = Limits(wall_s=10, cpu_s=5, memory_mb=256, processes=16, output_bytes=100_000, disk_mb=8)
_RUN = """
import json, sys
marker, rows = sys.argv[1], json.load(open("answers.json", encoding="utf-8"))
space = {}
exec(compile(open("check.py", encoding="utf-8").read(), "check.py", "exec"), space)
verdicts = [bool(space["check"](row)) for row in rows]
print("\\n" + marker, json.dumps(verdicts))
"""
# Words of a reference that can be looked for in an answer.
_SHORT = 6
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w+")
_LEADS = frozenset({"is", "are", "was", "were", "answer", "option", "choice"})


class Verified(NamedTuple):
    """Findings of programs.

    Attributes:
        preference: A or B where they differ, else a tie: nothing is decided.
        evidence: of every check that ran.
        usage: of the calls that wrote checks.
    """

    preference: Preference
    evidence: tuple[Evidence, ...]
    usage: Usage


async def verify(
    question: Question, a: str, b: str, writer: Model, sandbox: Sandbox | None
) -> Verified:
    """Compare two answers by the reference, then by the constraints that can be verified.

    Args:
        question: its reference and constraints are looked at.
        a: the first answer.
        b: the second answer.
        writer: writes checks of constraints.
        sandbox: runs them; None leaves constraints out.
    """
    right = [matches_reference(question.reference, answer) for answer in (a, b)]
    if right[0] != right[1]:
        ahead: Preference = "A" if right[0] > right[1] else "B"
        seen = Evidence(criterion="reference", decision=ahead, source="reference")
        return Verified(ahead, (seen,), Usage())
    if sandbox is None or not question.constraints:
        return Verified("tie", (), Usage())
    rows = await asyncio.gather(
        *(holds(constraint, (a, b), writer, sandbox) for constraint in question.constraints)
    )
    usage = sum((used for _, used in rows), Usage())
    evidence: list[Evidence] = []
    balance = 0
    for constraint, (met, _) in zip(question.constraints, rows, strict=True):
        if met is not None:
            side: Preference = "tie" if met[0] == met[1] else "A" if met[0] else "B"
            balance += {"A": 1, "B": -1, "tie": 0}[side]
            evidence.append(Evidence(criterion=constraint, decision=side, source="verifier"))
    preference: Preference = "A" if balance > 0 else "B" if balance < 0 else "tie"
    return Verified(preference, tuple(evidence), usage)


def matches_reference(reference: str, answer: str) -> int:
    """1 where an answer agrees with the reference, -1 where it does not, 0 where none can tell.

    Of a number, the last number of the answer is compared; a reference of several numbers (a
    fraction, a date, a pair) is none. A few words must be the whole last line that is not empty, or
    stand at its end behind a word such as "is": a line that denies them or lists them among others
    names them, too. Another choice in their place is an error; another wording is no proof of one.
    """
    reference, answer = plain(reference), plain(answer)
    if not reference.strip() or not answer.strip():
        return 0
    if _NUMBER.fullmatch(reference.strip("%$€£. \n\t")):
        number, value = read_number(reference) or 0.0, read_number(answer)
        return (
            0 if value is None else 1 if abs(value - number) <= 1e-6 * max(1, abs(number)) else -1
        )
    last = [line for line in answer.splitlines() if line.strip()][-1]
    expected, words = _WORD.findall(reference), _WORD.findall(last)
    end, before = words[-len(expected) :], words[: -len(expected)]
    if not 0 < len(expected) <= _SHORT or (before and before[-1].lower() not in _LEADS):
        return 0
    if len(expected[0]) == len(expected) == 1 and expected[0].isupper():  # a choice
        choice = end[0] if end and len(end[0]) == 1 and end[0].isupper() else ""
        return 0 if not choice else 1 if choice == expected[0] else -1
    return int([word.lower() for word in end] == [word.lower() for word in expected])


async def holds(
    constraint: str, answers: Sequence[str], writer: Model, sandbox: Sandbox
) -> tuple[list[bool] | None, Usage]:
    """Test answers against a constraint; the second value is the use of writing the check.

    None where no check came about: it could not be written, failed its own examples, or crashed.
    """
    fields = {"code": text_field(LONGEST_CODE), "kept": text_field(), "broken": text_field()}
    written = await ask(writer, "openrs_check", {"constraint": constraint}, fields)
    if written.reply is None:
        return None, written.usage
    code, examples = written.reply["code"], [written.reply["kept"], written.reply["broken"]]
    verdicts = await asyncio.to_thread(run_check, code, [*examples, *answers], sandbox)
    sound = verdicts is not None and verdicts[:2] == [True, False]
    return (verdicts[2:] if verdicts and sound else None), written.usage


def run_check(code: str, answers: Sequence[str], sandbox: Sandbox) -> list[bool] | None:
    """Run a function `check(answer)` on answers; None if it did not end well.

    Args:
        code: Python source that defines it.
        answers: texts, handed over as data.
        sandbox: where it runs, in a folder of its own.
    """
    marker = secrets.token_hex(16)
    files = {
        "check.py": code.encode(errors="replace"),
        "run.py": _RUN.encode(),
        "answers.json": json.dumps(list(answers)).encode(),
    }
    with temporary_work_folder("check-") as folder:
        command = [sys.executable, "-I", "run.py", marker]
        result = sandbox.exec(command, workdir=folder, files=files, limits=LIMITS)
    lines = [line for line in result.stdout.splitlines() if line.startswith(marker + " ")]
    if not result.ok or len(lines) != 1:
        return None
    try:  # the code can read the marker, and print what it likes behind it
        verdicts = listing(parse_json(lines[0].removeprefix(marker)))
    except (ValueError, RecursionError):
        return None
    complete = len(verdicts) == len(answers) and all(isinstance(row, bool) for row in verdicts)
    return verdicts if complete else None

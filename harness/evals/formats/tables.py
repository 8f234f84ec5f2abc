"""Results that any tool can write: JUnit XML, and tables with a row for every attempt."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

from harness.core import BadInput, Outcome, Usage, open_foreign
from harness.evals.formats.building import Attempts
from harness.evals.report import Results

TASKS = ("id", "task_id", "task", "sample_id", "case", "name", "question", "prompt", "input")
VERDICTS = ("outcome", "passed", "pass", "success", "correct", "result", "score", "value", "status")
RUNS = ("run", "model", "provider", "configuration", "variant", "system", "arm")
"""Names of the columns, in lower case: the first that is there counts."""
WORDS: dict[str, Outcome] = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "correct", "right", "c", "success"), "pass"),
    **dict.fromkeys(("fail", "failed", "false", "no", "incorrect", "wrong", "i"), "fail"),
    **dict.fromkeys(("invalid", "error", "skipped", "timeout", "n/a", "nan", ""), "invalid"),
}  # fmt: skip


def table_results(path: Path, metric: str | None = None) -> list[Results]:
    """The runs of a CSV or TSV file with a header: one, or one for each name in a column of runs.

    Args:
        path: of the file.
        metric: column of the verdicts; default the first of :data:`VERDICTS`. Words such as `pass`
            and `false`, or numbers from 0 to 1, of which 1 passes.

    Raises:
        BadInput: if a column is missing, or a verdict is neither word nor number.
    """
    from harness.tasks.files.rows import read_table

    rows = list(read_table(path))
    present = {name.strip().casefold(): name for _, row in rows for name in row}
    task = next((present[name] for name in TASKS if name in present), None)
    verdict = metric or next((present[name] for name in VERDICTS if name in present), None)
    run = next((present[name] for name in RUNS if name in present), "")
    if task is None or verdict is None or verdict not in present.values():
        raise BadInput(
            f"{str(path)!r}: expected a column for the task ({', '.join(TASKS[:3])}, ...) and one "
            f"for the verdict ({', '.join(VERDICTS[:3])}, ... or --metric NAME), "
            f"got {', '.join(present.values()) or 'no row'}"
        )
    runs: dict[str, Attempts] = defaultdict(Attempts)
    for number, row in rows:
        where = f"{path}:{number}"
        if task not in row:
            raise BadInput(f"{where}: expected the name of a task in the column {task!r}")
        outcome, value = _verdict(str(row.get(verdict, "")), where)
        runs[str(row.get(run, ""))].add(str(row[task]), outcome, value)
    return [
        attempts.results(
            f"{path.name}:{name}" if name else path.name, "table", suite=path.stem, model=name
        )
        for name, attempts in runs.items()
    ]


def _verdict(cell: str, where: str) -> tuple[Outcome, float]:
    word = cell.strip().casefold()
    if word in WORDS:
        return WORDS[word], float(WORDS[word] == "pass")
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadInput(f"{where}: expected a verdict such as pass, false or 0.5, got {cell!r:.40}")
    return "pass" if value == 1 else "fail", value


def junit_results(path: Path) -> list[Results]:
    """The run of a JUnit file: failures fail, errors are invalid, skipped cases are left out.

    Raises:
        BadInput: if it is no XML, or has no case.
    """
    try:
        with open_foreign(path) as file:
            root = ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, OSError, ValueError) as error:
        raise BadInput(f"{str(path)!r}: expected JUnit XML: {error}") from error
    attempts = Attempts()
    suite = next((node.get("name") for node in root.iter("testsuite") if node.get("name")), None)
    for case in root.iter("testcase"):
        if case.find("skipped") is not None:
            continue
        faults = [node for node in case if node.tag in ("error", "failure")]
        fault = min(faults, key=lambda node: node.tag, default=None)  # an error before a failure
        outcome: Outcome = "pass"
        reason = ""
        if fault is not None:
            outcome = cast("Outcome", {"error": "invalid", "failure": "fail"}[fault.tag])
            reason = fault.get("message") or (fault.text or "").strip()
        time = case.get("time") or ""
        seconds = float(time) if time.replace(".", "", 1).isdigit() else 0.0
        names = [case.get("classname"), case.get("name")]
        if names[0] == suite and names[1]:  # one of ours: TASK or TASK@ATTEMPT
            names = [None, re.sub(r"@\d+$", "", names[1])]
        attempts.add(
            ".".join(filter(None, names)) or "case",
            outcome, float(outcome == "pass"), reason=reason[:500],
            usage=Usage(cost_usd=None, seconds=seconds),
        )  # fmt: skip
    return [attempts.results(path.name, "junit", suite=suite or path.stem, model="")]

"""Reasons of failed attempts: their checks, an answer beside what was expected, a way out; rates by
a column of the tasks.

A newcomer's first run often ends at 0 %, because the check wants the bare answer and the agent
answers in a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.core import BadInput, Task, did_you_mean, grouped, mapping, one_spelling
from harness.core.rundir import RunReader
from harness.evals.report import (
    EvalReport,
    ItemRecord,
    Measure,
    compare_paired,
    read_run,
)
from harness.stats import PairedComparison
from harness.tasks import expected_text
from harness.tasks.answers import accepted_answers, compare_answer, default_check

DEMANDS = {
    "em": "the answer must be the expected text without other words; case, punctuation and "
    "articles do not count (with --check exact they do)",
    "exact": "the answer must be the expected text, character for character",
    "contains": "the expected text must stand somewhere in the answer",
    "numeric": "the last number in the answer must be the expected one",
    "f1": "the answer must share half of its words with the expected text (token F1 of 0.5, or the "
    "threshold of the task); a model judges meaning with --check rubric",
}
FORM = ("em", "exact", "numeric", "f1")
"""Checks that fail an answer which holds the expected text among other words."""
MOST_ALIKE = 0.1
"""Near-duplicate prompts are mentioned from this share on."""
SHOWN = 160
FEW = 0.1
"""A smaller share of failed answers that hold the expected text is not worth a sentence."""
WAY_OUT = (
    "these may be right, but in the wrong form: tell the agent to reply with the bare answer (a "
    "format rule), name the value of a graph's state that is the answer (?output_key=KEY behind "
    "--agent), or let another check judge them (--check contains, of tasks that name none)"
)


def near_misses(items: Sequence[ItemRecord], tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Sentences on failed answers of a run that hold the expected text; none without any."""
    failed = [item for item in items if item.outcome == "fail" and item.task_id in tasks]
    failed.sort(key=lambda item: (item.task_id, item.epoch))
    _, wordy = _of_form([(item, tasks[item.task_id]) for item in failed])
    if len(wordy) < FEW * len(failed) or not wordy:
        return ()
    return (
        f"{len(wordy)} of {len(failed)} failed answers contain{'s' * (len(wordy) == 1)} the "
        "expected text among other words, for example "
        f"{wordy[0].id}: {_beside(wordy[0], tasks[wordy[0].task_id])}",
        WAY_OUT,
    )


def judged_by(tasks: Sequence[Task]) -> list[str]:
    """Sentences on the most frequent checks of some tasks, and on what they demand."""
    checks = Counter(task.check or f"{default_check(task)} (the default)" for task in tasks)
    lines: list[str] = []
    for check, count in checks.most_common(3):
        demand = DEMANDS.get(check.partition(" ")[0])
        share = "" if len(checks) == 1 else f" for {count} of {len(tasks)}"
        lines.append(f"check {check}{share}{f': {demand}' if demand else ''}")
    return lines


def unsolved(items: Sequence[ItemRecord], tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Sentences on a run in which no attempt passed; none where one did, or none was judged.

    Args:
        items: its attempts.
        tasks: the tasks by their ids; may be incomplete.
    """
    judged = [item for item in items if item.outcome != "invalid"]
    judged.sort(key=lambda item: (item.task_id, item.epoch))  # not as they ended
    if not judged or any(item.outcome == "pass" for item in judged):
        return ()
    invalid = len(items) - len(judged)
    lines = [
        f"none of the {len(judged)} judged attempts passed{f' ({invalid} invalid)' * (invalid > 0)}"
    ]
    matched = [(item, tasks[item.task_id]) for item in judged if item.task_id in tasks]
    lines += judged_by([task for _, task in matched])
    formal, wordy = _of_form(matched)
    called = [item.id for item, task in matched if _is_call(task, item.answer)]
    example = next(iter(wordy or [item for item in judged if item.answer] or judged))
    lines.append(f"for example {example.id}: {_beside(example, tasks.get(example.task_id))}")
    if wordy:
        lines += [
            f"{len(wordy)} of {formal} answers contain the expected text among other words",
            WAY_OUT,
        ]
        return tuple(lines)
    if called:
        lines += [
            f"{len(called)} of {len(judged)} answers are tool calls that were written as text, so "
            "that no tool was run",
            "the agent took them for its answer: let it read calls from the text, ask for calls "
            'with tool_choice "required", or serve the model where its calls are recognised',
        ]
        if len(called) == len(judged):
            return tuple(lines)
    elif formal:
        lines.append("no answer contains the expected text")
    remedies = ["if the answers look right to you, choose another check"]
    if any(expected_text(task) for _, task in matched):
        remedies.append(
            "if only their form is wrong, harness evolve teaches the form of the expected answers"
        )
    hard = "if they are wrong, the tasks are too hard for this agent"
    lines.append("; ".join([*remedies, f"{hard}: try a stronger model, or easier tasks"]))
    return tuple(lines)


def near_duplicates_note(report: EvalReport) -> list[str]:
    """A line where so many prompts are alike that their tasks are hardly independent."""
    alike, compared, *quoted = report.alike
    if alike < 2 or alike < MOST_ALIKE * compared:
        return []
    return [
        f"{alike} of {compared} prompts are near-duplicates{', such as ' * bool(quoted)}"
        f"{''.join(quoted)}, and the interval takes every task for independent; name their group "
        "with group_by in the suite, or --group-by COLUMN"
    ]


def column_of(tasks: Mapping[str, Mapping[str, Any]], column: str) -> dict[str, str]:
    """Task -> its value in a column, of those that have one, as it is spelt most often.

    Args:
        tasks: task -> its columns; `expected` is the expected answer.
        column: name of a column.

    Raises:
        BadInput: if no task has one.
    """
    values = {name: str(row[column]) for name, row in tasks.items() if row.get(column) is not None}
    if not values:
        names = sorted({name for row in tasks.values() for name in row} - {"prompt"})
        raise BadInput(
            f"no task has a column {column!r}{did_you_mean(column, names)}; there are "
            f"{', '.join(map(repr, names)) or 'none'} (`expected` is the answer, "
            "whatever its column in the task file is called)"
        )
    spellings = one_spelling(values.values())
    return {name: spellings[value] for name, value in values.items()}


def rates_by(run: Path, column: str) -> list[dict[str, Any]]:
    """The pass rate of a run by the values that its tasks have in a column, a row a value.

    A row has the `value`, how many of its attempts `passed` of those `judged`, how many were
    `invalid`, the `rate` with its 95 % interval from `low` to `high`, the `mean_score` with its own
    where a check of the run gave a fraction (else None), and `wrong`, the most frequent answer of
    those that failed, which was given so many `times`.

    Raises:
        BadInput: if there is no such run, or no task has such a column.
    """
    results, values = read_run(run), _values_of(run, column)
    pairs = ((values[item.task_id], item) for item in results.items if item.task_id in values)
    rates: list[dict[str, Any]] = []
    fractions = any(item.value % 1 for item in results.items)
    for value, items in sorted(grouped(pairs).items()):
        report = replace(results, items=items).report()
        wrong = Counter(item.answer for item in items if item.outcome == "fail").most_common(1)
        low, high = report.ci95 or (None, None)
        rates.append({
            "value": value, "passed": report.passed, "judged": report.passed + report.failed,
            "invalid": report.invalid, "rate": report.score, "low": low, "high": high,
            "mean_score": report.mean_score if fractions else None,
            "mean_low": (report.mean_score_ci95 or (None,))[0] if fractions else None,
            "mean_high": (report.mean_score_ci95 or (None,))[-1] if fractions else None,
            "wrong": (wrong[0][0] or "no answer") if wrong else None,
            "times": wrong[0][1] if wrong else 0,
        })  # fmt: skip
    return rates


def paired_by(
    before: Path, after: Path, column: str, measure: Measure = "outcome"
) -> dict[str, PairedComparison]:
    """Two runs, paired by task, on the tasks of each value of a column.

    Raises:
        BadInput: as :func:`rates_by`.
    """
    values, old, new = _values_of(after, column), read_run(before).items, read_run(after).items
    return {
        value: compare_paired(
            (item for item in old if values.get(item.task_id) == value),
            (item for item in new if values.get(item.task_id) == value),
            measure,
        )
        for value in sorted({*values.values()})
    }


def _values_of(run: Path, column: str) -> dict[str, str]:
    """Task -> its value in a column, as the run recorded its tasks."""
    recorded = [
        mapping(mapping(row.get("extra")).get("harness")) for row in RunReader(run).trajectories()
    ]
    tasks = {str(row.get("task_id")): mapping(row.get("task")) for row in recorded}
    return column_of(tasks, column)


def _of_form(pairs: Sequence[tuple[ItemRecord, Task]]) -> tuple[int, list[ItemRecord]]:
    """Count the answers judged by their form, and list those that hold what is expected."""
    formal = [pair for pair in pairs if (pair[1].check or default_check(pair[1])) in FORM]
    held = [pair for pair in formal if _contains(pair[1], pair[0].answer)]
    return len(formal), [item for item, task in held if not _is_call(task, item.answer)]


def _is_call(task: Task, answer: str | None) -> bool:
    """Return True if an answer is a tool call where a text is expected."""
    from harness.agents import written_calls

    check = (task.check or default_check(task)).partition(" ")[0]
    return check in DEMANDS and bool(written_calls(answer or ""))


def _contains(task: Task, answer: str | None) -> bool:
    try:
        score = compare_answer(task.model_copy(update={"check": "contains"}), answer)
    except BadInput:  # no text is expected
        return False
    return score.outcome == "pass"


def _beside(item: ItemRecord, task: Task | None) -> str:
    """Put the expected beside the given answer; the check's own reason may say both."""
    if item.reason.startswith("expected"):
        return item.reason[: 2 * SHOWN]
    reason = f" ({item.reason[:SHOWN]})" if item.reason else ""
    if task is None or task.answer is None:
        return f"got {item.answer!r:.{SHOWN}}{reason}"
    try:
        expected = " or ".join(map(repr, accepted_answers(task)[:3]))
    except BadInput:
        expected = repr(task.answer)
    return f"expected {expected:.{SHOWN}}, got {item.answer!r:.{SHOWN}}{reason}"

"""The ladder as a receipt: what every rung reached, and the skill's difference to each.

A function of the records alone: the same records give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from harness.core import Value, digest, grouped, render_page
from harness.receipts.effects import Interval
from harness.receipts.ladder.records import TITLES, Choice, LadderRecords, LadderRow, Rung
from harness.skills import TOKENIZER
from harness.stats import (
    change_interval,
    cluster_names,
    clustered,
    false_difference_rate,
    joint_critical,
    rate_interval,
)

SCHEMA = "agent-skill-harness/ladder/1"
TEMPLATE = Path(__file__).parent.parent / "templates" / "ladder.html.j2"
UNEQUAL = 0.1
"""Share by which a control's measured context may miss the skill's before it is said."""
Verdict = Literal["beats", "no difference seen", "loses to", "not compared"]


class RungResult(Rung):
    """One rung, and what was reached on it.

    Attributes:
        passed: valid attempts that passed.
        rate: pass rate with its own 95 % interval, percent; None without a valid attempt.
        tokens_per_task: used, prompt and completion of all calls of an attempt.
        context: tokens by which the first prompt is longer than without a skill, as the model's
            server counts them; None where it does not say.
        seconds_per_task: of an attempt.
        difference: the whole skill less this rung, points, paired by task; all intervals together
            hold with 95 %.
        verdict: of the skill against this rung.
    """

    passed: int
    valid: int
    invalid: int
    rate: Interval | None
    tokens_per_task: float | None
    context: float | None
    seconds_per_task: float | None
    difference: Interval | None
    verdict: Verdict

    @property
    def same_as(self) -> str:
        """Title of the rung that has the same text, and so the same attempts; "" for none."""
        return "" if self.run == self.name else TITLES[self.run]


class Again(Value):
    """The whole skill run twice.

    Attributes:
        difference: between the two runs, points, with the interval that rungs are judged by.
        differs: whether the ladder would call it a difference.
        false_rate: how often it would if the runs' labels were drawn by chance, percent.
        changed: tasks whose result differs.
    """

    difference: Interval
    differs: bool
    false_rate: float
    changed: int


class LadderDigests(Value):
    """Digests of everything a ladder rests on, SHA-256 each."""

    skill: str
    suite: str
    tasks: str
    records: str
    prompts: str
    calls: str


class Ladder(Value):
    """The file `<skill>.ladder.json`.

    Attributes:
        tasks: that `rungs`, `again` and the verdicts are about.
        groups: groups of them, which are then the independent ones; None where tasks have none.
        critical: value of the intervals of `rungs`.
        unseen_groups: groups of the tasks of `unseen`.
        unseen: the same rungs on tasks of kinds that the other splits lack, with intervals of
            their own that hold together; the verdicts say nothing of them.
    """

    schema_: Literal["agent-skill-harness/ladder/1"] = Field(default=SCHEMA, alias="schema")
    skill: str
    suite: str
    split: str | None
    model: str
    simulated: bool
    agent: str
    skill_mode: str
    version: str
    seed: int
    tokenizer: str
    digests: LadderDigests
    planned: str
    tasks: int
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    epochs: int
    critical: float
    rungs: tuple[RungResult, ...]
    unseen_tasks: int
    unseen_groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    unseen: tuple[RungResult, ...]
    again: Again | None
    win: bool
    verdicts: tuple[str, ...]
    pool: str
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The file as it is written."""
        value = self.model_dump(mode="json", by_alias=True)
        return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def ladder_page(ladder: Ladder) -> str:
    """The ladder as one HTML file that needs nothing else: the same ladder, the same bytes."""
    differences = [rung.difference for rung in ladder.rungs if rung.difference is not None]
    ends = [abs(end) for row in differences for end in (row.low, row.high)]
    return render_page(TEMPLATE, ladder=ladder, most=max([5.0, *ends]))


def ladder_of(records: LadderRecords) -> Ladder:
    """Compute the ladder."""
    header = records.header
    unseen = [task for task, _ in header.tasks if task in header.unseen]
    tasks = [task for task, _ in header.tasks if task not in header.unseen]
    results, critical, repeated = results_of(records, tasks)
    again = None
    if (difference := in_points(repeated, critical, header.groups)) is not None:
        paired = [*repeated.values()]
        names = cluster_names([*repeated], header.groups)
        again = Again(
            difference=difference,
            differs=difference.low > 0 or difference.high < 0,
            false_rate=round(100 * false_difference_rate(paired, critical, names), 2),
            changed=sum(change != 0 for change in paired),
        )
    win, verdicts = verdicts_of(results, again)
    return Ladder(
        skill=header.name,
        tokenizer=TOKENIZER,
        digests=LadderDigests(
            skill=header.skill,
            suite=header.suite_digest,
            tasks=digest([list(task) for task in header.tasks]),
            records=records.digest,
            prompts=header.prompts,
            calls=digest([call for row in records.rows for call in row.calls]),
        ),
        tasks=len(tasks),
        groups=header.count_groups(tasks),
        critical=critical,
        rungs=tuple(results),
        unseen_tasks=len(unseen),
        unseen_groups=header.count_groups(unseen),
        unseen=tuple(results_of(records, unseen)[0]) if unseen else (),
        again=again,
        win=win,
        verdicts=verdicts,
        warnings=warnings_of(records, results, again),
        **{
            name: getattr(header, name)
            for name in (
                "suite", "split", "model", "simulated", "agent", "skill_mode", "version", "seed",
                "planned", "epochs", "pool", "choices",
            )
        },
    )  # fmt: skip


def results_of(
    records: LadderRecords, tasks: Sequence[str]
) -> tuple[list[RungResult], float, dict[str, float]]:
    """The rungs on some of the tasks, the critical value, and the changes between both runs."""
    runs = grouped((str(row.rung), row) for row in records.rows if row.task in tasks)
    rates = {
        name: task_means(rows, lambda row: row.outcome == "pass") for name, rows in runs.items()
    }
    upper, groups = rates.get("skill", {}), records.header.groups

    def changes(rung: Rung) -> dict[str, float]:
        """The skill less this rung, by task with a valid attempt on both."""
        lower = rates.get(rung.run, {})
        return {
            task: upper[task] - lower[task] for task in tasks if task in upper and task in lower
        }

    rungs = records.header.rungs
    compared = {
        r.name: changes(r) for r in rungs if r.kind in ("control", "part") and r.run != "skill"
    }
    table = [[row.get(task, math.nan) for row in compared.values()] for task in tasks]
    matrix = np.array(table, dtype=np.float64).reshape(len(tasks), -1)
    critical = round(joint_critical(matrix, groups=cluster_names(tasks, groups)), 4)
    results = [
        result_of(rung, runs, in_points(compared.get(rung.name, {}), critical, groups), groups)
        for rung in rungs
    ]
    again = [changes(rung) for rung in rungs if rung.kind == "repeat"]
    return results, critical, again[0] if again else {}


def task_means(
    rows: Iterable[LadderRow], value: Callable[[LadderRow], float | None]
) -> dict[str, float]:
    """Task -> mean of a value over its valid attempts; tasks without one are left out."""
    groups = grouped(
        (row.task, float(number))
        for row in rows
        if row.outcome != "invalid" and (number := value(row)) is not None
    )
    return {task: sum(values) / len(values) for task, values in groups.items()}


def in_points(
    changes: Mapping[str, float], critical: float, groups: Mapping[str, str]
) -> Interval | None:
    """Mean change of tasks with its interval, in points; None below two tasks, or groups."""
    paired = [*changes.values()]
    ends = change_interval(paired, critical, cluster_names([*changes], groups))
    if ends is None:
        return None
    low, high = (round(100 * end, 2) for end in ends)
    return Interval(estimate=round(100 * sum(paired) / len(paired), 2), low=low, high=high)


def result_of(
    rung: Rung,
    runs: Mapping[str, list[LadderRow]],
    difference: Interval | None,
    groups: Mapping[str, str],
) -> RungResult:
    """Result of a rung; `runs` has the attempts by rung, `groups` the groups of the tasks."""
    rows = runs.get(rung.run, [])
    valid = [row for row in rows if row.outcome != "invalid"]
    passed = sum(row.outcome == "pass" for row in valid)
    tasks = [row.task for row in valid]
    outcomes = [float(row.outcome == "pass") for row in valid]
    ends = rate_interval(clustered(outcomes, cluster_names(tasks, groups) or tasks))
    rate = None
    if ends is not None:
        low, high = (round(100 * end, 2) for end in ends)
        rate = Interval(estimate=round(100 * passed / len(valid), 2), low=low, high=high)
    longer = None
    with_text, bare = (
        task_means(runs.get(name, []), lambda row: row.context) for name in (rung.run, "none")
    )
    if common := sorted(with_text.keys() & bare.keys()):
        longer = round(sum(with_text[task] - bare[task] for task in common) / len(common), 1)
    verdict: Verdict = "not compared"
    if difference is not None:
        verdict = "no difference seen"
        if difference.low > 0 or difference.high < 0:
            verdict = "beats" if difference.low > 0 else "loses to"
    return RungResult(
        **rung.model_dump(),
        passed=passed,
        valid=len(valid),
        invalid=len(rows) - len(valid),
        rate=rate,
        tokens_per_task=_mean(row.tokens for row in valid),
        context=longer,
        seconds_per_task=_mean(row.seconds for row in valid),
        difference=difference,
        verdict=verdict,
    )


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return round(sum(numbers) / len(numbers), 1) if numbers else None


def verdicts_of(results: Sequence[RungResult], again: Again | None) -> tuple[bool, tuple[str, ...]]:
    """Decide if the skill won, and write the sentences: the first is the verdict as a whole.

    It wins if it beats every control, loses to no part of itself, was compared with no skill and
    with gold examples, and its second run does not differ from the first.
    """
    controls = [row for row in results if row.kind == "control"]
    groups = grouped(
        (row.verdict, row.title)
        for row in results
        if row.kind in ("control", "part") and not (row.same_as and row.difference is None)
    )
    missing = {"none", "best", "repeat"} - {row.name for row in results}
    lost, unseen = groups.get("loses to", []), groups.get("no difference seen", [])
    beaten = bool(controls) and all(row.verdict == "beats" for row in controls)
    win = beaten and not (missing or lost) and again is not None and not again.differs
    if win:
        head = f"The skill beats all {len(controls)} controls."
    elif lost:
        head = f"No win: the skill loses to {_listed(lost)}."
    elif unseen or groups.get("not compared"):
        open_ = _listed([*unseen, *groups.get("not compared", [])])
        head = f"Not shown to be better than {open_}."
    elif missing:
        head = f"No win can be claimed: the ladder lacks {_listed(sorted(missing))}."
    else:
        head = "No win can be claimed: two runs of the same skill differ."
    sentences = [head]
    for row in results:
        if row.difference is not None:
            words = {"no difference seen": "no difference seen from"}.get(row.verdict, row.verdict)
            sentences.append(
                f"{words} {row.title}: {row.difference.estimate:+.1f} points "
                f"({row.difference.low:+.1f} to {row.difference.high:+.1f})"
            )
    if again is not None:
        word = "a difference is called" if again.differs else "no difference is called"
        sentences.append(
            f"A/A: {again.difference.estimate:+.1f} points ({again.difference.low:+.1f} to "
            f"{again.difference.high:+.1f}), {word}; with labels drawn by chance one would be "
            f"called in {again.false_rate:.1f} % of draws"
        )
    return win, tuple(sentences)


def _listed(titles: Sequence[str]) -> str:
    return ", ".join(titles[:-1]) + (" and " if len(titles) > 1 else "") + titles[-1]


def warnings_of(
    records: LadderRecords, results: Sequence[RungResult], again: Again | None
) -> tuple[str, ...]:
    warnings: list[str] = []
    if records.header.simulated:
        warnings.append("a simulated model: says nothing about a real one")
    if again is not None and again.differs:
        warnings.append("two runs of the same skill differ: no difference here can be trusted")
    if again is not None and not again.changed:
        warnings.append("A/A: the same result on every task: the model's noise was not tried")
    warnings += [
        f"{row.title}: {row.invalid} of {row.valid + row.invalid} attempts were invalid and are "
        "left out"
        for row in results
        if row.invalid and not row.same_as
    ]
    target = next((row.context for row in results if row.name == "skill"), None) or 0.0
    unequal = [
        f"{row.title} {row.context:.0f} of {expected:.0f}"
        for row in results
        for expected in [target * (2 if row.name == "double" else 1)]
        if target and row.target and row.context is not None and not row.same_as
        if abs(row.context - expected) > UNEQUAL * expected
    ]
    if unequal:
        warnings.append(f"tokens of context by the model's own tokenizer: {', '.join(unequal)}")
    return tuple(warnings)

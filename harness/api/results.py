"""Results as Python and notebooks want them: samples, a table of pandas, HTML."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.work import as_keywords
from harness.core import BadInput, Printed, facts_table, require
from harness.core.terminal import dollars
from harness.evals import (
    EvalReport,
    EvalSettings,
    ItemRecord,
    RunComparison,
    load_suite,
    near_duplicates_note,
    near_misses,
    rates_by,
    records,
    unsolved,
)
from harness.evals.plan import read_parts
from harness.evolve import EvolveResult, EvolveSettings, result_text

if TYPE_CHECKING:
    import pandas

COLUMNS = ("id", "task_id", "epoch", "outcome", "value", "reason", "answer", "stratum", "group")
USED = ("tokens", "cost_usd", "seconds")


class Evaluation(Printed, EvalReport):
    """The report of an eval, and what every attempt came to.

    `samples` are the attempts, `rows()` what they came to as dictionaries, `to_pandas()` as a data
    frame.

    Attributes:
        folder: of the run; `harness view` and `compare_runs` read it.
    """

    folder: Path

    @cached_property
    def samples(self) -> list[ItemRecord]:
        """The attempts in the order in which they ended, as they were when this was first read."""
        return records(self.folder)

    def __str__(self) -> str:
        notes = (as_keywords(line, EvalSettings) for line in near_duplicates_note(self))
        return "\n".join([super().__str__(), *notes, *self._failures()])

    def _failures(self) -> tuple[str, ...]:
        """Explain why no attempt passed; else list those with other words around the answer."""
        if not self.failed:
            return ()
        reference = read_parts(self.folder)[-1].suite
        try:
            tasks = {task.id: task for task in load_suite(reference, trusted=True).tasks}
        except BadInput:  # the suite has moved
            tasks = {}
        lines = (near_misses if self.passed else unsolved)(self.samples, tasks)
        return tuple(as_keywords(line, EvalSettings) for line in lines)

    def rows(self) -> list[dict[str, Any]]:
        """A row an attempt: outcome, score, reason, answer, tokens, cost, seconds."""
        return [
            {name: getattr(sample, name) for name in COLUMNS}
            | {name: getattr(sample.usage, name) for name in USED}
            for sample in self.samples
        ]

    def by(self, column: str) -> list[dict[str, Any]]:
        """The pass rate by a column of the tasks, or by the `expected` answer: a row a value.

        `pandas.DataFrame(result.by("language"))` is a table of it. No model is asked. It is not
        `group_by`, which names tasks that pass and fail together.

        Raises:
            BadInput: if no task has such a column.
        """
        return rates_by(self.folder, column)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame.

        Raises:
            BadInput: if pandas is not installed.
        """
        frame = require("pandas", "rows() needs no pandas, a data frame does", "pandas")
        return frame.DataFrame(self.rows(), columns=[*COLUMNS, *USED])

    def _facts(self) -> dict[str, str]:
        rate = "no valid attempt" if self.score is None else f"{self.score:.1%}"
        by = "" if self.groups is None else f", {self.groups} groups"
        interval = "" if self.ci95 is None else f" ({self.ci95[0]:.1%} to {self.ci95[1]:.1%}{by})"
        reasons = (sample.reason for sample in self.samples if sample.outcome == "invalid")
        why = f" ({next(reasons, '')})" if self.invalid else ""
        return {
            "suite": self.suite,
            "model": f"{self.model}{' (simulated)' if self.simulated else ''}",
            "skill": self.skill or "none",
            "passed": f"{rate}{interval}",
            **(
                {"mean score": f"{self.mean_score:.1%}"}
                if self.mean_score not in (None, self.score)
                else {}
            ),
            "attempts": f"{self.passed} passed, {self.failed} failed, {self.invalid} invalid{why}",
            "used": f"{self.tokens:,} tokens, cost {dollars(self.cost_usd)}, {self.seconds:.1f} s",
            "folder": str(self.folder),
        }


class Evolved(EvolveResult):
    """The result of an evolution; in a notebook its figures and the skill."""

    def __str__(self) -> str:
        return as_keywords(result_text(self), EvolveSettings)

    def _repr_html_(self) -> str:
        from harness.skills import load_skill, markdown_blocks

        gate = self.gate
        change = "" if gate.before is None or gate.after is None else (
            f": {gate.before:.1%} before, {gate.after:.1%} after, on {gate.tasks} tasks"
        )  # fmt: skip
        table = facts_table(
            {
                "skill": self.skill or f"none: {gate.reason}",
                "gate": f"{gate.verdict}{change}",
                "edits": f"{self.edits} of {self.records} records; {self.discarded} discarded",
                "used": f"{self.calls:,} calls, {self.tokens:,} tokens",
            }
        )
        if not self.skill or not (Path(self.skill) / "SKILL.md").is_file():
            return table
        blocks = markdown_blocks(load_skill(Path(self.skill)).body)
        return table + "".join(block.html for block in blocks)


class Comparison(Printed, RunComparison):
    """Two runs, paired by task."""

    def _facts(self) -> dict[str, str]:
        paired, rates, change = self.paired, "none", "none"
        if paired.before is not None and paired.after is not None:
            rates = f"{paired.before:.1%} -> {paired.after:.1%}"
        if paired.difference is not None and paired.ci95 is not None:
            low, high = paired.ci95
            change = f"{paired.difference:+.1%} [{low:+.1%}, {high:+.1%}], p = {paired.p:.3g}"
        by = "" if paired.groups is None else f" in {paired.groups} groups"
        runs = f"{self.before.run} -> {self.after.run}, {paired.tasks} paired tasks{by}"
        simulated = " (simulated)" * (self.before.simulated or self.after.simulated)
        return {
            "runs": runs + simulated,
            "pass rate" if self.measure == "outcome" else "mean score": rates,
            "difference": change,
            "noise": "unknown: a single run"
            if self.noise is None or self.noise.difference is None
            else f"{self.noise.difference:+.1%} between attempts of the first",
            "fixed": ", ".join(paired.fixed) or "none",
            "broken": ", ".join(paired.broken) or "none",
            "differs in": (", ".join(self.differs) or "nothing") + self.not_said,
        }

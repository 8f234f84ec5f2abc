"""The smaller skill that a receipt suggests, judged by the gate on tasks the audit did not run."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from harness.core import BadInput, Value, loops
from harness.evals import Evaluator, ItemRecord, load_suite, records
from harness.evolve import GateResult, group_sizes, sequential_gate, task_order
from harness.receipts.audit import AuditSettings, prepare, write_files
from harness.receipts.receipt import Receipt
from harness.receipts.records import task_groups
from harness.receipts.units import cut
from harness.skills import count_tokens, load_skill
from harness.stats import SequentialPlan

LEAST_TASKS = 20
"""Fewer tasks than these decide nothing."""


class Pruned(Value):
    """A proposal.

    Attributes:
        skill: directory of the smaller skill; the audited one is not touched.
        dropped: ids of the units that are left out.
        tokens: of SKILL.md before and after.
        gate: the smaller skill against the whole one; None where no tasks were left to judge on.
    """

    skill: Path
    dropped: tuple[str, ...]
    tokens: tuple[int, int]
    gate: GateResult | None

    def __str__(self) -> str:
        before, after = self.tokens
        head = f"without {', '.join(self.dropped)}: {before} to {after} tokens, {self.skill}"
        if self.gate is None:
            return f"{head}\nnot gated: no tasks are left that the audit did not run"
        text = f"{head}\ngate: {self.gate.verdict} ({self.gate.reason})"
        if self.gate.ci95 is not None:
            text += f"; at worst {100 * self.gate.ci95[0]:+.1f} points (95 %)"
        return text


def suggested(receipt: Receipt) -> tuple[int, ...]:
    """Numbers of the units to drop: those that hurt, and those that show nothing and of which the
    estimate is not above zero. Others stay, because small helps add up."""
    return tuple(
        number
        for number, unit in enumerate(receipt.units)
        if unit.verdict == "hurts"
        or (unit.verdict == "nothing detectable" and unit.effect.estimate <= 0)
    )


def prune_skill(settings: AuditSettings, receipt: Receipt, run: Path) -> Pruned:
    """Write the smaller skill into the run folder, and let the gate compare it with the whole.

    Raises:
        BadInput: if the receipt suggests nothing to leave out.
    """
    skill = load_skill(settings.skill)
    parsed, gone = cut(skill), suggested(receipt)
    if not gone:
        raise BadInput("nothing to prune: no unit hurts or has an estimate of zero or less")
    small = parsed.render([unit.number for unit in parsed.units if unit.number not in gone])
    folder = run / "pruned" / skill.name
    write_files(small, folder)
    suite = load_suite(settings.suite, settings.split, trusted=settings.trust)
    used = {task.id for task in prepare(settings).suite.tasks}
    fresh = suite.model_copy(update={"tasks": tuple(t for t in suite.tasks if t.id not in used)})
    evaluation = settings.evaluation().model_copy(update={"limit": None})

    async def attempts(skill: Path, name: str, tasks: tuple[str, ...]) -> list[ItemRecord]:
        ids = set(tasks)
        rows = tuple(task for task in fresh.tasks if task.id in ids)
        out = run / "gate" / f"{name}-{rows[0].id.replace('/', '_')}-{len(rows)}"
        part = fresh.model_copy(update={"tasks": rows})
        await Evaluator(evaluation, part).run(out, skill)
        return records(out)

    gate = None
    groups = task_groups(fresh.tasks)
    order = task_order([task.id for task in fresh.tasks], settings.seed, groups)
    if len(fresh.tasks) >= LEAST_TASKS:
        gate = loops.run(
            sequential_gate(
                partial(attempts, settings.skill, "whole"),
                partial(attempts, folder, "pruned"),
                order,
                SequentialPlan(tasks=len(order), groups=group_sizes(order, groups)),
                groups=groups,
                seed=settings.seed,
            )
        )
    return Pruned(
        skill=folder,
        dropped=tuple(parsed.units[number].id for number in gone),
        tokens=(count_tokens(skill.text), count_tokens(small.text)),
        gate=gate,
    )

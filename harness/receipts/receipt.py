"""A receipt: what each unit of a skill does, computed from the records and from nothing else.

The same records give the same receipt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from harness.core import Value, digest, render_page
from harness.receipts.effects import (
    GroupEffect,
    Interval,
    Verdict,
    data_of,
    group_effects,
    intervals,
)
from harness.receipts.plan import ROLLOUTS, AuditPlan
from harness.receipts.records import Origin, Records, Row
from harness.receipts.units import Cut, UnitKind
from harness.skills import TOKENIZER
from harness.stats import (
    UnitPairs,
    alone,
    chances,
    critical,
    effects_at_full,
    fit_effects,
    screen_pairs,
    settled,
    with_ends,
)

SCHEMA = "agent-skill-harness/receipt/1"
TEMPLATE = Path(__file__).parent / "templates" / "receipt.html.j2"


class Traces(Value):
    """Share of trajectories that show a unit, with it in the skill and without.

    Attributes:
        read_with: rollouts with the unit in which a tool call named its file.
        echoed_with: rollouts with the unit in which the agent's text repeats words of it; a
            heuristic. `echoed_without` counts the same where it was not in the skill.
        rollouts_with: valid rollouts with the unit.
    """

    read_with: int
    echoed_with: int
    echoed_without: int
    rollouts_with: int
    rollouts_without: int


class UnitReceipt(Value):
    """Findings on one unit.

    Attributes:
        effect: points by which the share of passed tasks rises with the unit, on average over
            random subsets of the others; the interval holds for all units together.
        at_full: the same where all other units are present, from main effects and flagged
            interactions; each interval for itself. None without flagged interactions.
        tokens: of the unit's text, by the tokenizer that the receipt names.
        tokens_per_run: measured: tokens that a rollout uses more with it; for all together.
        invalid: points by which the share of invalid rollouts rises with it; for all together.
    """

    id: str
    kind: UnitKind
    lines: tuple[int, int]
    heading: str
    text: str
    verdict: Verdict
    effect: Interval
    at_full: Interval | None
    tokens: int
    tokens_per_run: Interval
    invalid: Interval | None
    traces: Traces
    origins: tuple[Origin, ...] = ()


class Interaction(Value):
    """Two units whose effects depend on one another.

    Attributes:
        effect: points by which either's effect is larger if the other is present.
        p: corrected for all pairs (Holm).
    """

    units: tuple[str, str]
    effect: float
    p: float


class Digests(Value):
    """Digests of everything a receipt rests on, SHA-256 each.

    Attributes:
        calls: of the requests that were sent to the model.
        run: of what the model replied to them; "" where the records do not know.
    """

    skill: str
    suite: str
    tasks: str
    records: str
    prompts: str
    calls: str
    run: str


class Receipt(Value):
    """The file `<skill>.receipt.json`; documented in `docs/reference/receipt.md`."""

    schema_: Literal["agent-skill-harness/receipt/1"] = Field(default=SCHEMA, alias="schema")
    skill: str
    suite: str
    model: str
    simulated: bool
    agent: str
    skill_mode: str
    version: str
    seed: int
    tokenizer: str
    digests: Digests
    plan: AuditPlan
    planned: str
    rollouts: int
    valid: int
    tasks: int
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    stopped: str
    passed: float
    units: tuple[UnitReceipt, ...]
    interactions: tuple[Interaction, ...]
    by: str = Field(default="", exclude_if=lambda value: not value)
    by_group: tuple[GroupEffect, ...] = Field(default=(), exclude_if=lambda value: not value)
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The file as it is written."""
        value = self.model_dump(mode="json", by_alias=True)
        return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def receipt_schema() -> str:
    """The JSON schema of a receipt, as `docs/reference/receipt.schema.json` has it."""
    schema = Receipt.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps({"$id": SCHEMA, **schema}, indent=1, sort_keys=True) + "\n"


def card(receipt: Receipt) -> str:
    """The receipt as one HTML file that needs nothing else: the same receipt, the same bytes."""
    ends = [abs(end) for unit in receipt.units for end in (unit.effect.low, unit.effect.high)]
    return render_page(TEMPLATE, receipt=receipt, most=max([5.0, *ends]))


LEVEL = 0.05
"""At which interactions are flagged, after Holm's correction."""
SHOWN = 160
"""Characters of a unit's text in a receipt; the full text stands in the skill."""


def why_stop(plan: AuditPlan, look: int, rows: Sequence[Row], groups: Mapping[str, str]) -> str:
    """Give the reason to stop after this look, "" to continue.

    Every unit is decided, or its interval is narrow enough, or it is without the planned chance of
    a decision.
    """
    if look == len(plan.looks) - 1:
        return "all planned rollouts were run"
    valid = [row for row in rows if row.outcome != "invalid"]
    if len(valid) - len({row.task for row in valid}) < ROLLOUTS * plan.units:
        return ""
    fitted = fit_effects(data_of(valid, plan.units, groups))
    decided, narrow_enough = settled(fitted, plan.values[look], plan.width)
    open_units = ~(decided | narrow_enough)
    if open_units.any():
        if not plan.futility:
            return ""
        likely = chances(plan.looks, plan.values, look, fitted)[open_units]
        if likely.max() >= plan.futility:
            return ""
        return (
            f"{int(decided.sum())} of {plan.units} units are decided; none of the "
            f"{int(open_units.sum())} open ones has a chance of {100 * plan.futility:g} % to be, "
            "if its effect is what it seems"
        )
    narrow = f", the others are within +-{100 * plan.width:.1f} points" if plan.width else ""
    return f"{int(decided.sum())} of {plan.units} units are decided{narrow}"


def receipt_of(records: Records, parsed: Cut) -> Receipt:
    """Compute the receipt.

    Raises:
        BadInput: if the valid rollouts cannot tell the units apart.
    """
    header, plan, rows = records.header, records.header.plan, records.rows
    groups = header.groups
    valid = [row for row in rows if row.outcome != "invalid"]
    look = next((i for i, end in enumerate(plan.looks) if end >= len(rows)), -1)

    def estimated(
        rows: Sequence[Row], values: Sequence[float] | None, scale: float
    ) -> list[Interval]:
        """Intervals of all units' effects on these values of the rollouts."""
        fitted = fit_effects(data_of(rows, plan.units, groups, values))
        value = critical(plan.values[look], fitted.degrees)
        return intervals(with_ends(fitted.effects, fitted.errors, value), scale)

    effects = estimated(valid, None, 100)
    tokens = estimated(valid, [float(row.tokens) for row in valid], 1)
    lost = [float(row.outcome == "invalid") for row in rows]
    invalid = estimated(rows, lost, 100) if any(lost) else None
    data = data_of(valid, plan.units, groups)
    main = fit_effects(data)
    pairs = screen_pairs(data, main) if plan.units > 1 else None
    names = [unit.id for unit in parsed.units]
    full: list[Interval] | None = None
    interactions: list[Interaction] = []
    if pairs is not None and (flagged := np.flatnonzero(pairs.p < LEVEL).tolist()):
        unit_pairs = [(int(pairs.first[pair]), int(pairs.second[pair])) for pair in flagged]
        # Each of these intervals holds for itself, at one look.
        value = alone(plan.alpha, plan.units, main.degrees)
        full = intervals(with_ends(*effects_at_full(data, unit_pairs), value), 100)
        interactions = [
            Interaction(
                units=(names[first], names[second]),
                effect=round(100 * float(pairs.effects[pair]), 2),
                p=round(float(pairs.p[pair]), 4),
            )
            for pair, (first, second) in zip(flagged, unit_pairs, strict=True)
        ]
    units: list[UnitReceipt] = []
    for unit, effect in zip(parsed.units, effects, strict=True):
        number, line = unit.number, " ".join(unit.text.split())
        present = [row for row in valid if row.units[number] == "1"]
        absent = [row for row in valid if row.units[number] == "0"]
        units.append(
            UnitReceipt(
                id=unit.id,
                kind=unit.kind,
                lines=unit.lines,
                heading=unit.heading,
                text=line if len(line) <= SHOWN else line[: SHOWN - 1] + "…",
                verdict=effect.verdict,
                effect=effect,
                at_full=full[number] if full else None,
                tokens=unit.tokens,
                tokens_per_run=tokens[number],
                invalid=invalid[number] if invalid else None,
                traces=Traces(
                    read_with=sum(number in row.read for row in present),
                    echoed_with=sum(number in row.echoed for row in present),
                    echoed_without=sum(number in row.echoed for row in absent),
                    rollouts_with=len(present),
                    rollouts_without=len(absent),
                ),
                origins=header.origins.get(unit.id, ()),
            )
        )
    return Receipt(
        skill=header.name,
        suite=header.suite,
        model=header.model,
        simulated=header.simulated,
        agent=header.agent,
        skill_mode=header.skill_mode,
        version=header.version,
        seed=header.seed,
        tokenizer=TOKENIZER,
        digests=Digests(
            skill=header.skill,
            suite=header.suite_digest,
            tasks=digest([list(task) for task in header.tasks]),
            records=records.digest,
            prompts=header.prompts,
            calls=digest([call for row in rows for call in row.calls]),
            run=digest([row.replies for row in rows]) if any(r.replies for r in rows) else "",
        ),
        plan=plan,
        planned=str(plan),
        rollouts=len(rows),
        valid=len(valid),
        tasks=len({row.task for row in valid}),
        groups=header.count_groups(row.task for row in valid),
        stopped=why_stop(plan, look % len(plan.looks), rows, groups)
        or "a limit was reached before the next look",
        passed=round(100 * sum(row.outcome == "pass" for row in valid) / len(valid), 2),
        units=tuple(units),
        interactions=tuple(interactions),
        by=header.by,
        by_group=group_effects(records, parsed),
        warnings=_warnings(records, units, pairs),
    )


def _warnings(
    records: Records, units: Sequence[UnitReceipt], pairs: UnitPairs | None
) -> tuple[str, ...]:
    warnings: list[str] = []
    if records.header.simulated:
        warnings.append("a simulated model: says nothing about a real one")
    lost = sum(row.outcome == "invalid" for row in records.rows)
    if lost:
        warnings.append(f"{lost} of {len(records.rows)} rollouts were invalid and are left out")
    warnings += [
        f"{unit.id} changes how often a rollout is invalid: its effect holds for valid ones only"
        for unit in units
        if unit.invalid and (unit.invalid.low > 0 or unit.invalid.high < 0)
    ]
    if pairs is None or bool(np.isnan(pairs.errors).all()):
        warnings.append("interactions could not be screened: every task has one pair of rollouts")
    return tuple(warnings)

"""From records to a receipt; the same records give the same receipt."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core import digest
from harness.receipts.looks import data_of, look_at
from harness.receipts.plan import AuditPlan
from harness.receipts.receipt import (
    Digests,
    Interaction,
    Interval,
    Receipt,
    Traces,
    UnitReceipt,
    Verdict,
)
from harness.receipts.records import Records, Row
from harness.receipts.units import Cut, Unit
from harness.skills import TOKENIZER
from harness.stats import (
    EffectFit,
    UnitPairs,
    critical,
    effects_at_full,
    fit_effects,
    per_unit,
    screen_pairs,
)

LEVEL = 0.05
"""At which interactions are flagged, after Holm's correction."""
CUT_SHORT = "a limit was reached before the next look"
SHOWN = 160
"""Characters of a unit's text in a receipt; the whole stands in the skill."""


def receipt_of(records: Records, parsed: Cut) -> Receipt:
    """Compute the receipt.

    Raises:
        BadInput: if the valid rollouts cannot tell the units apart.
    """
    header, plan = records.header, records.header.plan
    valid = [row for row in records.rows if row.outcome != "invalid"]
    look = next((at for at, end in enumerate(plan.looks) if end >= len(records.rows)), -1)
    main = fit_effects(data_of(valid, plan.units))
    value = critical(plan.values[look], main.degrees)
    effects = _intervals(main, value, 100)
    spent = fit_effects(data_of(valid, plan.units, [float(row.tokens) for row in valid]))
    tokens = _intervals(spent, critical(plan.values[look], spent.degrees), 1)
    invalid = _invalid(records.rows, plan, look)
    pairs = screen_pairs(data_of(valid, plan.units), main) if plan.units > 1 else None
    flagged = _flagged(pairs)
    full = _full(valid, plan, flagged)
    units = tuple(
        UnitReceipt(
            id=unit.id,
            kind=unit.kind,
            lines=unit.lines,
            heading=unit.heading,
            text=_short(unit.text),
            verdict=_verdict(effects[at]),
            effect=effects[at],
            at_full=full[at] if full else None,
            tokens=unit.tokens,
            tokens_per_run=tokens[at],
            invalid=invalid[at] if invalid else None,
            traces=_traces(unit, valid),
            origins=header.origins.get(unit.id, ()),
        )
        for at, unit in enumerate(parsed.units)
    )
    calls = [call for row in records.rows for call in row.calls]
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
            tasks=digest([list(one) for one in header.tasks]),
            records=records.digest,
            prompts=header.prompts,
            calls=digest(calls),
        ),
        plan=plan,
        planned=str(plan),
        rollouts=len(records.rows),
        valid=len(valid),
        tasks=len({row.task for row in valid}),
        stopped=look_at(plan, look % len(plan.looks), records.rows).why or CUT_SHORT,
        passed=round(100 * sum(row.outcome == "pass" for row in valid) / len(valid), 2),
        units=units,
        interactions=_named(pairs, flagged, parsed.units),
        warnings=_warnings(records, units, pairs),
    )


def _intervals(fitted: EffectFit, value: float, scale: float) -> list[Interval]:
    return [
        Interval(
            estimate=round(scale * effect, 2),
            low=round(scale * (effect - value * error), 2),
            high=round(scale * (effect + value * error), 2),
        )
        for effect, error in zip(fitted.effects.tolist(), fitted.errors.tolist(), strict=True)
    ]


def _verdict(effect: Interval) -> Verdict:
    if effect.low > 0:
        return "helps"
    return "hurts" if effect.high < 0 else "nothing detectable"


def _invalid(rows: Sequence[Row], plan: AuditPlan, look: int) -> list[Interval] | None:
    """Effects on being invalid; None if no rollout was."""
    lost = [float(row.outcome == "invalid") for row in rows]
    if not any(lost):
        return None
    fitted = fit_effects(data_of(rows, plan.units, lost))
    return _intervals(fitted, critical(plan.values[look], fitted.degrees), 100)


def _flagged(pairs: UnitPairs | None) -> list[tuple[int, int]]:
    import numpy as np

    if pairs is None:
        return []
    return [(int(pairs.first[at]), int(pairs.second[at])) for at in np.flatnonzero(pairs.p < LEVEL)]


def _full(
    valid: Sequence[Row], plan: AuditPlan, flagged: list[tuple[int, int]]
) -> list[Interval] | None:
    from scipy.stats import t

    if not flagged:
        return None
    data = data_of(valid, plan.units)
    effects, errors = effects_at_full(data, flagged)
    degrees = max(1, len({row.task for row in valid}) - 1)
    value = float(t.isf(per_unit(plan.alpha, plan.units) / 2, degrees))
    rows = zip(effects.tolist(), errors.tolist(), strict=True)
    return [
        Interval(
            estimate=round(100 * effect, 2),
            low=round(100 * (effect - value * error), 2),
            high=round(100 * (effect + value * error), 2),
        )
        for effect, error in rows
    ]


def _named(
    pairs: UnitPairs | None, flagged: list[tuple[int, int]], units: tuple[Unit, ...]
) -> tuple[Interaction, ...]:
    if pairs is None:
        return ()
    import numpy as np

    found: list[Interaction] = []
    for a, b in flagged:
        at = int(np.flatnonzero((pairs.first == a) & (pairs.second == b))[0])
        effect, p = float(pairs.effects[at]), float(pairs.p[at])
        names = units[a].id, units[b].id
        found.append(Interaction(units=names, effect=round(100 * effect, 2), p=round(p, 4)))
    return tuple(found)


def _traces(unit: Unit, valid: Sequence[Row]) -> Traces:
    own = [row for row in valid if row.units[unit.number] == "1"]
    others = [row for row in valid if row.units[unit.number] == "0"]
    return Traces(
        read_with=sum(unit.number in row.read for row in own),
        echoed_with=sum(unit.number in row.echoed for row in own),
        echoed_without=sum(unit.number in row.echoed for row in others),
        rollouts_with=len(own),
        rollouts_without=len(others),
    )


def _warnings(
    records: Records, units: Sequence[UnitReceipt], pairs: UnitPairs | None
) -> tuple[str, ...]:
    import numpy as np

    found: list[str] = []
    if records.header.simulated:
        found.append("a simulated model: says nothing about a real one")
    lost = sum(row.outcome == "invalid" for row in records.rows)
    if lost:
        found.append(f"{lost} of {len(records.rows)} rollouts were invalid and are left out")
    found += [
        f"{unit.id} changes how often a rollout is invalid: its effect holds for valid ones only"
        for unit in units
        if unit.invalid and (unit.invalid.low > 0 or unit.invalid.high < 0)
    ]
    if pairs is None or bool(np.isnan(pairs.errors).all()):
        found.append("interactions could not be screened: every task has one pair of rollouts")
    return tuple(found)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"

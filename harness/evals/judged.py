"""The pass rate of a run that a model judged, beside what is known of the judge's errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from harness.core import Usage, Value, mapping
from harness.tasks import Calibration

JUDGED = "judge"
"""Key of an item's detail: what the model that judged it used (`usage`), and `lost` votes."""


class JudgedRate(Value):
    """Pass rate by a judging model, with its known errors taken into account.

    Attributes:
        model: spec of the judge.
        judged: valid attempts that it judged.
        lost: its replies that could not be read.
        tokens: of its calls, which are not among those of the run.
        cost_usd: of its calls.
        labels: labelled answers that its calibration rests on; 0 for an uncalibrated judge.
        score: pass rate of the judged attempts, corrected for the errors on these labels; None
            without a calibration, or where the labels do not show that it tells right from wrong,
            or do not fit the run.
        ci95: its 95 % interval, which holds the uncertainty of the calibration, too.
        note: what to know of the figures.
    """

    model: str
    judged: int
    lost: int
    tokens: int
    cost_usd: float | None
    labels: int
    score: float | None = None
    ci95: tuple[float, float] | None = None
    note: str


def judged_rate(
    judge: dict[str, Any],
    details: Sequence[dict[str, JsonValue]],
    groups: Sequence[Sequence[float]],
) -> JudgedRate:
    """The attempts of a run that its judge decided.

    Args:
        facts: of the judge, from the run's lock.
        details: of the items that it judged or lost.
        groups: 1 for each attempt that it passed and 0 for one that it failed, by task.
    """
    from harness.stats import corrected_rate, effective_size

    used = [mapping(detail[JUDGED]) for detail in details]
    usage = sum((Usage.model_validate(row["usage"]) for row in used), Usage())
    n, passes = sum(map(len, groups)), sum(map(sum, groups))
    rate = JudgedRate(
        model=judge["model"],
        judged=n,
        lost=sum(row["lost"] for row in used),
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        labels=0,
        note="uncalibrated: how often this judge errs is not known, and the interval of the pass "
        "rate leaves it out (`harness judge --calibrate` measures it)",
    )
    if not judge["calibration"] or not n:
        return rate
    labelled = Calibration.model_validate(judge["calibration"])
    corrected = corrected_rate(
        passes / n, effective_size(groups), labelled.right_passes, labelled.passes,
        labelled.right_fails, labelled.fails,
    )  # fmt: skip
    if corrected is None:
        note = (
            "on its labels the judge does not tell right answers from wrong ones, or this pass "
            "rate cannot come of one with such errors: label answers of this run"
        )
        return rate.model_copy(update={"labels": labelled.labels, "note": note})
    note = (
        f"corrected for the judge's errors on {labelled.labels} labels: it passes "
        f"{labelled.right_passes} of {labelled.passes} right and "
        f"{labelled.fails - labelled.right_fails} of {labelled.fails} wrong answers"
    )
    return rate.model_copy(
        update={
            "labels": labelled.labels, "score": corrected.value, "note": note,
            "ci95": (corrected.low, corrected.high),
        }
    )  # fmt: skip

"""Report of `harness judge`: verdicts, their cost, and the known errors of the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.core import Outcome, Usage, Value, write_atomic
from harness.judge.knockout import Best
from harness.judge.probes.bias import BiasReport
from harness.judge.rows import passes
from harness.judge.types import Verdict
from harness.models import ChatModel
from harness.stats import rate_interval, reliability_curve, share_interval
from harness.tasks import Calibration, JudgeSettings

if TYPE_CHECKING:
    from harness.judge.session import JudgeCommand

CALIBRATION = "calibration.json"


class Judged(Value):
    """A row with its verdict; of candidates, with the knockout."""

    id: str
    verdict: Verdict | None = None
    best: Best | None = None
    label: bool | int | str | None = None

    @property
    def usage(self) -> Usage:
        """Use of its calls."""
        judged = self.verdict or self.best
        return judged.usage if judged is not None else Usage()

    @property
    def fault(self) -> str:
        """The reason why there is no verdict."""
        return self.verdict.invalid if self.verdict else self.best.fault if self.best else ""

    def outcome(self, threshold: float) -> Outcome:
        """Return `pass` for what got a verdict, but `fail` for an answer below the threshold."""
        score = self.verdict.score if self.verdict else None
        if not self.valid:
            return "invalid"
        return "fail" if score is not None and score < threshold else "pass"

    @property
    def valid(self) -> bool:
        """True if there is a verdict."""
        if self.verdict is not None:
            return not self.verdict.invalid
        return self.best is not None and self.best.index is not None


class JudgeReport(Value):
    """Output of `harness judge --json`.

    Attributes:
        judge: method and model.
        mode: pointwise, pairwise or best-of-n.
        rows: judged, `invalid` of them without a verdict.
        lost: votes that could not be read.
        mean: of the scores of single answers.
        passed: answers that reached the threshold.
        preferences: how often A, B and tie.
        agreement: share of comparisons in both orders that agreed, of `both`.
        verified: comparisons that a program decided.
        emergencies: verdicts of a skill that reached its limits, asked for directly.
        accuracy: share of valid labelled rows judged as labelled, a tie counting half where the
            label is none; with its 95 % interval and the number of labels.
        calibration: of the judge, where labels were given with `--calibrate`.
        bias: of the judge, where it was probed with `--probe`, now or before.
        note: what is known of the judge's errors.
    """

    run: str
    judge: str
    mode: str
    simulated: bool
    rows: int
    invalid: int
    lost: int
    mean: float | None = None
    passed: int | None = None
    preferences: dict[str, int] = {}
    agreement: float | None = None
    both: int = 0
    verified: int = 0
    emergencies: int = 0
    accuracy: float | None = None
    ci95: tuple[float, float] | None = None
    labels: int = 0
    calibration: Calibration | None = None
    bias: BiasReport | None = None
    note: str
    tokens: int
    cost_usd: float | None


def calibration_of(
    judged: list[Judged], labels: dict[str, bool], judging: JudgeSettings, model: str
) -> Calibration:
    """Measure how often a judge is right, by label, and how well its scores are calibrated."""
    pairs = [
        (judgement.verdict.score, labels[judgement.id])
        for judgement in judged
        if judgement.id in labels and judgement.verdict and judgement.verdict.score is not None
    ]
    right = [(label, (score >= judging.threshold) == label) for score, label in pairs]
    positives = [correct for label, correct in right if label]
    negatives = [correct for label, correct in right if not label]
    scores, marks = [score for score, _ in pairs], [label for _, label in pairs]
    return Calibration(
        judge=judging.key(model),
        model=model,
        passes=len(positives),
        right_passes=sum(positives),
        fails=len(negatives),
        right_fails=sum(negatives),
        invalid=len(labels) - len(pairs),
        curve=tuple(reliability_curve(scores, marks)) if pairs else (),
    )


def report_of(
    settings: JudgeCommand, judging: JudgeSettings, name: str, model: ChatModel,
    judged: list[Judged], mode: str, labels: dict[str, bool], bias: BiasReport | None,
) -> JudgeReport:  # fmt: skip
    """The report of judged rows; a calibration is written beside them."""
    valid = [row for row in judged if row.valid]
    verdicts = [row.verdict for row in valid if row.verdict is not None]
    scores = [verdict.score for verdict in verdicts if verdict.score is not None]
    knockouts = [row.best for row in valid if row.best is not None]
    agreements = [float(v.agreement) for v in verdicts if v.agreement is not None]
    compared = len(agreements) + sum(best.both for best in knockouts)
    agreed = sum(agreements) + sum(best.agreed for best in knockouts)
    points = [point for row in valid if (point := _right(row, judging)) is not None]
    usage = sum((row.usage for row in judged), bias.usage if bias else Usage())
    calibration = None
    note = "uncalibrated: how often this judge errs is not known (--calibrate LABELS)"
    if labels:
        calibration = calibration_of(judged, labels, judging, settings.spec(judging))
        write_atomic(settings.out / CALIBRATION, calibration.model_dump_json(indent=2) + "\n")
        informed = calibration.informed
        note = f"calibrated on {calibration.labels} labels"
        if informed is None or informed[1] <= 0:
            note += ": they do not show that the judge tells right answers from wrong ones"
    elif points:
        note = f"its error is that of the {len(points)} labelled rows"
    choices: list[str] = [str(v.preference) for v in verdicts if v.preference is not None]
    return JudgeReport(
        run=settings.out.name,
        judge=name,
        mode=mode,
        simulated=model.simulated,
        rows=len(judged),
        invalid=len(judged) - len(valid),
        lost=sum(result.lost for row in judged if (result := row.verdict or row.best) is not None),
        mean=sum(scores) / len(scores) if scores else None,
        passed=sum(score >= judging.threshold for score in scores) if scores else None,
        preferences={side: choices.count(side) for side in ("A", "B", "tie")} if choices else {},
        agreement=agreed / compared if compared else None,
        both=compared,
        verified=sum(verdict.by == "verifier" for verdict in verdicts),
        emergencies=sum(verdict.by == "emergency" for verdict in verdicts),
        accuracy=sum(points) / len(points) if points else None,
        ci95=share_interval(points) if 0.5 in points else rate_interval([[p] for p in points]),
        labels=len(points),
        calibration=calibration,
        bias=bias,
        note=note,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
    )


def _right(row: Judged, judging: JudgeSettings) -> float | None:
    """Compare a verdict with the label; a tie that the label does not have counts one half."""
    if row.label is None:
        return None
    if row.best is not None:
        return float(row.best.index == row.label)
    assert row.verdict is not None
    if row.verdict.score is not None:
        return float((row.verdict.score >= judging.threshold) == passes(row.label, row.id))
    if row.verdict.preference == "tie" != row.label:
        return 0.5
    return float(row.verdict.preference == row.label)

"""Reports for people and build servers: lines of text, JUnit XML, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from harness.core import render_page, write_atomic
from harness.core.junit import JUnitCase, junit
from harness.rag.check.policies import is_fault
from harness.rag.check.repairs.types import Edit, Repair
from harness.rag.check.types import Checked, Outcome, Report, Verdict

TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def as_text(report: Report, answer: str) -> str:
    """Faults first, each with its reason and quote, then the counts."""
    lines = [f"{report.verdict}: {report.reason}"]
    for claim in report.claims:
        if is_fault(claim) or claim.verdict is Verdict.INVALID:
            line = answer.count("\n", 0, claim.start) + 1
            lines.append(f"  line {line}: {claim.verdict} {claim.text!r} ({claim.type})")
            lines.append(f"    {claim.reason}")
            lines += [f"    {one.doc}[{one.start}:{one.end}] {one.quote!r:.120}"
                      for one in claim.evidence[:2]]  # fmt: skip
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(report).items())
    lines.append(f"{counts or 'no claims'}; coverage {report.coverage:.0%}; {report.verifier}")
    return "\n".join(lines)


def repair_text(repair: Repair) -> str:
    """What was wrong, what was rewritten, and the report on the answer as it is now."""
    faults = [sum(is_fault(one) for one in each.claims) for each in (repair.before, repair.after)]
    lines = [f"before: {repair.before.verdict}: {repair.before.reason}"]
    for edit in repair.edits:
        place = f"[{edit.start}:{edit.end}]"
        lines += [f"  {place} {edit.reason}", f"    - {edit.before}", f"    + {edit.after}"]
    calls = ", ".join(f"{count} {name}" for name, count in repair.calls.items())
    lines += [
        f"{repair.rounds} rounds, {repair.discarded} without gain; faults {faults[0]} -> "
        f"{faults[1]}; calls: {calls}",
        f"after: {as_text(repair.after, repair.answer)}",
        "",
        repair.answer,
    ]
    return "\n".join(lines)


def verdict_counts(report: Report) -> dict[str, int]:
    """Claims of each verdict that occurs."""
    found = [claim.verdict for claim in report.claims]
    return {verdict.value: found.count(verdict) for verdict in Verdict if verdict in found}


def as_junit(reports: Sequence[tuple[str, Report]]) -> str:
    """A test case for every claim of every report; `INVALID` is an error, a fault a failure."""
    return junit(
        {name: [*map(_case, report.claims), _decision(report)] for name, report in reports}
    )


def _case(claim: Checked) -> JUnitCase:
    label = f"{claim.type} [{claim.start}:{claim.end}] {claim.text}"
    if not is_fault(claim) and claim.verdict is not Verdict.INVALID:
        return JUnitCase(label)
    return JUnitCase(
        label,
        "error" if claim.verdict is Verdict.INVALID else "failure",
        claim.reason,
        claim.verdict.value,
        "\n".join(one.quote for one in claim.evidence),
    )


def _decision(report: Report) -> JUnitCase:
    if report.verdict is Outcome.PASS:
        return JUnitCase(f"policy {report.policy}")
    kind = "error" if report.verdict is Outcome.INVALID else "failure"
    return JUnitCase(f"policy {report.policy}", kind, report.reason)


def write_html(
    reports: Sequence[tuple[str, str, Report]], out: Path, edits: Sequence[Edit] = ()
) -> None:
    """Write (name, answer, report) as one page, claims highlighted where they stand.

    `edits` are shown above them: what a repair rewrote.

    Raises:
        BadInput: if `out` cannot be written.
    """
    shown = [
        {
            "name": name,
            "report": report,
            "parts": highlighted(answer, report.claims),
            "counts": verdict_counts(report),
        }
        for name, answer, report in reports
    ]
    write_atomic(out, render_page(TEMPLATE, title="Checked answers", reports=shown, edits=edits))


def highlighted(answer: str, claims: Sequence[Checked]) -> list[dict[str, object]]:
    """The answer cut at every end of a claim; each part with the innermost claim that holds it."""
    cuts = sorted({0, len(answer), *(one.start for one in claims), *(one.end for one in claims)})
    parts: list[dict[str, object]] = []
    for start, end in pairwise(cuts):
        holding = [one for one in claims if one.start <= start and end <= one.end]
        inner = min(holding, key=lambda one: one.end - one.start, default=None)
        parts.append({"text": answer[start:end], "claim": inner})
    return parts

"""Reports for build servers and browsers: JUnit XML, one HTML page; and what a repair changed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import render_page, write_atomic
from harness.core.junit import JUnitCase, junit
from harness.rag.check.checking import as_text, verdict_counts
from harness.rag.check.types import FAULTS, Checked, Outcome, Report, Verdict

if TYPE_CHECKING:
    from harness.rag.check.repairs import Edit, Repair

TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def repair_text(repair: Repair) -> str:
    """Format the faults, the rewritten parts, and the report on the answer as it is now."""
    faults = [len(each.faults) for each in (repair.before, repair.after)]
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


def as_junit(reports: Sequence[tuple[str, Report]]) -> str:
    """A test case for every claim of every report; `INVALID` is an error, a fault a failure."""
    suites: dict[str, list[JUnitCase]] = {}
    for name, report in reports:
        cases = suites[name] = list[JUnitCase]()
        for claim in report.claims:
            case = JUnitCase(f"{claim.type} [{claim.start}:{claim.end}] {claim.text}")
            if claim.verdict is Verdict.INVALID or claim.verdict in FAULTS:
                kind = "error" if claim.verdict is Verdict.INVALID else "failure"
                quotes = "\n".join(quote.quote for quote in claim.evidence)
                case = JUnitCase(case.name, kind, claim.reason, claim.verdict.value, quotes)
            cases.append(case)
        case = JUnitCase(f"policy {report.policy}")
        if report.verdict is not Outcome.PASS:
            kind = "error" if report.verdict is Outcome.INVALID else "failure"
            case = JUnitCase(case.name, kind, report.reason)
        cases.append(case)
    return junit(suites)


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
    ends = {end for claim in claims for end in (claim.start, claim.end)}
    parts: list[dict[str, object]] = []
    for start, end in pairwise(sorted({0, len(answer), *ends})):
        holding = [claim for claim in claims if claim.start <= start and end <= claim.end]
        inner = min(holding, key=lambda claim: claim.end - claim.start, default=None)
        parts.append({"text": answer[start:end], "claim": inner})
    return parts

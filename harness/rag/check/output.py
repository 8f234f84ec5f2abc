"""Reports for build servers and browsers: JUnit XML, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from harness.core import render_page, write_atomic
from harness.core.junit import JUnitCase, junit
from harness.rag.check.checking import verdict_counts
from harness.rag.check.types import Checked, Outcome, Report, Verdict

TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def as_junit(reports: Sequence[tuple[str, Report]]) -> str:
    """A test case for every claim of every report; `INVALID` is an error, a fault a failure."""
    suites: dict[str, list[JUnitCase]] = {}
    for name, report in reports:
        cases = suites[name] = list[JUnitCase]()
        for claim in report.claims:
            case = JUnitCase(f"{claim.type} [{claim.start}:{claim.end}] {claim.text}")
            if claim.verdict is Verdict.INVALID or claim in report.faults:
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


def write_html(reports: Sequence[tuple[str, str, Report]], out: Path) -> None:
    """Write (name, answer, report) as one page, claims highlighted where they stand.

    Raises:
        BadInput: if `out` cannot be written.
    """
    rows = [
        {
            "name": name,
            "report": report,
            "parts": highlighted(answer, report.claims),
            "counts": verdict_counts(report),
        }
        for name, answer, report in reports
    ]
    write_atomic(out, render_page(TEMPLATE, title="Checked answers", reports=rows))


def highlighted(answer: str, claims: Sequence[Checked]) -> list[dict[str, object]]:
    """The answer cut at every end of a claim; each part with the innermost claim that holds it."""
    ends = {end for claim in claims for end in (claim.start, claim.end)}
    parts: list[dict[str, object]] = []
    for start, end in pairwise(sorted({0, len(answer), *ends})):
        holding = [claim for claim in claims if claim.start <= start and end <= claim.end]
        inner = min(holding, key=lambda claim: claim.end - claim.start, default=None)
        parts.append({"text": answer[start:end], "claim": inner})
    return parts

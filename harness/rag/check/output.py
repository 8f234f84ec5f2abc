"""Reports for build servers and browsers: JUnit XML, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from harness.core import render_page, write_atomic
from harness.core.junit import JUnitCase, junit
from harness.rag.check.checking import verdict_counts
from harness.rag.check.types import Checked, Outcome, Report, Verdict

TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def as_junit(reports: Sequence[tuple[str, Report]]) -> str:
    """A test case for every claim of every report; `INVALID` is an error, a fault a failure. An
    outcome that no claim shows, such as too little checked, is one more."""
    kinds: dict[Verdict, Literal["failure", "error"]] = {
        Verdict.INVALID: "error",
        Verdict.CONTRADICTED: "failure",
        Verdict.NOT_FOUND: "failure",
    }
    suites: dict[str, list[JUnitCase]] = {}
    for name, report in reports:
        cases = suites[name] = [
            JUnitCase(
                f"{claim.type} [{claim.start}:{claim.end}] {claim.text}",
                kinds.get(claim.verdict),
                claim.reason,
                claim.verdict.value,
                "\n".join(quote.quote for quote in claim.evidence),
            )
            for claim in report.claims
        ]
        if report.verdict is not Outcome.PASS and not any(case.kind for case in cases):
            kind = "error" if report.verdict is Outcome.INVALID else "failure"
            cases.append(JUnitCase(f"policy {report.policy}", kind, report.reason))
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
    inner = sorted(claims, key=lambda claim: claim.end - claim.start)
    return [
        {
            "text": answer[start:end],
            "claim": next((c for c in inner if c.start <= start and end <= c.end), None),
        }
        for start, end in pairwise(sorted({0, len(answer), *ends}))
    ]

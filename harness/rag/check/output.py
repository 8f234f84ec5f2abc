"""Reports for people and build servers: lines of text, JUnit XML, one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import render_page, write_atomic
from harness.core.junit import JUnitCase, junit
from harness.rag.check.policies import is_fault
from harness.rag.check.types import Checked, Outcome, Report, Verdict

if TYPE_CHECKING:
    from harness.rag.check.repairs import Edit, Repair

TEMPLATE = Path(__file__).parent / "templates" / "report.html.j2"


def as_text(report: Report, answer: str) -> str:
    """Faults first, each with its reason and quote, then the counts."""
    lines = [f"{report.verdict}: {report.reason}"]
    for claim in report.claims:
        if is_fault(claim) or claim.verdict is Verdict.INVALID:
            line = answer.count("\n", 0, claim.start) + 1
            lines.append(f"  line {line}: {claim.verdict} {claim.text!r} ({claim.type})")
            lines.append(f"    {claim.reason}")
            lines += [
                f"    {quote.doc}[{quote.start}:{quote.end}] {quote.quote!r:.120}"
                for quote in claim.evidence[:2]
            ]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(report).items())
    lines.append(f"{counts or 'no claims'}; coverage {report.coverage:.0%}; {report.verifier}")
    return "\n".join(lines)


def repair_text(repair: Repair) -> str:
    """What was wrong, what was rewritten, and the report on the answer as it is now."""
    faults = [sum(map(is_fault, each.claims)) for each in (repair.before, repair.after)]
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
    verdicts = [claim.verdict for claim in report.claims]
    return {verdict.value: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}


def as_junit(reports: Sequence[tuple[str, Report]]) -> str:
    """A test case for every claim of every report; `INVALID` is an error, a fault a failure."""
    suites: dict[str, list[JUnitCase]] = {}
    for name, report in reports:
        cases: list[JUnitCase] = []
        for claim in report.claims:
            label = f"{claim.type} [{claim.start}:{claim.end}] {claim.text}"
            if claim.verdict is Verdict.INVALID or is_fault(claim):
                kind = "error" if claim.verdict is Verdict.INVALID else "failure"
                quotes = "\n".join(quote.quote for quote in claim.evidence)
                cases.append(JUnitCase(label, kind, claim.reason, claim.verdict.value, quotes))
            else:
                cases.append(JUnitCase(label))
        policy = f"policy {report.policy}"
        if report.verdict is Outcome.PASS:
            cases.append(JUnitCase(policy))
        else:
            kind = "error" if report.verdict is Outcome.INVALID else "failure"
            cases.append(JUnitCase(policy, kind, report.reason))
        suites[name] = cases
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

"""`harness doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.cli.shared import emit, json_option

if TYPE_CHECKING:
    from harness.cli.diagnosis import Diagnosis

MARKS = {"ok": "ok      ", "missing": "missing ", "warning": "warning "}


@click.command()
@click.option("--refresh", is_flag=True, help="Probe the sandbox again instead of the cache.")
@json_option
def doctor(refresh: bool, as_json: bool) -> None:
    """Say what this machine can do, and what to do about the rest.

    Example: harness doctor
    """
    from harness.cli.diagnosis import diagnose

    result = diagnose(refresh=refresh)
    emit(result, as_json, _text(result))


def _text(result: Diagnosis) -> str:
    lines = [
        f"{MARKS[finding.status]} {finding.what}: {finding.found}"
        + (f"\n           -> {finding.remedy}" if finding.remedy else "")
        for finding in result.findings
    ]
    lines += ["", f"sandbox: {result.default_sandbox or 'none stops every attack'} is the default"]
    for report in result.ladder:
        state = "admitted" if report.admitted else "off"
        speed = "" if report.spawn_ms is None else f", {report.spawn_ms:.0f} ms to start"
        stopped = f", stops {len(report.stopped)} attacks" if report.stopped else ""
        untried = "" if report.ever_run else ", never run by its authors"
        lines.append(f"  {report.name}: {state}{speed}{stopped}{untried}")
        if report.reason:
            lines.append(f"      {report.reason}")
        if report.escaped:
            lines.append(f"      lets through: {', '.join(report.escaped)}")
    return "\n".join(lines)

"""An eval run as one static HTML file: no script from elsewhere, everything escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import Trajectory, write_atomic
from harness.core.pages import render_page
from harness.core.redaction import redact
from harness.core.rundir import RunReader
from harness.core.trajectory import Step
from harness.evals.compare import read_report
from harness.evals.runner import finished_items
from harness.trajectories.text import content_text

TEMPLATE = Path(__file__).parent / "templates" / "run.html.j2"
MOST_TEXT = 20_000
"""Characters of one step that are shown; the rest stays in the run folder."""


def write_page(run: Path, out: Path) -> None:
    """Write the run folder `run` as the HTML file `out`.

    Raises:
        BadInput: if `run` is no run folder or `out` cannot be written.
    """
    reader = RunReader(run)
    steps = {row["trajectory_id"]: _steps(row) for row in reader.trajectories()}
    records = sorted(finished_items(reader), key=lambda item: (item.outcome, item.id))
    html = render_page(
        TEMPLATE,
        title=f"{reader.lock['suite']}: {run.name}",
        report=read_report(run),
        lock=reader.lock,
        items=[{"record": record, "steps": steps.get(record.id, [])} for record in records],
    )
    write_atomic(out, html)


def _steps(row: dict[str, Any]) -> list[dict[str, str]]:
    return [_shown(step) for step in Trajectory.model_validate(row).steps]


def _shown(step: Step) -> dict[str, str]:
    parts = [content_text(step.message)]
    for call in step.tool_calls or ():
        body = "\n".join(f"{key}: {value}" for key, value in call.arguments.items())
        parts.append(f"→ {call.function_name}\n{body}")
    if step.observation is not None:
        parts += [f"← {content_text(result.content or '')}" for result in step.observation.results]
    text = redact("\n\n".join(part for part in parts if part))
    if len(text) > MOST_TEXT:
        text = text[:MOST_TEXT] + f"\n… ({len(text) - MOST_TEXT} characters more)"
    return {"source": step.source, "text": text}

"""`harness eval regrade`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.shared import emit, json_option
from harness.cli.worker_options import worker_options

if TYPE_CHECKING:
    from harness.evals.regrade import RegradeReport

MOST = 20


@click.command("regrade")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--suite", help="The tasks as they are now. Default: the suite that RUN names.")
@click.option("--out", type=click.Path(path_type=Path), help="Default: RUN-regraded.")
@click.option("--sandbox", default="auto", show_default=True, help="Sandbox back end, or none.")
@click.option("--trust", is_flag=True, help="Run checks that come with the suite unsandboxed.")
@worker_options
@json_option
def regrade_run(
    run: Path,
    suite: str | None,
    out: Path | None,
    sandbox: str,
    trust: bool,
    as_json: bool,
    **place: Any,
) -> None:
    """Judge the answers of RUN again, without running it: after a change of a check or an answer.

    RUN stays as it is; the new records go to another folder, which compare and view can read.
    Workers pay where judging itself is work: code in a sandbox, formulas, tables.

    Example: harness eval regrade runs/eval-20261121-045501-9f3a
    """
    from harness.cli.eval import tally_progress
    from harness.evals import WorkerSettings, regrade_folder

    target = out or run.with_name(run.name + "-regraded")
    show = tally_progress()
    report = regrade_folder(
        run, target, suite, sandbox, trust=trust,
        executor=WorkerSettings.model_validate(place).open_executor(),
        on_progress=lambda tally: show(target.name, tally),
    )  # fmt: skip
    emit(report, as_json, _text(report, target))


def _text(report: RegradeReport, out: Path) -> str:
    before, after = report.before, report.after
    lines = [
        f"judged again {report.graded} of {before.items} attempts into {out}",
        f"passed {before.passed} -> {after.passed}  failed {before.failed} -> {after.failed}"
        f"  invalid {before.invalid} -> {after.invalid}",
        *(
            f"  {one.before} -> {one.after}  {one.id}: {one.answer!r:.60}  {one.reason}"
            for one in report.changed[:MOST]
        ),
    ]
    if (more := len(report.changed) - MOST) > 0:
        lines.append(f"  ... {more} more (--json has all)")
    for why in sorted(set(report.kept.values())):
        count = sum(reason == why for reason in report.kept.values())
        lines.append(f"left as it was: {count}, {why}")
    if not report.changed:
        lines.append("no outcome has changed")
    return "\n".join(lines)

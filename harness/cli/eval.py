"""`harness eval`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.lazy import DefaultGroup
from harness.cli.shared import (
    Progress,
    dollars,
    dry_run_option,
    emit,
    json_option,
    model_options,
    seed_option,
)
from harness.cli.watching import telemetry_options
from harness.cli.worker_options import worker_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.evals import EvalReport, Step, Tally
    from harness.stats import Repeated


_POSITIVE = click.FloatRange(0, min_open=True)


@click.group(
    "eval",
    cls=DefaultGroup,
    intents={
        "Commands": {
            "run": ("harness.cli.eval:run_suite", "What is done where no command is named."),
            "matrix": (
                "harness.cli.eval_matrix:run_matrix",
                "Suites x models x skills x context arms from one file.",
            ),
            "regrade": (
                "harness.cli.eval_regrade:regrade_run",
                "Judge a finished run again, without running it.",
            ),
            "paper": (
                "harness.cli.eval_paper:show_papers",
                "The figures of the papers beside ours.",
            ),
            "import": (
                "harness.cli.eval_import:import_log",
                "Read a log of inspect as a run.",
            ),
            "ctl": (
                "harness.cli.eval_control:control",
                "list | pause | resume | cancel | requeue | concurrency | limits | budget",
            ),
        }
    },
    subcommand_metavar="[run] [OPTIONS] SUITE | matrix | regrade | paper | ctl",
)
def evaluate() -> None:
    """Run an agent over a suite and score it, or steer a run from another terminal.

    SUITE is a .yaml file, a folder with suite.yaml, a .jsonl task file or a shipped suite.

    Example: harness eval demo --limit 20 --model local/smollm2-135m
    """


@click.command("run")
@click.argument("suite")
@click.option("--split", type=click.Choice(["train", "selection", "test"]))
@click.option("--agent", help="graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION.")
@click.option("--skill", type=click.Path(path_type=Path), help="Skill directory.")
@click.option("--skill-mode", type=click.Choice(["preloaded", "discovered"]))
@click.option("--baseline", is_flag=True, help="Run without the skill too, and compare.")
@click.option("--epochs", default=1, show_default=True, help="Attempts per task.")
@click.option("--limit", type=int, help="Take the first tasks only.")
@click.option("--token-limit", type=click.IntRange(1), help="Tokens that an attempt may use.")
@click.option("--cost-limit", type=_POSITIVE, help="US dollars that an attempt may cost.")
@click.option("--time-limit", type=_POSITIVE, help="Seconds that an attempt may take.")
@click.option(
    "--working-limit",
    type=_POSITIVE,
    help="The same without waiting for a slot, a rate limit or another try.",
)
@click.option("--sample", help="Run this task only, and print its events as they happen.")
@click.option("--live", is_flag=True, help="Print the events of every attempt as they happen.")
@click.option("--sandbox", default="auto", show_default=True, help="A rung of the ladder, or none.")
@click.option("--trust", is_flag=True, help="Run code that comes with the suite unsandboxed.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder. Default: runs/<id>.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with this run folder.")
@click.option(
    "--from",
    "earlier",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Take over from RUN what still holds, judge again what is judged otherwise.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="PART",
    help="With --from: skill, prompts, model, agent, settings or code may differ.",
)
@click.option(
    "--junit", type=click.Path(path_type=Path), help="Write JUnit XML, one case an attempt."
)
@telemetry_options
@seed_option
@model_options
@worker_options
@dry_run_option
@json_option
def run_suite(
    as_json: bool,
    dry_run: bool,
    live: bool,
    resume: Path | None,
    junit: Path | None,
    **options: Any,
) -> None:
    """Run an agent over a suite and score it.

    SUITE is a .yaml file, a folder with suite.yaml, a .jsonl task file or a shipped suite.

    Example: harness eval run demo --limit 20 --model local/smollm2-135m
    """
    from harness import api
    from harness.core import LimitReached
    from harness.core.rundir import new_run_id

    run: Path = resume or options.pop("out") or Path("runs") / new_run_id("eval")
    options.pop("out", None)
    settings = api.EvalSettings(**options, out=run, resume=resume)
    if dry_run:
        from harness.cli.eval_plan import show_plan

        show_plan(settings, as_json)
        return
    on_event = _show_event if live or settings.sample is not None else None
    try:
        reports = api.run_evaluation(
            settings, on_progress=tally_progress(), on_event=on_event, on_plan=_show_steps
        )
    except (LimitReached, KeyboardInterrupt) as error:
        click.echo(f"what is finished is kept; go on with:\n  {resume_command(run)}", err=True)
        if isinstance(error, KeyboardInterrupt):
            raise click.Abort from error
        raise
    if junit is not None:
        from harness.evals.report import write_junit

        write_junit([run.with_name(report.run) for report in reports], junit)
    emit(
        reports[0] if len(reports) == 1 else [r.model_dump(mode="json") for r in reports],
        as_json,
        "\n\n".join(report_text(report) for report in reports),
    )
    if reports[-1].invalid:
        click.echo(_reasons(run), err=True)


def _reasons(run: Path) -> str:
    from collections import Counter

    from harness.evals import records

    counts = Counter(item.reason[:300] for item in records(run) if item.outcome == "invalid")
    lines = [f"  {count} of them: {reason}" for reason, count in counts.most_common(3)]
    return "\n".join(["invalid attempts, most frequent reasons:", *lines])


def resume_command(run: Path) -> str:
    """The command that was typed, with --resume in place of --out and --resume."""
    words = iter(sys.argv[1:])
    kept: list[str] = []
    for word in words:
        if word in ("--out", "--resume"):
            next(words, None)
        elif not word.startswith(("--out=", "--resume=")):
            kept.append(word)
    return shlex.join(["harness", *kept, "--resume", str(run)])


def tally_progress() -> Callable[[str, Tally], None]:
    shown: dict[str, Progress] = {}

    def update(label: str, tally: Tally) -> None:
        line = shown.setdefault(label, Progress(tally.total, label))
        usage = tally.usage
        line.update(tally.done, tally.failed, tally.invalid, usage.tokens, usage.cost_usd)

    return update


def _show_steps(steps: list[Step]) -> None:
    from harness.evals.reuse import counted

    click.echo(counted(steps), err=True)


def _show_event(event: dict[str, Any]) -> None:
    click.echo(f"{event.get('type')}: {str(event)[:2000]}", err=True)


def _figure(one: Repeated) -> str:
    if one.value is None:
        return "no task has that many valid attempts"
    interval = f" [{one.ci95[0]:.1%}, {one.ci95[1]:.1%}]" if one.ci95 else ""
    return f"{one.value:.1%}{interval} of {one.tasks} tasks"


def report_text(report: EvalReport) -> str:
    """A report for people."""
    lines = ["SIMULATED model: says nothing about a real one"] if report.simulated else []
    rate = "no valid attempt" if report.score is None else f"{report.score:.1%}"
    interval = f" [{report.ci95[0]:.1%}, {report.ci95[1]:.1%}]" if report.ci95 else ""
    cost = dollars(report.cost_usd)
    mode = f" ({report.skill_mode})" if report.skill_mode else ""
    skill = f"{report.skill or 'none'}{mode}"
    lines += [
        f"{report.suite} with {report.model}, skill {skill}: {rate}{interval}",
        f"passed {report.passed}  failed {report.failed}  invalid {report.invalid}",
        *(f"{name}: {_figure(one)}" for name, one in report.repeated.items()),
        f"{report.tokens:,} tokens, cost {cost}, {report.seconds:.1f} s",
        f"run: {report.run}",
    ]
    return "\n".join(lines)

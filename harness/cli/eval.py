"""`harness eval`: run a suite, judge a run again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.cli.commands import (
    SHARE,
    SettingsCommand,
    complete,
    dollars,
    dry_run_option,
    echo,
    emit,
    json_option,
    path_type,
    resumable,
    shared_option,
    telemetry_options,
)
from harness.cli.next_steps import after_eval
from harness.cli.program import DefaultGroup
from harness.cli.progress import tally_progress
from harness.cli.terminal import fact_lines, table, tinted
from harness.core import Refused, shown
from harness.core.terminal import tokens_text

if TYPE_CHECKING:
    from harness.evals import EvalReport, EvalSettings
    from harness.evals.regrade import RegradeReport

SHOWN_STEPS, SHOWN_CHANGES, SHOWN_TEXT = 40, 20, 2000
_HERE = "harness.cli.eval"


@click.group(
    "eval",
    cls=DefaultGroup,
    intents={
        "Commands": {
            "run": (f"{_HERE}:run_suite", "What is done where no command is named."),
            "matrix": (
                "harness.cli.eval_matrix:run_matrix",
                "Suites x models x skills x context arms from one file.",
            ),
            "regrade": (f"{_HERE}:regrade_run", "Judge a finished run again, without running it."),
            "import": ("harness.cli.runs:import_log", "Read a log of inspect as a run."),
            "ctl": (
                "harness.cli.eval_control:control",
                "list | pause | resume | cancel | requeue | concurrency | limits | budget",
            ),
        }
    },
    subcommand_metavar="[run] [OPTIONS] SUITE | matrix | regrade | ctl",
)
def evaluate() -> None:
    """Run an agent over a suite and score it, or steer a run from another terminal.

    SUITE is a .yaml file, a folder with suite.yaml, a task file (.jsonl,
    .csv, .json, .parquet), hf:OWNER/NAME or a shipped suite.

    Example: harness eval demo --limit 20 --model local/smollm2-135m
    """


@click.command("run", cls=SettingsCommand, settings="harness.evals.settings:EvalSettings")
@click.argument("suite", required=False, shell_complete=complete)
@shared_option("--live", help="Print the events of every attempt as they happen.")
@shared_option("--by", help="Show the pass rate by this column of the tasks, or by `expected`.")
@shared_option("--junit", help="Write JUnit XML, one case per attempt.")
@click.option("--min-pass", type=SHARE, help="Exit 5 if fewer passed, such as 80% or 0.8.")
@click.option("--fail-on-invalid", is_flag=True, help="Exit 5 if an attempt was invalid.")
@telemetry_options
@dry_run_option
@json_option
def run_suite(
    as_json: bool,
    dry_run: bool,
    live: bool,
    by: str | None,
    junit: Path | None,
    min_pass: float | None,
    fail_on_invalid: bool,
    **options: Any,
) -> None:
    """Run an agent over a suite and score it.

    SUITE is a .yaml file, a folder with suite.yaml, a task file (.jsonl,
    .csv, .json, .parquet), hf:OWNER/NAME or a shipped suite. With --resume
    it may be left out: the run knows it, and its settings but for --agent and
    --skill. A higher limit of an attempt may be given there.

    Exit code 4 or 2 if every attempt was invalid: the model was unreachable, or the reason shown.

    Example: harness eval run demo --limit 20 --model local/smollm2-135m
    """
    from harness.core.rundir import new_run_id
    from harness.evals import EvalSettings, run_evaluation
    from harness.evals.formats.junit import write_junit
    from harness.evals.reuse import counted
    from harness.evals.runner import suite_of
    from harness.tasks import COMPARISONS

    if options["suite"] is None:
        if options["resume"] is None:
            raise click.UsageError("Missing argument 'SUITE'.")
        from harness.evals.resuming import started_with

        context = click.get_current_context()
        for name, value in started_with(options["resume"]).items():
            if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
                context.params[name] = value  # the next command takes it over
                context.set_parameter_source(name, ParameterSource.COMMANDLINE)
                if name != "base_url":  # from the command line alone
                    options[name] = value
    run: Path = options["resume"] or options["out"] or Path("runs") / new_run_id("eval")
    settings = EvalSettings.model_validate({**options, "out": run})
    if dry_run:
        _show_plan(settings, as_json)
        return

    def show_event(event: dict[str, Any]) -> None:
        echo(event_line(event), err=True)

    suite = suite_of(settings)
    tasks = suite.tasks
    if by is not None:
        from harness.evals import column_of

        column_of({task.id: task.columns for task in tasks}, by)
    if barred := [t for t in tasks if t.check in (None, *COMPARISONS) and "|" in str(t.answer)]:
        echo(
            f"{len(barred)} of {len(tasks)} expected answers hold '|', as text: where it parts "
            "several right ones, name their column with --map COLUMN=answers",
            err=True,
        )
    skill = None if settings.resume else settings.skill
    if skill:
        from harness.evals import shown_warning

        if warning := shown_warning(skill, tasks[: settings.limit]):
            echo(warning, err=True)
    with resumable(run):
        reports = run_evaluation(
            settings,
            on_progress=tally_progress(resumable=True),
            on_event=show_event if live or settings.sample is not None else None,
            on_plan=lambda steps: echo(counted(steps), err=True),
            suite=suite,
        )
    folders = [run.with_name(report.run) for report in reports]
    if junit is not None:
        write_junit(folders, junit)
    rows = [report.model_dump(mode="json") for report in reports]
    texts = [report_text(*pair) for pair in zip(reports, folders, strict=True)]
    failing = any(report.failed or report.invalid for report in reports)
    if failing and not as_json:
        from harness.cli.failures import failed_rows

        texts.append(failed_rows(folders[-1], tasks))
    if by is not None:
        from harness.evals import rates_by

        rows[-1]["by"] = rates_by(folders[-1], by)
        texts.append(_rates_table(by, rows[-1]["by"]))
    following = after_eval(reports[-1], folders[-1], settings, tasks)
    text = shown(filter(None, [*texts, following]), "\n\n")
    emit(rows[0] if len(rows) == 1 else rows, as_json, text)
    if failing:
        from harness.cli.failures import refuse_all_invalid

        refuse_all_invalid(reports, folders)
    report = reports[-1]  # with --baseline the run with the skill
    if min_pass is not None and (report.score is None or report.score < min_pass):
        raise Refused(
            f"{report.run}: {report.passed} of {report.passed + report.failed} passed, expected "
            f"{100 * min_pass:g} %"
        )
    if fail_on_invalid and report.invalid:
        raise Refused(f"{report.run}: {report.invalid} of {report.items} attempts were invalid")


def _rates_table(column: str, rates: list[dict[str, Any]]) -> str:
    """Rates by a column, to 80 columns; a wrong answer is cut."""
    head, names = "rate", ("rate", "low", "high")
    if any(rate["mean_score"] is not None for rate in rates):
        head, names = "mean score", ("mean_score", "mean_low", "mean_high")
    cells = [[f"{rate[name]:.1%}" for name in names if rate[name] is not None] for rate in rates]
    return table((column, "passed#", head, "wrong most often"), [
        (
            f"{rate['value'] or '(empty)':.20}",
            "{passed} of {judged}".format(**rate),
            f"{cell[0]} [{cell[1]}, {cell[2]}]" if cell[2:] else "".join(cell),
            "{times} x {wrong:.24}".format(**rate) if rate["times"] else "",
        )
        for rate, cell in zip(rates, cells, strict=True)
    ])  # fmt: skip


def event_line(event: dict[str, Any]) -> str:
    """An event of an attempt, as `--live` and `--sample` show it: who, what, and the text."""
    text = event.get("text") or event.get("answer") or event.get("verdict") or ""
    if "arguments" in event:
        text = f"{event['name']} {json.dumps(event['arguments'], ensure_ascii=False)}"
    return f"{event.get('sample', '')} {event.get('type')}: {str(text)[:SHOWN_TEXT]}".strip()


def _show_plan(settings: EvalSettings, as_json: bool) -> None:
    """Print what a run would do and cost, and what holds of an earlier run, without a call."""
    from harness.evals import Step, plan_evaluation
    from harness.evals.reuse import counted

    plan = plan_evaluation(settings)
    # Calls at most are those of attempts that use all their turns, which hardly any does.
    unsaid = ("steps", "estimate", "calls_at_most")
    fields = {key: value for key, value in plan.items() if key not in unsaid}
    if (lift := plan.get("detectable_lift")) is not None:
        fields["detectable_lift"] = f"{100 * lift:.1f} points, 80% power, if 25% of results change"
    lines = fact_lines(fields.items())
    if "steps" in plan:
        steps = plan["steps"]
        lines.append(counted([Step.model_validate(step) for step in steps]))
        lines += [
            f"  {step['action']:8}{step['id']}  {step['why']}" for step in steps[:SHOWN_STEPS]
        ]
        if (more := len(steps) - SHOWN_STEPS) > 0:
            lines.append(f"  ... {more} more (--json has all)")
    lines += [line for estimate in plan["estimate"] for line in estimate_lines(estimate)]
    emit(plan, as_json, "\n".join(lines))


def estimate_lines(estimate: dict[str, Any]) -> list[str]:
    """An expected cost for people, and what it rests on."""
    from harness.evals import time_words

    most = estimate["most_usd"]
    bound = "" if most is None else f", at the dearest attempt's {dollars(most)}"
    return [
        f"expected: {estimate['calls']:,} calls, {estimate['prompt_tokens']:,} + "
        f"{estimate['completion_tokens']:,} tokens, cost {dollars(estimate['cost_usd'])}{bound}, "
        f"{time_words(estimate['seconds'])}",
        f"  from {estimate['basis']}",
        f"  price {estimate['price']}",
    ]


def report_text(report: EvalReport, run: Path) -> str:
    """A report for people, with the folder that other commands take."""
    alike: list[str] = []
    if report.alike[0]:
        from harness.evals import near_duplicates_note

        alike = near_duplicates_note(report)

    def share(value: float, ci95: tuple[float, float] | None) -> str:
        return f"{value:.1%}" + (f" [{ci95[0]:.1%}, {ci95[1]:.1%}]" if ci95 else "")

    rate = "no valid attempt" if report.score is None else share(report.score, report.ci95)
    rate += groups_text(report.groups, " by group, ")
    mode = f" ({report.skill_mode})" if report.skill_mode else ""
    skill = f"{report.skill or 'none'}{mode}"
    return shown([
        *(["SIMULATED model: says nothing about a real one"] if report.simulated else []),
        f"{report.suite} with {report.model}, skill {skill}: {rate}",
        *(
            []
            if report.mean_score is None or report.mean_score == report.score
            else [
                f"mean score {share(report.mean_score, report.mean_score_ci95)}: checks gave "
                "fractions, and the rate above counts passes alone"
            ]
        ),
        shown(
            (
                tinted(f"{word} {number}", None if number else "")
                for word, number in (
                    ("passed", report.passed), ("failed", report.failed),
                    ("invalid", report.invalid),
                )
            ),
            "  ",
        ),
        *(
            f"{name}: no task has that many valid attempts"
            if repeated.value is None
            else f"{name}: {share(repeated.value, repeated.ci95)} of {repeated.tasks} tasks"
            for name, repeated in report.repeated.items()
        ),
        *alike,
        f"{tokens_text(report.tokens, report.calls, report.unreported)}, "
        f"cost {dollars(report.cost_usd)}, {report.seconds:.1f} s",
        *(
            ["the agent asked no model through OPENAI_BASE_URL"]
            if report.passed + report.failed and not (report.tokens or report.calls)
            else []
        ),
        *_judge_lines(report),
        f"run: {run}",
    ])  # fmt: skip


def groups_text(groups: int | None, before: str) -> str:
    """A number of groups in words, for behind an interval; "" where tasks have none."""
    return "" if groups is None else f"{before}{groups} group{'' if groups == 1 else 's'}"


def _judge_lines(report: EvalReport) -> list[str]:
    """The model that judged, for people."""
    if (judge := report.judge) is None:
        return []
    lines = [
        f"judge {judge.model}: {judge.judged} judged, {judge.lost} replies lost, "
        f"{judge.tokens:,} tokens, cost {dollars(judge.cost_usd)}",
        f"judge {judge.note}",
    ]
    if judge.score is not None and judge.ci95 is not None:
        low, high = judge.ci95
        lines.append(f"pass rate without its errors: {judge.score:.1%} [{low:.1%}, {high:.1%}]")
    return lines


@click.command(
    "regrade",
    cls=SettingsCommand,
    settings="harness.evals.settings:SuiteSettings",
    only=("sandbox", "trust", "trust_checks", "executor", "workers", "worker_resources"),
)
@click.argument("run", type=path_type)
@shared_option("--suite", help="The tasks as they are now. Default: the suite that RUN names.")
@shared_option("--out", help="Default: RUN-regraded.")
@json_option
def regrade_run(
    run: Path,
    suite: str | None,
    out: Path | None,
    trust: bool,
    trust_checks: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Judge the answers of RUN again, without running it: after a change of a check or an answer.

    RUN stays as it is; the new records go to another folder, which compare and view can read.
    Workers pay where judging itself is work: code in a sandbox, formulas, tables.

    Example: harness eval regrade runs/eval-20261121-045501-9f3a
    """
    from harness.evals import WorkerSettings, regrade_folder

    target, sandbox = out or run.with_name(run.name + "-regraded"), options.pop("sandbox")
    show = tally_progress()
    report = regrade_folder(
        run, target, suite, sandbox, trust=trust, trust_checks=trust_checks,
        executor=WorkerSettings.model_validate(options).open_executor(),
        on_progress=lambda tally: show(target.name, tally),
    )  # fmt: skip
    emit(report, as_json, _regrade_text(report, target))


def _regrade_text(report: RegradeReport, out: Path) -> str:
    before, after = report.before, report.after
    lines = [
        f"judged again {report.graded} of {before.items} attempts into {out}",
        f"passed {before.passed} -> {after.passed}  failed {before.failed} -> {after.failed}"
        f"  invalid {before.invalid} -> {after.invalid}",
        *(
            f"  {change.before} -> {change.after}  {change.id}: {change.answer!r:.60}  "
            f"{change.reason}"
            for change in report.changed[:SHOWN_CHANGES]
        ),
    ]
    if (more := len(report.changed) - SHOWN_CHANGES) > 0:
        lines.append(f"  ... {more} more (--json has all)")
    for why, count in sorted(Counter(report.kept.values()).items()):
        lines.append(f"left as it was: {count}, {why}")
    if not report.changed:
        lines.append("no outcome has changed")
    return "\n".join(lines)

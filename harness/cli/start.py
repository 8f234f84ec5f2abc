"""`harness init`, and `harness doctor`: what this machine can do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

import click

from harness.cli.commands import dollars, emit, json_option, path_type, shared_option
from harness.cli.next_steps import new_skill_name, next_lines
from harness.cli.terminal import fact_lines, tinted
from harness.core import assets, command_line, digest_tree, remove_tree, shown
from harness.core.errors import BadInput
from harness.core.plugins import install_command, load, plugins
from harness.core.terminal import span

if TYPE_CHECKING:
    from collections.abc import Iterator


EMBEDDED = "smollm2-135m"
FIRST_MODEL = "local/qwen2.5-coder-0.5b"
"""The smallest one that knows what the templates ask, and learns to say it."""
LESSON = """ A small model
knows the answers of these tasks and wraps them in sentences unless it is asked for the bare answer,
as a third of the prompts do; the skill learns the form from those that passed."""
"""What there is to learn in the tasks of a template."""
EXTRAS = {
    "local": "xllamacpp",
    "openvino": "openvino_genai",
    "rag": "faiss",
    "vqa": "rapidocr",
    "gpu": "vllm",
    "ray": "ray",
    "math": "math_verify",
    "otel": "prometheus_client",
    "web": "fastapi",
}


def _columns(context: Any, parameter: Any, words: tuple[str, ...]) -> dict[str, str]:
    from harness.evals import read_columns

    return read_columns(context, parameter, words)


columns_option = click.option(
    "--map",
    "columns",
    metavar="COLUMN=FIELD",
    multiple=True,
    callback=_columns,
    help="A column as id, prompt, answer, answers (with | between), check or files.",
)


@click.command()
@click.argument("folder", default="my-suite", type=path_type)
@click.option(
    "--template",
    type=click.Choice(["text", "json", "spreadsheet"]),
    default="text",
    show_default=True,
    help="Questions on short texts, JSON from them, or questions on tables.",
)
@click.option("--tasks", metavar="FILE", help="Tasks of your own instead (CSV, JSONL, ...).")
@columns_option
@json_option
def init(
    folder: Path, template: str, tasks: str | None, columns: dict[str, str], as_json: bool
) -> None:
    """Write a suite of your own into FOLDER: tasks, an agent, settings.

    Example: harness init my-suite
    """
    count = _make_suite(folder, template, tasks, columns)
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    agent = ("--agent", f"py:{folder}/agent.py:answer", "--model", FIRST_MODEL)
    following = [*_missing(), command_line("eval", folder, *agent)]
    text = f"{folder} has {len(files)} files: {count} tasks, an agent, settings\n"
    text += next_lines(following, "or --model openai/NAME --base-url URL")
    summary = {"folder": str(folder), "files": files, "tasks": count, "next": following}
    emit(summary, as_json, text)


@click.command("try")
@click.argument("data")
@shared_option("--agent", required=True, help="graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:NAME.")
@shared_option(
    "--model", "models", multiple=True, default=("none",), show_default=True, metavar="SPEC",
    help="That answers the agent at OPENAI_BASE_URL.",
)  # fmt: skip
@shared_option("--base-url")
@columns_option
@shared_option(
    "--check", is_flag=False, help="Of tasks that name none: em, contains, FILE.py:FUNCTION, ..."
)
@shared_option("--out", help="Folder of the suite that is written. Default: the name of DATA.")
@shared_option("--limit", default=5, show_default=True, help="Tasks that are run.")
@json_option
def try_tasks(
    data: str,
    columns: dict[str, str],
    check: str | None,
    out: Path | None,
    limit: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Look at your tasks (CSV, JSONL, ...), run five of them with your agent, and write a suite.

    The same command again shows the same result; another agent or other columns need another --out.

    Example: harness try questions.csv --agent "cmd:python3 agent.py {prompt}" --model openai/NAME
    """
    from harness.cli.eval import report_text
    from harness.cli.failures import failed_rows, refuse_all_invalid
    from harness.cli.progress import tally_progress
    from harness.evals import (
        EvalSettings,
        judged_by,
        load_suite,
        near_misses,
        records,
        run_evaluation,
    )
    from harness.models import public_url
    from harness.tasks.families import refuse_unfit_check
    from harness.tasks.files.proposals import proposed_columns
    from harness.tasks.files.rows import DEFAULT_CHECK, of_workbook, rows_of

    columns, seen = ({**columns, DEFAULT_CHECK: check} if check else columns), dict[str, str]()
    file, sheet = of_workbook(data)
    if Path(file).is_file():
        rows = [row for _, row in rows_of(data)]
        columns = proposed_columns(rows, columns)
        for name, cell in (pair for row in rows for pair in row.items()):
            seen.setdefault(name, f"{cell!r:.40}")
    folder = out or Path(re.sub(r"\W+", "-", f"{Path(file).stem} {sheet}".strip()) + "-suite")
    new, count = not folder.exists(), _make_suite(folder, "", data, columns)
    run = Path("runs") / f"{folder.name}-try"
    settings = EvalSettings.model_validate(
        {**options, "suite": str(folder), "limit": limit, "out": run}
    )
    suite = load_suite(str(folder))
    tasks = suite.tasks
    try:
        for task in tasks:  # the next command runs all
            refuse_unfit_check(task, suite.base)
        (report,) = run_evaluation(settings, on_progress=tally_progress(resumable=True))
    except BadInput:
        if new:  # the same command with other columns would find it in its way
            remove_tree(folder)
        raise
    asked = report.invalid == report.items and options["models"] == ("none",)  # and had none
    models = ("openai/NAME",) if asked else options["models"]
    share, words = count / report.items, [f"--model={spec}" for spec in models]
    words += [f"--base-url={public_url(url)}" for url in filter(None, [options["base_url"]])]
    following = [command_line("eval", folder, "--agent", options["agent"], *words)]
    summary: dict[str, Any] = {
        "columns": ", ".join(
            f"{name} as {field}" for name, field in columns.items() if name != DEFAULT_CHECK
        ),
        "check": "; ".join(line.removeprefix("check ") for line in judged_by(tasks)),
        "tasks": f"{count}; one half teaches a skill, the other is held out for its gate",
        "suite": str(folder / "suite.yaml"),
        "first_cells": [f"{name}: {cell}" for name, cell in seen.items()],
    }
    total = (
        f"all {count} tasks: about {report.tokens * share:,.0f} tokens, "
        f"cost {dollars(report.cost_usd and report.cost_usd * share)}, "
        f"{span(report.seconds * share)} of attempts"
    )
    text = [
        *fact_lines(summary.items()),
        "",
        report_text(report, run),
        failed_rows(run, tasks),
        *near_misses(records(run), {task.id: task for task in tasks}),
        total,
    ]
    summary |= {"report": report.model_dump(mode="json"), "next": following}
    emit(summary, as_json, shown([*text, next_lines(following)]))
    refuse_all_invalid([report], [run])


def _make_suite(folder: Path, template: str, tasks: str | None, columns: dict[str, str]) -> int:
    """Write a suite into a folder that is new, or holds the same already; returns its tasks."""
    with TemporaryDirectory() as scratch:
        built = Path(scratch) / folder.resolve().name
        count = _write_suite(built, template, tasks, columns)
        if not folder.exists() or not any(folder.iterdir()):
            shutil.copytree(built, folder, dirs_exist_ok=True)
        elif digest_tree(built) != digest_tree(folder):
            raise BadInput(f"{str(folder)!r} is not empty: name a new folder")
    return count


def _write_suite(folder: Path, template: str, tasks: str | None, columns: dict[str, str]) -> int:
    """Fill the folder; returns how many tasks there are.

    Without a template there is neither an agent nor its README: the user has an agent.

    Raises:
        BadInput: for tasks that cannot be read; then nothing was written.
    """
    import harness.core
    from harness.evals import load_suite
    from harness.tasks.files.rows import DEFAULT_CHECK, of_workbook

    source = Path(harness.core.__file__).parent / "init_template"
    reference = "tasks.jsonl"
    files = sorted((source / template).iterdir())
    if tasks is not None:
        code, _, function = columns.get(DEFAULT_CHECK, "").rpartition(":")
        code = code if Path(code).is_file() else ""
        near = columns | ({DEFAULT_CHECK: f"{Path(code).name}:{function}"} if code else {})
        typed = columns | ({DEFAULT_CHECK: f"{Path(code).resolve()}:{function}"} if code else {})
        query = f"?{urlencode(near)}" if near else ""
        on_hub, (file, _) = tasks.startswith("hf:"), of_workbook(tasks)
        if not on_hub and not Path(file).is_file():
            raise BadInput(
                f"--tasks: expected a task file, or hf:OWNER/NAME, found none at {tasks!r}: "
                "--map COLUMN=FIELD names columns"
            )
        if Path(tasks).suffix in (".yaml", ".yml"):
            raise BadInput(f"{tasks!r} is a suite already: `{command_line('eval', tasks)}` runs it")
        load_suite(f"{tasks}?{urlencode(typed)}" if typed else tasks)
        reference = f"{tasks if on_hub else Path(tasks).name}{query}"
        files = [Path(name) for name in ("" if on_hub else file, code) if name]
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*files, *([source / "agent.py"] if template else [])):
        shutil.copyfile(path, folder / path.name)
    name = "-".join(re.findall("[a-z0-9]+", folder.resolve().name.lower())) or "my-suite"
    values = {
        "name": name,
        "tasks": reference,
        "skill": new_skill_name(name),
        "model": f"--model {FIRST_MODEL}",
        "lesson": LESSON if tasks is None else "",
    }
    for path in (source / "suite.yaml", *([source / "README.md"] if template else [])):
        text = path.read_text("utf-8")
        for key, value in values.items():
            text = text.replace("{" + key + "}", value)
        (folder / path.name).write_text(text, encoding="utf-8")
    return len(load_suite(str(folder)).tasks)


def _missing() -> list[str]:
    """List what has to be typed before the model of the first steps answers."""
    name = FIRST_MODEL.partition("/")[2]
    if "local" not in plugins("weights") or load("weights", "local")(name) is not None:
        return []
    engine = [] if importlib.util.find_spec(EXTRAS["local"]) else [install_command("local")]
    return [*engine, f"harness models pull {name}"]


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        what: the thing.
        status: ok, missing (a feature is off), or warning (something may be wrong).
        found: what was found.
        remedy: what to do, "" if nothing.
    """

    what: str
    status: str
    found: str
    remedy: str = ""


@click.command()
@click.option("--refresh", is_flag=True, help="Probe the sandbox again instead of the cache.")
@json_option
def doctor(refresh: bool, as_json: bool) -> None:
    """Say what this machine can do, and what to do about the rest.

    Example: harness doctor
    """
    from harness.sandbox import cautions, preferred, probe_backends

    findings, reports = list(diagnose()), list(probe_backends(refresh=refresh))
    best = preferred(reports)
    lines = [
        shown(
            [
                tinted(f"{finding.status:8}"),
                f" {finding.what}: {finding.found}",
                f"\n           -> {finding.remedy}" if finding.remedy else "",
            ],
            "",
        )
        for finding in findings
    ]
    default = f"{best.name} is the default" if best else "no back end stops every attack"
    lines += ["", f"sandbox: {default} (--refresh tries them again)"]
    for report in reports:
        state = "admitted" if report.admitted else "off"
        speed = "" if report.spawn_ms is None else f", {report.spawn_ms:.0f} ms to start"
        stopped = f", stops {len(report.stopped)} attacks" if report.stopped else ""
        lines.append(f"  {report.name}: {state}{speed}{stopped}")
        if report.reason:
            lines.append(f"      {report.reason}")
        lines += [f"      note: {note}" for note in cautions(report.name) if report.admitted]
    result = {
        "findings": [finding._asdict() for finding in findings],
        "ladder": [
            {**report.model_dump(mode="json"), "cautions": list(cautions(report.name))}
            for report in reports
        ],
        "default_sandbox": best.name if best else None,
    }
    emit(result, as_json, shown(lines))


def diagnose() -> Iterator[Finding]:
    """Look at this machine, its programs, the extras and the environment."""
    yield Finding(
        "machine",
        "ok",
        f"Python {platform.python_version()}, {platform.system()} {platform.release()} "
        f"{platform.machine()}, {os.cpu_count()} cores",
    )
    if shutil.which("soffice") or shutil.which("libreoffice"):
        yield Finding("LibreOffice", "ok", "found")
    else:
        yield Finding(
            "LibreOffice",
            "missing",
            "no soffice on the PATH",
            "spreadsheets are scored without recalculation; apt-get install libreoffice-calc-nogui",
        )
    if (tool := shutil.which("nvidia-smi")) is None:
        yield Finding("GPU", "missing", "no nvidia-smi: CPU only")
    else:
        listing = subprocess.run(
            [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"],
            capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        models = listing.stdout.strip().replace("\n", "; ")
        yield Finding("GPU", "ok" if models else "warning", models or "none answers")
    if "local" in plugins("weights"):
        path = load("weights", "local")(EMBEDDED)
        if path is not None:
            megabytes = f"{path.stat().st_size / 1e6:.0f} MB in the cache"
            yield Finding(f"local/{EMBEDDED}", "ok", megabytes)
        else:
            yield Finding(
                f"local/{EMBEDDED}", "missing", "not fetched", f"harness models pull {EMBEDDED}"
            )
    for extra, module in EXTRAS.items():
        if importlib.util.find_spec(module):
            yield Finding(f"extra [{extra}]", "ok", module)
        else:
            yield Finding(f"extra [{extra}]", "missing", f"no {module}", install_command(extra))
    names = filter(os.environ.get, ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_BASE_URL"))
    yield Finding("endpoint", "ok", ", ".join(names) or "none set: local only")
    owners = importlib.metadata.packages_distributions().get("harness", [])
    strangers = sorted(set(owners) - {"agent-skill-harness"})
    if strangers:
        yield Finding(
            "name `harness`",
            "warning",
            f"also installed by {', '.join(strangers)}",
            "use an environment of its own",
        )
    else:
        yield Finding("name `harness`", "ok", f"assets in {assets.root().name}/")

"""`harness check --answer FILE --documents PATH...`, `check --batch FILE`, `check train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli import DefaultGroup, emit, intent, json_option

if TYPE_CHECKING:
    from harness.rag.check import Documents, Edit, Report
    from harness.rag.check.blind import CheckSettings
    from harness.rag.retrieve import Document

_FILE = click.Path(path_type=Path)
POLICIES = ("zero-tolerance", "error-rate", "severity", "review-on-single")
EXIT_CODES = {"PASS": 0, "FAIL": 5, "REVIEW": 5, "INVALID": 2}


@intent("Answer")
@click.group(
    short_help="Check what an answer claims against documents, claim by claim.",
    cls=DefaultGroup,
    intents={
        "Commands": {
            "run": ("harness.rag.cli.check:run", "What is done where no command is named."),
        }
    },
    path="check",
    subcommand_metavar="[run] [OPTIONS] [PATH]... | train",
)
def check() -> None:
    """Check what an answer claims against documents, claim by claim.

    Without --model by rules and a small classifier. With it, a Proposer takes the answer apart and
    a Checker that never sees it answers the questions from the documents. --repair lets the model
    of role agent rewrite what fails, and checks again.

    Exits with 0 if it passes, 5 if it fails or a person should look, 2 if no verdict is possible.
    PATHs behind the options are further documents.

    Example: harness check --answer answer.txt --documents report.md
    """


@click.command()
@click.option("--answer", type=_FILE, help="File with the answer to check.")
@click.option("--documents", type=_FILE, multiple=True, metavar="PATH", help="May repeat.")
@click.option("--index", "folder", type=_FILE, help="Check against an index instead.")
@click.option("--batch", type=_FILE, help="JSONL of {question, answer, contexts, reference?}.")
@click.option("--question", default="", help="What the user asked.")
@click.option("--policy", type=click.Choice(POLICIES), default="zero-tolerance", show_default=True)
@click.option("--verifier", default="auto", show_default=True, help="auto, rules or trained.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[ROLE=]SPEC",
    help="Check blindly with models; roles: proposer, checker, and agent for --repair (agent= "
    "alone leaves the check without a model). May repeat.",
)
@click.option("--mixed", is_flag=True, help="Values by the numeric engine, models for the rest.")
@click.option("--votes", type=int, default=1, show_default=True, help="Samples of the checker.")
@click.option("--repair", is_flag=True, help="Rewrite what fails, and check again.")
@click.option("--rounds", type=int, default=2, show_default=True, help="Most rewritings.")
@click.option("--base-url", help="Endpoint of openai/ and vllm/ models.")
@click.option("--budget-usd", type=float, help="Stop before more money than this is spent.")
@click.option("--budget-tokens", type=int, help="Stop before more tokens are used.")
@click.option("--budget-calls", type=int, help="Stop before more calls are sent.")
@click.option("--calls", type=_FILE, help="Record the calls here; answered ones are not repeated.")
@click.option("--concurrency", type=int, default=8, show_default=True, help="Rows at a time.")
@click.option("--junit", type=_FILE, help="Write JUnit XML, one case a claim.")
@click.option("--html", type=_FILE, help="Write a page with the claims highlighted.")
@click.option("--export", type=_FILE, help="Write what every role said, with rewards (parquet).")
@click.option(
    "--reward", type=click.Choice(("ztr", "err", "scaled")), default="ztr", show_default=True
)
@click.argument("more", nargs=-1, type=_FILE, metavar="[PATH...]")
@json_option
@click.pass_context
def run(context: click.Context, **options: Any) -> None:
    """Check one answer, or those of a batch.

    Example: harness check run --batch rows.jsonl --model openai/NAME --junit checked.xml
    """
    from harness.rag.cli.check_batch import batch

    _refuse(options)
    edits: tuple[Edit, ...] = ()
    if options["batch"] is not None:
        named = batch(options)
    else:
        named, edits = _single(options)
    counted = named[:1] if edits else named  # of a repair, the answer as it is now
    if options["junit"] is not None:
        from harness.core import write_atomic
        from harness.rag.check import as_junit

        write_atomic(options["junit"], as_junit([(name, one) for name, _, one in counted]))
    if options["html"] is not None:
        from harness.rag.check import write_html

        write_html(named, options["html"], edits)
    context.exit(max((EXIT_CODES[report.verdict] for _, _, report in counted), default=0))


def _refuse(options: dict[str, Any]) -> None:
    """Options that mean nothing together."""
    single = ("answer", "documents", "folder", "more", "repair")
    if options["batch"] is not None and any(options[name] for name in single):
        raise click.UsageError("--batch takes no --answer, --documents, --index or --repair")
    if options["export"] is not None and (not options["models"] or options["repair"]):
        raise click.UsageError("--export needs --model, and takes no --repair")


def settings_of(options: dict[str, Any]) -> CheckSettings:
    """What all ways of checking with models take."""
    from harness.models import Budget, CallStore
    from harness.rag.check.blind import CheckSettings

    names = ("usd", "tokens", "calls")
    return CheckSettings(
        policy=options["policy"],
        votes=options["votes"],
        mixed=options["mixed"],
        base_url=options["base_url"],
        budget=Budget(**{name: options[f"budget_{name}"] for name in names}),
        calls=CallStore(options["calls"]),
    )


def _single(options: dict[str, Any]) -> tuple[list[tuple[str, str, Report]], tuple[Edit, ...]]:
    answer: Path | None = options["answer"]
    paths = (*options["documents"], *options["more"])
    if answer is None or (not paths) == (options["folder"] is None):
        raise click.UsageError("expected --answer FILE with --documents PATH or --index DIR")
    text = _read(answer)
    given = _given(text, paths, options)
    if options["repair"]:
        return _repaired(answer.name, text, given, options)
    if options["models"]:
        report = _blind(answer.name, text, given, options)
    else:
        report = _plain(text, given, options)
    _show(text, report, options["as_json"])
    return [(answer.name, text, report)], ()


def _given(text: str, paths: tuple[Path, ...], options: dict[str, Any]) -> Documents:
    from harness.rag.check import gather

    folder: Path | None = options["folder"]
    return list(paths) if folder is None else gather(folder, text, options["question"])


def _plain(text: str, given: Documents, options: dict[str, Any]) -> Report:
    from harness.rag.check import check as checked

    names = ("question", "policy", "verifier")
    return checked(text, given, **{name: options[name] for name in names})


def _blind(name: str, text: str, given: Documents, options: dict[str, Any]) -> Report:
    from harness.rag.check.blind import check_blind
    from harness.rag.check.rollouts import Recorder

    read, recorder = _documents(given), Recorder()
    report = check_blind(
        text, read, options["models"], settings_of(options), question=options["question"],
        on_event=recorder.tell,
    )  # fmt: skip
    if options["export"] is not None:
        from harness.rag.check.rollouts import rows, with_solver, write_parquet

        rollouts = with_solver(recorder.rollouts, options["question"], text, read)
        found = rows(name, options["question"], read, rollouts, report, options["reward"])
        write_parquet(found, options["export"])
    return report


def _documents(given: Documents) -> list[Document]:
    from harness.rag.check.checking import read_documents

    read, warnings = read_documents(given)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    return read


def _repaired(
    name: str, text: str, given: Documents, options: dict[str, Any]
) -> tuple[list[tuple[str, str, Report]], tuple[Edit, ...]]:
    from harness.rag.check import repair_answer, repair_text

    found = repair_answer(
        text, _documents(given), options["models"], settings_of(options),
        question=options["question"], verifier=options["verifier"], rounds=options["rounds"],
    )  # fmt: skip
    whole = found.after.model_dump(mode="json") | {"repair": found.model_dump(mode="json")}
    emit(whole, options["as_json"], repair_text(found))
    after = (f"{name}, repaired", found.answer, found.after)
    before = (f"{name}, as given", text, found.before)
    return ([after, before] if found.edits else [after]), found.edits


def _show(text: str, report: Report, as_json: bool) -> None:
    from harness.rag.check import as_text

    for warning in report.warnings:
        click.echo(f"warning: {warning}", err=True)
    emit(report, as_json, as_text(report, text))


def _read(path: Path) -> str:
    from harness.core import BadInput

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"expected an answer as UTF-8 text in {str(path)!r}: {error}") from error

"""`harness index ablate` and `harness index questions`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli import (
    MODEL_FIELDS,
    SettingsCommand,
    dollars,
    echo,
    emit,
    json_option,
    path_type,
    shared_option,
    table,
)
from harness.core import loops, shown, write_atomic
from harness.rag import retrieve
from harness.rag.cli.index import index_option, reading, reading_options

if TYPE_CHECKING:
    from harness.models import Model
    from harness.rag.evals.ablation import Ablation

T = TypeVar("T")


@click.command(
    cls=SettingsCommand, settings="harness.evals.settings:SuiteSettings", only=MODEL_FIELDS[1:]
)
@index_option
@click.option("--cases", type=path_type, required=True, help="JSON lines of {query, gold: [...]}.")
@shared_option("--top", help="Results that count.")
@click.option("--retriever", multiple=True, metavar="FILE.py:FUNCTION", help="Your own store.")
@click.option("--rerank", multiple=True, help="An arm with this reranker; may repeat.")
@click.option("--write", type=path_type, help="Keep the table as a JSON file.")
@click.option(
    "--answers",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Let --model answer from so many tokens of each arm's passages; cases need `answers`.",
)
@json_option
def ablate(
    folder: Path,
    cases: Path,
    top: int,
    retriever: tuple[str, ...],
    rerank: tuple[str, ...],
    write: Path | None,
    answers: int | None,
    as_json: bool,
    **model: Any,
) -> None:
    """Measure every way to search on the same queries; with --answers, what a model makes of it.

    Example: harness index ablate --index docs-index --cases cases.jsonl --retriever mine.py:find
    """
    from harness.rag.evals.ablation import ablate as run_ablation
    from harness.rag.evals.ablation import index_arms, load_retriever, read_cases

    rows = read_cases(cases)
    arms = index_arms(retrieve.open_index(folder), rerank)
    arms |= {reference: load_retriever(reference) for reference in retriever}
    ablation = run_ablation(rows, arms, top, progress=_progress)
    if answers is not None:
        from harness.rag.evals.ablation import answer_arms

        replies = _with_model(
            lambda agent: answer_arms(rows, arms, agent, answers, progress=_progress), **model
        )
        ablation = ablation.model_copy(update={"answers": replies})
    if write is not None:
        write_atomic(write, ablation.model_dump_json(indent=1) + "\n")
    emit(ablation, as_json, ablation_text(ablation))


@click.command(
    cls=SettingsCommand, settings="harness.evals.settings:SuiteSettings", only=MODEL_FIELDS
)
@click.argument("paths", type=path_type, nargs=-1, required=True)
@shared_option("--out", required=True, help="JSON lines file to write.")
@click.option("--count", type=int, default=50, show_default=True, help="Queries to draft.")
@click.option("--ask-model", is_flag=True, help="Let --model ask. Default: the rarest words.")
@reading_options
@json_option
def questions(
    paths: tuple[Path, ...],
    out: Path,
    count: int,
    ask_model: bool,
    seed: int,
    as_json: bool,
    ocr: bool,
    encoding: str | None,
    parser: str,
    max_file_mb: float,
    strict: bool,
    follow_links: bool,
    **model: Any,
) -> None:
    """Draft queries with verified gold spans from PATHS.

    Example: harness index questions docs/ --out cases.jsonl --count 40
    """
    from harness.rag.evals.questions import draft_keywords, draft_questions

    parsed = retrieve.parse_paths(
        paths, reading(ocr, encoding, parser, max_file_mb, strict, follow_links)
    )
    documents = parsed.documents
    for note in parsed.notes:
        echo(note, err=True)
    if ask_model:
        drafts = _with_model(lambda agent: draft_questions(documents, count, agent, seed), **model)
    else:
        drafts = draft_keywords(documents, count, seed)
    write_atomic(out, "".join(case.model_dump_json() + "\n" for case in drafts.cases))
    summary = {
        "out": str(out),
        "cases": len(drafts.cases),
        "method": drafts.method,
        "attempts": drafts.attempts,
        "rejected": drafts.rejected,
    }
    dropped = "".join(f"\nrejected: {number} x {why}" for why, number in drafts.rejected.items())
    emit(summary, as_json, f"{len(drafts.cases)} cases -> {out}: {drafts.method}{dropped}")


def _with_model(
    work: Callable[[Model], Coroutine[Any, Any, T]],
    models: tuple[str, ...],
    base_url: str | None,
    budget_usd: float | None,
    budget_tokens: int | None,
    budget_calls: int | None,
    concurrency: int,
) -> T:
    """Run work that asks a model, opened with the options of the command line."""
    from harness.models import Budget, open_model, parse_roles

    async def run() -> T:
        model = open_model(
            parse_roles(models)["agent"],
            base_url=base_url,
            budget=Budget(usd=budget_usd, tokens=budget_tokens, calls=budget_calls),
            concurrency=concurrency,
        )
        try:
            return await work(model)
        finally:
            await model.aclose()

    return loops.run(run())


def ablation_text(ablation: Ablation) -> str:
    """The ablation for people."""
    k = ablation.k
    heads = ("arm", f"recall@{k}#", f"nDCG@{k}#", "MRR#", "nDCG lift (95 % interval)", "tokens#",
             "p50 ms#", "p95 ms#", "failed")  # fmt: skip
    rows = [
        (arm.arm, f"{arm.recall:.3f}", f"{arm.ndcg:.3f}", f"{arm.mrr:.3f}",
         _lift(arm.ndcg_lift, arm.ndcg_lift_ci95), f"{arm.tokens:.0f}", f"{arm.p50_ms:.1f}",
         f"{arm.p95_ms:.1f}", f"{arm.failed}: {arm.error}" if arm.failed else "")
        for arm in ablation.arms
    ]  # fmt: skip
    parts = [table(heads, rows), f"{ablation.queries} queries; lift against {ablation.baseline}"]
    if ablation.answers:
        heads = ("answers from", "F1#", "holds#", "EM#", "F1 lift (95 % interval)", "tokens#",
                 "cost#", "invalid#")  # fmt: skip
        rows = [
            (arm.arm, f"{arm.f1:.3f}", f"{arm.holds:.3f}", f"{arm.em:.3f}",
             _lift(arm.f1_lift, arm.f1_lift_ci95), f"{arm.usage.tokens:,}",
             dollars(arm.usage.cost_usd), str(arm.invalid or ""))
            for arm in ablation.answers
        ]  # fmt: skip
        parts += ["", table(heads, rows)]
    return shown(parts)


def _lift(mean: float, ci95: tuple[float, float]) -> str:
    return f"{mean:+.3f} ({ci95[0]:+.3f} to {ci95[1]:+.3f})"


def _progress(arm: str, count: int, total: int) -> None:
    end = "\r" if count < total else "\n"
    echo(f"{arm}: {count}/{total}", end=end, err=True)

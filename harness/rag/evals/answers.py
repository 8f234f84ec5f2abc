"""Answers of a model from each arm's passages: the answer score, tokens and cost of every arm."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

from harness.core import BadInput, HarnessError, LimitReached, Unreachable, Usage, Value, render
from harness.models import Model, Sampling
from harness.rag.evals.ablation import BASELINE, SAMPLES, Retriever, mean
from harness.rag.evals.metrics import AnswerReport, Case
from harness.rag.retrieve import Hit
from harness.rag.tasks.reading import best_overlap, exact_match, official_normal
from harness.skills import count_tokens
from harness.stats import mean_interval

SAMPLING = Sampling(temperature=0.0, max_tokens=96)
_CITED = re.compile(r"\s*\[\d+(?:\s*[,;]\s*\d+)*\]")


class _Scored(Value):
    em: float
    holds: float
    f1: float


class _Replies(Value):
    scores: dict[int, _Scored]
    usage: Usage
    invalid: int


async def answer_arms(
    cases: Sequence[Case],
    arms: Mapping[str, Retriever],
    model: Model,
    budget: int = 1500,
    *,
    baseline: str = BASELINE,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[AnswerReport, ...]:
    """Let a model answer every case from each arm's best passages within a budget.

    Args:
        cases: those with `answers` are asked.
        arms: as for :func:`harness.rag.evals.ablation.ablate`.
        model: answers.
        budget: most tokens of the passages of a prompt.
        baseline: arm that lifts are taken against; the first one if there is none of that name.
        progress: called with (arm, cases done, cases in all).

    Returns:
        A report of every arm, the best F1 first.

    Raises:
        BadInput: if no case has answers; no model is called then.
        LimitReached: if a budget is spent.
        Unreachable: if the model does not answer.
    """
    answerable = [case for case in cases if case.answers]
    if not answerable or budget < 1:
        raise BadInput(
            f"expected cases with `answers` and a budget of 1 or more, got {len(answerable)} of "
            f"{len(cases)} cases and {budget}: add `answers: [...]`, or draft questions with "
            "`harness index questions --ask-model`"
        )
    runs: dict[str, _Replies] = {}
    for name, search in arms.items():
        runs[name] = await _run(name, search, answerable, model, budget, progress)
    first = runs.get(baseline, next(iter(runs.values())))
    reports = [_report(name, run, first) for name, run in runs.items()]
    return tuple(sorted(reports, key=lambda report: -report.f1))


async def _run(
    name: str,
    search: Retriever,
    cases: Sequence[Case],
    model: Model,
    budget: int,
    progress: Callable[[str, int, int], None] | None,
) -> _Replies:
    scores: dict[int, _Scored] = {}
    usage, invalid = Usage(), 0
    for number, case in enumerate(cases):
        try:
            hits = await asyncio.to_thread(search, case.query, 32)
            prompt = prompt_of(case.query, hits, budget)
            reply = await model.complete([{"role": "user", "content": prompt}], sampling=SAMPLING)
        except (LimitReached, Unreachable):
            raise
        except HarnessError:
            invalid += 1
            continue
        usage += reply.usage
        scores[number] = score(reply.text, case.answers)
        if progress is not None:
            progress(name, number + 1, len(cases))
    return _Replies(scores=scores, usage=usage, invalid=invalid)


def prompt_of(question: str, hits: Sequence[Hit], budget: int) -> str:
    """The prompt of `harness ask`, with the best hits that fit the budget."""
    passages: list[dict[str, object]] = []
    room = budget
    for hit in hits:
        cost = count_tokens(hit.text)
        if cost <= room:
            passages.append({"number": len(passages) + 1, "where": hit.citation, "text": hit.text})
            room -= cost
    return render("ask_answer", passages=passages, question=question)


def score(reply: str, answers: Sequence[str]) -> _Scored:
    """A reply without its citations, against the accepted answers."""
    answer = _CITED.sub("", reply).strip()
    plain = f" {official_normal(answer)} "
    return _Scored(
        em=float(exact_match(answer, answers)),
        holds=float(any(f" {official_normal(accepted)} " in plain for accepted in answers)),
        f1=best_overlap(answer, answers).f1,
    )


def _report(name: str, run: _Replies, baseline: _Replies) -> AnswerReport:
    scores = list(run.scores.values())
    lifts = [
        score.f1 - baseline.scores[number].f1
        for number, score in run.scores.items()
        if number in baseline.scores
    ]
    f1 = [score.f1 for score in scores]
    return AnswerReport(
        arm=name,
        cases=len(scores),
        em=mean([score.em for score in scores]),
        holds=mean([score.holds for score in scores]),
        f1=mean(f1),
        f1_ci95=mean_interval(f1, SAMPLES),
        f1_lift=mean(lifts),
        f1_lift_ci95=mean_interval(lifts, SAMPLES),
        usage=run.usage,
        invalid=run.invalid,
    )

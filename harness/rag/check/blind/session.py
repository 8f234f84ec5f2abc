"""What the MARCH graph is given at run time, the Checker's rounds, and the report they make."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.core import BadInput, assets
from harness.models import Model, Sampling
from harness.rag.check.blind.comparing import compare
from harness.rag.check.blind.replies import Answered, read_answers
from harness.rag.check.blind.request import BlindRequest, ask_blind, windows
from harness.rag.check.blind.vault import Vault
from harness.rag.check.blind.voting import best_support, vote
from harness.rag.check.checking import report as make_report
from harness.rag.check.numbers.judging import judge as judge_value
from harness.rag.check.numbers.sources import open_sources
from harness.rag.check.types import Claim, Finding, PolicyName, Report, Verdict
from harness.rag.retrieve import Document

SURE = 0.8
"""Confidence from which the numeric engine decides alone, where engine and models are mixed."""
_VALUES = ("number", "cell", "derived", "date")
Said = list[list[list[list[str] | None]]]
"""Of one request: window, sample, question -> [evidence, answer], None where it was unreadable."""


@dataclass(frozen=True)
class MarchContext:
    """Runtime context of `graphs/march.py`: everything that is not state.

    Attributes:
        solver: answers; not asked where there is a response to check.
        proposer: takes the response apart; best of another family than the Checker.
        checker: answers the questions.
        documents: what everything is checked against.
        policy: how verdicts become an outcome.
        votes: samples of the Checker for each request.
        sampling: of all calls; samples of one request differ by seed.
        mixed: values that the numeric engine is sure of are not asked for.
        vault: what the Checker must not see.
        on_event: told of every reply and of the report.
    """

    solver: Model
    proposer: Model
    checker: Model
    documents: tuple[Document, ...]
    policy: PolicyName = "zero-tolerance"
    votes: int = 1
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.0))
    mixed: bool = False
    vault: Vault = field(default_factory=Vault)
    on_event: Callable[[dict[str, Any]], None] | None = None

    def tell(self, event: dict[str, Any]) -> None:
        """Pass an event on."""
        if self.on_event is not None:
            self.on_event(event)


def solve_passages(documents: Sequence[Document]) -> tuple[str, ...]:
    """What the Solver reads: the first window of the documents."""
    return next(iter(windows(documents)), ())


def settled(context: MarchContext, claims: Sequence[Claim]) -> dict[int, Finding]:
    """Claims, by their places, that the numeric engine decides; none unless it is mixed in.

    What it does not find may still be said in words: that is left to the Checker.
    """
    if not context.mixed:
        return {}
    sources = open_sources(context.documents)
    found: dict[int, Finding] = {}
    for at, claim in enumerate(claims):
        verdict = judge_value(claim, sources) if claim.type in _VALUES else None
        unsure = (None, Verdict.NOT_FOUND, Verdict.INVALID)
        if verdict is not None and verdict.verdict not in unsure and verdict.confidence >= SURE:
            found[at] = verdict
    return found


async def ask_windows(context: MarchContext, request: int, questions: Sequence[str]) -> Said:
    """Ask one request over every window of the documents, as often as there are votes."""
    rounds = [
        asyncio.gather(
            *(_ask(context, request, tuple(questions), passages, seed)
              for seed in range(context.votes))
        )
        for passages in windows(context.documents)
    ]  # fmt: skip
    return [list(one) for one in await asyncio.gather(*rounds)]


async def _ask(
    context: MarchContext, request: int, questions: tuple[str, ...], passages: tuple[str, ...],
    seed: int,
) -> list[list[str] | None]:  # fmt: skip
    """One sample; a reply of which nothing can be read is asked for once more."""
    blind = BlindRequest(questions, passages)
    found: list[Answered | None] = []
    for attempt in (0, 1):
        sampling = context.sampling.model_copy(update={"seed": seed + 1000 * attempt})
        reply = await ask_blind(context.checker, blind, context.vault, request, sampling)
        context.tell(
            {
                "type": "reply",
                "role": "checker",
                "messages": blind.messages(),
                "reply": reply,
                "again": attempt > 0,
                "sample": seed,
            }
        )
        found = read_answers(reply.text, len(questions))
        if any(one is not None for one in found):
            break
    return [[one.evidence, one.answer] if one else None for one in found]


def judge_all(
    context: MarchContext,
    response: str,
    claims: Sequence[Claim],
    groups: Sequence[Sequence[int]],
    answers: Sequence[Said],
    reworded: int,
    known: Mapping[int, Finding],
) -> Report:
    """The report: votes within a window, best support over windows, then the policy.

    A value that the Checker could not find but that follows from cells of the documents is
    `DERIVED`: the Checker was told not to compute.
    """
    findings: dict[int, Finding] = dict(known)
    for group, windows_said in zip(groups, answers, strict=True):
        for at, place in enumerate(group):
            votes = [
                vote([compare(claims[place], _said(one[at]), context.documents) for one in samples])
                for samples in windows_said
            ]
            if votes:
                findings[place] = best_support(votes)
    every = [_completed(context, claim, findings.get(at)) for at, claim in enumerate(claims)]
    warnings = [f"{reworded} questions gave something away and were asked neutrally"]
    name = f"march ({context.checker.spec}{', numeric engine' if context.mixed else ''})"
    return make_report(
        response, claims, every, context.documents, context.policy, name,
        warnings if reworded else (),
    )  # fmt: skip


def _said(one: list[str] | None) -> Answered | None:
    return Answered(one[0], one[1]) if one is not None else None


def _completed(context: MarchContext, claim: Claim, found: Finding | None) -> Finding:
    if found is None:
        reason = (
            "every wording of a question for it gives the claimed value away"
            if any(one.text.strip() for one in context.documents)
            else "the documents hold no text to check against"
        )
        return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)
    if found.verdict is Verdict.NOT_FOUND and claim.type in ("number", "cell", "derived"):
        computed = judge_value(claim, open_sources(context.documents))
        if computed is not None and computed.verdict is Verdict.DERIVED:
            return computed
    return found


async def march(context: MarchContext, *, asked: str = "", response: str = "") -> Report:
    """Run the graph on one response, or on the Solver's own.

    Raises:
        BadInput: if there is neither a response nor a question, or `votes` is below 1.
        Leaked: if a request to the Checker held something of the response; it was not sent.
    """
    if not response.strip() and not asked.strip():
        raise BadInput("expected a response to check, or a question for the Solver")
    if context.votes < 1:
        raise BadInput(f"votes: expected 1 or more, got {context.votes!r}")
    calls: Counter[str] = Counter()

    def count(event: dict[str, Any]) -> None:
        if event["type"] == "reply" and not event["reply"].cached:
            calls["again" if event.get("again") else event["role"]] += 1
        context.tell(event)

    graph = assets.load_graph("march")
    counting = replace(context, on_event=count)
    state = await graph.ainvoke({"asked": asked, "response": response}, context=counting)
    return Report.model_validate(state["report"]).model_copy(update={"calls": dict(calls)})

"""What the MARCH graph is given at run time, the Checker's rounds, and the report they make.

A :class:`BlindRequest` has no place for anything but questions and documents; a response, a claim
or a claimed value cannot be passed to a Checker, and what is rendered is asserted again as it is
sent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.core import BadInput, assets, render
from harness.models import Message, Model, Reply, Sampling
from harness.rag.check.blind.leaks import Vault
from harness.rag.check.blind.replies import Answered, answers_format, read_answers
from harness.rag.check.blind.voting import best_support, compare, vote
from harness.rag.check.checking import report as make_report
from harness.rag.check.numbers import open_sources
from harness.rag.check.rules import judge as judge_value
from harness.rag.check.types import (
    QUANTITY_TYPES,
    VALUE_TYPES,
    Claim,
    Finding,
    PolicyName,
    Report,
    Verdict,
)
from harness.rag.retrieve import Document

WINDOW = 24_000
"""Characters of documents in one request, about 6,000 tokens."""
# Confidence from which the numeric engine decides alone, where engine and models are mixed.
_SURE = 0.8
Answers = list[list[list[list[str] | None]]]
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
        on_event: called with every reply and with the report.
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


@dataclass(frozen=True)
class BlindRequest:
    """One request to a Checker.

    Attributes:
        questions: neutral questions, as :func:`harness.rag.check.blind.blinded` gives them.
        passages: texts of documents, verbatim.
    """

    questions: tuple[str, ...]
    passages: tuple[str, ...]

    def messages(self) -> list[Message]:
        """The chat messages, from the two fields alone."""
        prompt = render("march_check", passages=self.passages, questions=self.questions)
        return [{"role": "user", "content": prompt}]


async def ask_blind(
    model: Model, request: BlindRequest, vault: Vault, number: int, sampling: Sampling
) -> Reply:
    """Ask a Checker; the messages that leave are asserted to hold nothing of the response.

    `number` is the request's position among those that the vault was sealed for.

    Raises:
        Leaked: if they do; nothing was sent then.
    """
    messages = request.messages()
    vault.assert_blind(messages, request.passages, number)
    form = answers_format(model, len(request.questions))
    return await model.complete(messages, sampling=sampling, response_format=form)


def windows(documents: Sequence[Document], size: int = WINDOW) -> list[tuple[str, ...]]:
    """Passages of all documents, packed into windows; a long document is cut between lines."""
    packed: list[list[str]] = [[]]
    for document in documents:
        text = document.text
        while text:
            part, text = text, ""
            if len(part) > size:
                cut = max(part.rfind(mark, size // 2, size) for mark in ("\n\n", "\n", ". ", " "))
                cut = cut + 1 if cut > 0 else size
                part, text = part[:cut], part[cut:]
            if not part.strip():
                continue
            if packed[-1] and sum(map(len, packed[-1])) + len(part) > size:
                packed.append([])
            packed[-1].append(part)
    return [tuple(window) for window in packed if window]


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
    findings: dict[int, Finding] = {}
    for place, claim in enumerate(claims):
        finding = judge_value(claim, sources) if claim.type in VALUE_TYPES else None
        if finding is None or finding.verdict in (Verdict.NOT_FOUND, Verdict.INVALID):
            continue
        if finding.confidence >= _SURE:
            findings[place] = finding
    return findings


async def ask_windows(context: MarchContext, request: int, questions: Sequence[str]) -> Answers:
    """Ask one request over every window of the documents, as often as there are votes."""
    rounds = [
        asyncio.gather(
            *(_ask(context, request, BlindRequest(tuple(questions), passages), seed)
              for seed in range(context.votes))
        )
        for passages in windows(context.documents)
    ]  # fmt: skip
    return [list(samples) for samples in await asyncio.gather(*rounds)]


async def _ask(
    context: MarchContext, number: int, request: BlindRequest, sample: int
) -> list[list[str] | None]:
    """One sample; a reply of which nothing can be read is asked for once more."""
    answers: list[Answered | None] = []
    for attempt in (0, 1):
        sampling = context.sampling.model_copy(update={"seed": sample + 1000 * attempt})
        reply = await ask_blind(context.checker, request, context.vault, number, sampling)
        context.tell(
            {
                "type": "reply",
                "role": "checker",
                "messages": request.messages(),
                "reply": reply,
                "again": attempt > 0,
                "sample": sample,
            }
        )
        answers = read_answers(reply.text, len(request.questions))
        if any(answer is not None for answer in answers):
            break
    return [[*answer] if answer else None for answer in answers]


def judge_all(
    context: MarchContext,
    response: str,
    claims: Sequence[Claim],
    groups: Sequence[Sequence[int]],
    answers: Sequence[Answers],
    reworded: int,
    decided: Mapping[int, Finding],
) -> Report:
    """The report: votes within a window, best support over windows, then the policy.

    A value that the Checker could not find but that follows from cells of the documents is
    `DERIVED`: the Checker was instructed not to compute.
    """
    findings: dict[int, Finding] = dict(decided)
    for group, rounds in zip(groups, answers, strict=True):
        for question, place in enumerate(group):
            votes: list[Finding] = []
            for samples in rounds:
                replies = [
                    Answered(*reply) if (reply := each[question]) else None for each in samples
                ]
                votes.append(vote([compare(claims[place], reply, context.documents)
                                   for reply in replies]))  # fmt: skip
            if votes:
                findings[place] = best_support(votes)
    every = [_completed(context, claim, findings.get(place)) for place, claim in enumerate(claims)]
    warnings = [f"{reworded} questions gave something away and were asked neutrally"]
    name = f"march ({context.checker.spec}{', numeric engine' if context.mixed else ''})"
    return make_report(
        response, claims, every, context.documents, context.policy, name,
        warnings if reworded else (),
    )  # fmt: skip


def _completed(context: MarchContext, claim: Claim, finding: Finding | None) -> Finding:
    if finding is None:
        reason = (
            "every wording of a question for it gives the claimed value away"
            if any(document.text.strip() for document in context.documents)
            else "the documents hold no text to check against"
        )
        return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)
    if finding.verdict is Verdict.NOT_FOUND and claim.type in QUANTITY_TYPES:
        computed = judge_value(claim, open_sources(context.documents))
        if computed is not None and computed.verdict is Verdict.DERIVED:
            return computed
    return finding


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

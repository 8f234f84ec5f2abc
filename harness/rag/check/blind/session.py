"""Run-time context of the MARCH graph, the Checker's rounds, and the report they make.

A :class:`BlindRequest` has no place for anything but questions and documents; a response, a claim
or a claimed value cannot be passed to a Checker, and what is rendered is asserted again as it is
sent.

A claimed value is compared with what the Checker answered: contradiction is judged, not agreement.
"Cannot answer" is no contradiction, and two answers that are none are no match. Several samples
vote; over several windows of the documents the best support counts.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from harness.core import PRINTS_ALIKE, BadInput, assets, render
from harness.models import Message, Model, Sampling
from harness.rag.check.blind.questions import Vault
from harness.rag.check.blind.replies import Answered, answers_format, read_answers
from harness.rag.check.checking import report as make_report
from harness.rag.check.claims import NEGATION, question_for
from harness.rag.check.numbers import Agreement, agreement, coverage, open_sources, read, words
from harness.rag.check.rules import judge_claim
from harness.rag.check.types import (
    BY_SUPPORT,
    QUANTITY_TYPES,
    STATEMENT_TYPES,
    VALUE_TYPES,
    Claim,
    Evidence,
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
_SAME_WORDS = 0.8
"""Share of a sentence's words that a passage holds which says the same."""
_OPEN = (Verdict.NOT_FOUND, Verdict.CONTRADICTED)
_ARTICLES = {"the", "a", "an", "of"}
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
        on_event: called with every reply and with the report.
        vault: what the Checker must not see; every context has its own, copies as well.
    """

    solver: Model
    proposer: Model
    checker: Model
    documents: tuple[Document, ...] = ()
    policy: PolicyName = "zero-tolerance"
    votes: int = 1
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.0))
    mixed: bool = False
    on_event: Callable[[dict[str, Any]], None] | None = None
    vault: Vault = field(default_factory=Vault, init=False)

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
    """Return the Solver's text: the first window of the documents."""
    return next(iter(windows(documents)), ())


def settled(context: MarchContext, claims: Sequence[Claim]) -> dict[int, Finding]:
    """Claims, by their places, that the numeric engine decides; none unless it is mixed in.

    What it does not find may still be said in words: that is left to the Checker.
    """
    if not context.mixed:
        return {}
    sources = open_sources(context.documents)
    findings: dict[int, Finding] = {}
    for index, claim in enumerate(claims):
        finding = judge_claim(claim, sources) if claim.type in VALUE_TYPES else None
        if finding is None or finding.verdict in (Verdict.NOT_FOUND, Verdict.INVALID):
            continue
        if finding.confidence >= _SURE:
            findings[index] = finding
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
    """One sample; a reply of which nothing can be read is asked for once more.

    The messages that leave are asserted to hold nothing of the response; `number` is the request's
    position among those that the vault was sealed for.
    """
    messages = request.messages()
    context.vault.assert_blind(messages, request.passages, number)
    form = answers_format(context.checker, len(request.questions))
    answers: list[Answered | None] = []
    for attempt in (0, 1):
        sampling = context.sampling.model_copy(update={"seed": sample + 1000 * attempt})
        reply = await context.checker.complete(messages, sampling=sampling, response_format=form)
        context.tell(
            {
                "type": "reply",
                "role": "checker",
                "messages": messages,
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
        for question, index in enumerate(group):
            votes: list[Finding] = []
            for samples in rounds:
                replies = (sample[question] for sample in samples)
                answered = (Answered(*reply) if reply else None for reply in replies)
                votes.append(
                    vote([compare(claims[index], reply, context.documents) for reply in answered])
                )
            if votes:
                findings[index] = best_support(votes)
    readable = any(document.text.strip() for document in context.documents)
    cited: dict[str, list[Evidence]] = {}
    for index, finding in findings.items():
        if finding.verdict is Verdict.SUPPORTED:
            cited.setdefault(claims[index].sentence, []).extend(finding.evidence)
    in_order: list[Finding] = []
    for index, claim in enumerate(claims):
        finding = findings.get(index)
        if finding is not None and finding.verdict in _OPEN:
            finding = quoted(claim, cited.get(claim.sentence, ())) or finding
        if finding is None:
            reason = (
                "every wording of a question for it gives the claimed value away"
                if readable
                else "the documents hold no text to check against"
            )
            finding = _invalid(reason)
        elif finding.verdict is Verdict.NOT_FOUND and claim.type in QUANTITY_TYPES:
            computed = judge_claim(claim, open_sources(context.documents))
            if computed is not None and computed.verdict is Verdict.DERIVED:
                finding = computed
        in_order.append(finding)
    warnings = [f"{reworded} questions gave something away and were asked neutrally"]
    name = f"march ({context.checker.spec}{', numeric engine' if context.mixed else ''})"
    return make_report(
        response, claims, in_order, context.documents, context.policy, name,
        warnings if reworded else (),
    )  # fmt: skip


def compare(claim: Claim, reply: Answered | None, documents: Sequence[Document]) -> Finding:
    """The verdict of one reply on one claim; evidence is located in the documents."""
    if reply is None:
        return _invalid("the Checker's reply could not be read")
    if not reply.answer:
        reason = "the Checker found no answer in the documents"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=1.0)
    verdict, reason = _verdict(claim, reply.answer)
    quote = locate(reply.evidence, documents) or locate(reply.answer, documents)
    if quote is None and verdict is not Verdict.NOT_FOUND:
        return _invalid(f"the evidence {reply.evidence[:60]!r} is not in the documents")
    evidence = (quote,) if quote else ()
    return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=1.0)


def quoted(claim: Claim, cited: Sequence[Evidence]) -> Finding | None:
    """Support for a claim that no Proposer asked about, by what was cited for its sentence.

    Keywords are a poor question: a small model answers them with something else that it read. Where
    it was asked about another part of the sentence, agreed, and cited a passage that holds what the
    sentence says, nothing is left to find.

    Args:
        claim: about a sentence or a name; numbers and dates are left as they are.
        cited: passages for other claims of the same sentence, which they support.
    """
    if claim.type in VALUE_TYPES or claim.question != question_for(claim)[0]:
        return None
    for evidence in cited:
        share = coverage(words(claim.sentence), words(evidence.quote))
        names_it = claim.type != "entity" or _tokens(claim.value) <= _tokens(evidence.quote)
        if share >= _SAME_WORDS and names_it and not _opposed(claim.sentence, evidence.quote):
            reason = f"cited for another part of the sentence: {evidence.quote[:80]!r}"
            return Finding(
                verdict=Verdict.SUPPORTED, evidence=(evidence,), reason=reason, confidence=share
            )
    return None


def locate(quote: str, documents: Sequence[Document]) -> Evidence | None:
    """Locate a quote: verbatim, or else with other white space, quotation marks and dashes.

    Returns:
        The place with the document's own characters; None if no document holds the quote.
    """
    text = quote.strip().strip("\"'\u201c\u201d")
    if not text:
        return None
    parts = re.split(r"\s+", text.translate(PRINTS_ALIKE).strip(" .\u2026"))
    loose = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    verbatim = ((document, re.search(re.escape(text), document.text)) for document in documents)
    similar = (
        (document, loose.search(document.text.translate(PRINTS_ALIKE))) for document in documents
    )
    for document, match in chain(verbatim, similar):
        if match:
            start, end = match.span()
            quoted = document.text[start:end]
            return Evidence(doc=document.id, start=start, end=end, quote=quoted)
    return None


def _invalid(reason: str) -> Finding:
    return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)


def _verdict(claim: Claim, answer: str) -> tuple[Verdict, str]:
    if claim.type in STATEMENT_TYPES and claim.value == claim.sentence:
        share = coverage(words(claim.sentence), words(answer))
        opposed = _opposed(claim.sentence, answer)
        if share >= 0.7 and opposed:
            return Verdict.CONTRADICTED, f"the Checker says the opposite: {answer[:80]!r}"
        if share >= 0.5 and not opposed:
            return Verdict.SUPPORTED, f"the Checker says the same: {answer[:80]!r}"
        return Verdict.NOT_FOUND, f"the Checker speaks of something else: {answer[:80]!r}"
    agreed = f"the Checker answered {answer[:60]!r}"
    differs = f"claimed {claim.value!r}, the Checker answered {answer[:60]!r}"
    values = read(claim.value)
    if values and claim.type != "entity":
        fits = [agreement(values[0], stated) for stated in read(answer)]
        if Agreement.SAME in fits:
            return Verdict.SUPPORTED, agreed
        if Agreement.DIFFERENT in fits:
            return Verdict.CONTRADICTED, differs
        return Verdict.NOT_FOUND, f"the Checker's {answer[:60]!r} is no value of that kind"
    claimed, stated = _tokens(claim.value), _tokens(answer)
    if claimed and stated and (claimed <= stated or stated <= claimed):
        return Verdict.SUPPORTED, agreed
    if claimed & stated:
        return Verdict.NOT_FOUND, f"{differs}: partly the same"
    return Verdict.CONTRADICTED, differs


def _opposed(first: str, second: str) -> bool:
    return bool(NEGATION.search(first)) != bool(NEGATION.search(second))


def _tokens(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"\w+", text)} - _ARTICLES


def vote(findings: Sequence[Finding]) -> Finding:
    """The verdict that most samples gave, with their share as confidence.

    Samples without a verdict do not vote, but count against the confidence. A tie decides
    nothing: it is `INVALID`, with both sides named.
    """
    voting = [finding for finding in findings if finding.verdict is not Verdict.INVALID]
    if not voting:
        return findings[0]
    counts = Counter(finding.verdict for finding in voting).most_common()
    verdict, most = counts[0]
    if len(counts) > 1 and most == counts[1][1]:
        sides = ", ".join(f"{count} {side}" for side, count in counts)
        return _invalid(f"the votes tie: {sides}")
    winner = next(finding for finding in voting if finding.verdict is verdict)
    return winner.model_copy(update={"confidence": most / len(findings)})


def best_support(findings: Sequence[Finding]) -> Finding:
    """Over windows of documents: one that supports is enough, whatever the others lack."""
    return min(
        findings, key=lambda finding: (BY_SUPPORT.index(finding.verdict), -finding.confidence)
    )


async def march(context: MarchContext, *, question: str = "", response: str = "") -> Report:
    """Run the graph on one response, or on the Solver's own.

    Raises:
        BadInput: if there is neither a response nor a question, or `votes` is below 1.
        Leaked: if a request to the Checker held something of the response; it was not sent.
    """
    if not response.strip() and not question.strip():
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
    state = await graph.ainvoke({"asked": question, "response": response}, context=counting)
    return Report.model_validate(state["report"]).model_copy(update={"calls": dict(calls)})

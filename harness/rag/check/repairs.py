"""Repair: failing spans of an answer are rewritten, it is checked again, what is better is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.core import BadInput, Value, loops, render
from harness.models import Model, Sampling
from harness.rag.check.blind import (
    DEFAULTS,
    WINDOW,
    CheckSettings,
    json_objects,
    march,
    open_roles,
    parts_format,
    windows,
)
from harness.rag.check.checking import Documents, check, open_verifier, read_documents
from harness.rag.check.claims import statements
from harness.rag.check.numbers import coverage, open_sources, words
from harness.rag.check.types import FAULTS, Checked, Evidence, Outcome, Report, Verifier
from harness.rag.retrieve import Document

ROUNDS = 2
"""Rewritings of one answer."""
# Characters around a passage, and passages of each part, where the documents are long.
_AROUND, _NEAREST = 200, 3
# Times the length of its sentence that a replacement may have.
_LONGEST = 3

Check = Callable[[str], Awaitable[Report]]
"""Checks an answer; what it is checked with is up to the caller."""


class Edit(Value):
    """One rewritten part, in characters of the answer as it was given.

    Attributes:
        start: first character.
        end: character behind the last one.
        before: `answer[start:end]`.
        after: what stands there now; "" where it was left out.
        reason: why it failed.
    """

    start: int
    end: int
    before: str
    after: str
    reason: str

    @property
    def growth(self) -> int:
        """Characters that the answer is longer by, after the edit."""
        return len(self.after) - (self.end - self.start)


class Repair(Value):
    """An answer before and after.

    Attributes:
        answer: as it is now; the given one where no rewriting helped.
        before: report on the given answer.
        after: report on `answer`.
        edits: in order, none overlapping; outside of them both answers are the same.
        rounds: rewritings that were asked for.
        calls: sent to the model that rewrites (`repair`) and to those that check (`check`).
        discarded: rounds whose result was no better and was thrown away.
    """

    answer: str
    before: Report
    after: Report
    edits: tuple[Edit, ...] = ()
    rounds: int = 0
    calls: dict[str, int] = {}
    discarded: int = 0


class Fault(NamedTuple):
    """A span to rewrite, with its sentence, the reasons of all failing claims in it, and the
    evidence against them."""

    start: int
    end: int
    sentence_start: int
    sentence_end: int
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def repair_answer(
    answer: str,
    documents: Documents,
    models: Sequence[str],
    settings: CheckSettings = DEFAULTS,
    *,
    question: str = "",
    verifier: str | Verifier = "auto",
    rounds: int = ROUNDS,
) -> Repair:
    """Check an answer, let the model of role `agent` rewrite what fails, check again; blocking.

    Args:
        answer: the text to repair.
        documents: as :func:`harness.rag.check.check` takes them.
        models: `[ROLE=]SPEC`; with the role `agent` alone the check itself stays without a model
            and `verifier` gives the verdicts.
        settings: policy and limits; votes and `mixed` for a check with models.
        question: what the user asked.
        verifier: for a check without models.
        rounds: most rewritings.

    Raises:
        BadInput: for an empty answer, no model, an unknown spec, or a path that cannot be read.
        Unreachable: if a model does not answer.
        LimitReached: if the budget is used up.
    """
    if not answer.strip():
        raise BadInput("expected an answer to repair, found no visible character in it")
    if not models:
        raise BadInput("a repair needs a model that rewrites: --model agent=SPEC")
    sources, _ = read_documents(documents)
    blind = any(model.partition("=")[0].strip() != "agent" for model in models)
    judge = open_verifier(verifier) if isinstance(verifier, str) and not blind else verifier

    async def run() -> Repair:
        async with open_roles(models, settings) as roles:
            context = replace(roles, documents=tuple(sources))

            async def recheck(text: str) -> Report:
                if blind:
                    return await march(context, question=question, response=text)
                policy = settings.policy
                return check(text, sources, question=question, policy=policy, verifier=judge)

            solver = roles.solver
            return await repair(answer, sources, recheck, solver, question=question, rounds=rounds)

    return loops.run(run())


async def repair(
    answer: str,
    documents: Sequence[Document],
    check: Check,
    model: Model,
    *,
    question: str = "",
    rounds: int = ROUNDS,
) -> Repair:
    """Rewrite what fails, and nothing else, until nothing fails or the rounds are used up.

    The first round rewrites the failing claims themselves, later ones the sentences around those
    that still fail. A round counts only if fewer claims fail after it; else it is thrown away.

    Args:
        answer: the text to repair.
        documents: what it is checked against.
        check: gives the reports before and after.
        model: rewrites; it reads the answer's failing sentences and the documents.
        question: what the user asked.
        rounds: most rewritings, each one call.

    Raises:
        BadInput: if `rounds` is below 1.
    """
    if rounds < 1:
        raise BadInput(f"rounds: expected 1 or more, got {rounds!r}")
    before = report = await check(answer)
    draft, attempts, discarded = Draft(answer), 0, 0
    calls = {"repair": 0, "check": sum(report.calls.values())}
    while attempts < rounds and report.verdict is not Outcome.INVALID:
        faults = faults_of(draft.text, report.claims, whole=attempts > 0)
        if not faults:
            break
        reply = await model.complete(
            request(draft.text, faults, documents, question),
            sampling=Sampling(temperature=0.0, seed=attempts),
            response_format=parts_format(model, len(faults)),
        )
        attempts += 1
        calls["repair"] += not reply.cached
        rewritten = draft.changed(changes(draft.text, faults, reply.text))
        if rewritten.text == draft.text or not rewritten.text.strip():
            continue
        checked = await check(rewritten.text)
        calls["check"] += sum(checked.calls.values())
        fewer = len(checked.faults) < len(report.faults)
        if checked.verdict is not Outcome.INVALID and fewer:
            draft, report = rewritten, checked
        else:
            discarded += 1
    return Repair(
        answer=draft.text, before=before, after=report, edits=draft.edits, rounds=attempts,
        calls=calls, discarded=discarded,
    )  # fmt: skip


def faults_of(answer: str, claims: Sequence[Checked], *, whole: bool = False) -> list[Fault]:
    """Failing spans in order, none overlapping another.

    A sentence that fails is left alone where a value in it fails: the value comes first.

    Args:
        answer: that was checked.
        claims: as its report has them.
        whole: take the sentences around failing claims in place of the claims.
    """
    sentences = statements(answer)

    def sentence_of(claim: Checked) -> tuple[int, int]:
        around = (span for span in sentences if span[0] <= claim.start and claim.end <= span[1])
        return next(around, (claim.start, claim.end))

    failing = [claim for claim in claims if claim.verdict in FAULTS]
    failing.sort(key=lambda claim: claim.end - claim.start)
    spans: list[tuple[int, int]] = []
    for claim in failing:
        start, end = sentence_of(claim) if whole else (claim.start, claim.end)
        if not any(first < end and start < last for first, last in spans):
            spans.append((start, end))
    faults: list[Fault] = []
    for start, end in sorted(spans):
        within = [claim for claim in failing if claim.start < end and start < claim.end]
        first, last = sentence_of(within[0])
        reasons = dict.fromkeys(claim.reason for claim in within)
        evidence = dict.fromkeys(quote for claim in within for quote in claim.evidence)
        faults.append(
            Fault(start, end, min(first, start), max(last, end), tuple(reasons), tuple(evidence))
        )
    return faults


def request(
    text: str, faults: Sequence[Fault], documents: Sequence[Document], question: str
) -> list[dict[str, object]]:
    """The chat messages that ask for replacements of the faults' spans."""
    marked = [
        {
            "number": number,
            "sentence": text[fault.sentence_start : fault.start]
            + f"<part>{text[fault.start : fault.end]}</part>"
            + text[fault.end : fault.sentence_end],
            "reasons": fault.reasons,
            "quotes": [quote.quote for quote in fault.evidence],
        }
        for number, fault in enumerate(faults, start=1)
    ]
    passages = _passages(text, faults, documents)
    prompt = render("march_repair", asked=question, faults=marked, passages=passages)
    return [{"role": "user", "content": prompt}]


def _passages(text: str, faults: Sequence[Fault], documents: Sequence[Document]) -> list[str]:
    """The documents; of long ones the evidence and the sentences nearest to each part."""
    if sum(len(document.text) for document in documents) <= WINDOW:
        return [part for window in windows(documents) for part in window]
    places = {(quote.doc, quote.start, quote.end) for fault in faults for quote in fault.evidence}
    sentences = [(source, each) for source in open_sources(documents) for each in source.sentences]
    for fault in faults:
        about = words(text[fault.sentence_start : fault.sentence_end])
        near = sorted(sentences, key=lambda pair: -coverage(about, pair[1].words))[:_NEAREST]
        places |= {(source.document.id, each.start, each.end) for source, each in near}
    texts = {document.id: document.text for document in documents}
    passages = (
        texts[doc][max(0, start - _AROUND) : end + _AROUND] for doc, start, end in sorted(places)
    )
    return list(dict.fromkeys(passages))


class Change(NamedTuple):
    """`text[start:end]` becomes `after`."""

    start: int
    end: int
    after: str
    reason: str


def changes(text: str, faults: Sequence[Fault], reply: str) -> list[Change]:
    """The replacements of a reply, at the faults' own spans; garbage changes nothing."""
    replacements: dict[int, Change] = {}
    for item in json_objects(reply):
        number, after = item.get("part"), item.get("text")
        if not isinstance(number, int) or not isinstance(after, str):
            continue
        if not 1 <= number <= len(faults) or number in replacements:
            continue
        fault, end = faults[number - 1], faults[number - 1].end
        after = after.strip() if "\n" in text[fault.start : end] else " ".join(after.split())
        ahead, behind = text[fault.sentence_start : fault.start], text[end : fault.sentence_end]
        fits = len(after) >= len(ahead) + len(behind)
        if fits and ahead + behind and after.startswith(ahead) and after.endswith(behind):
            # models like to repeat the words around the part
            after = after[len(ahead) : len(after) - len(behind)]
        while not after and text[end : end + 1] in (" ", "\t"):
            end += 1  # a part that is left out takes the blanks behind it along
        if len(after) <= _LONGEST * (fault.sentence_end - fault.sentence_start):
            replacements[number] = Change(fault.start, end, after, "; ".join(fault.reasons))
    return list(replacements.values())


@dataclass(frozen=True)
class Draft:
    """An answer under repair.

    Attributes:
        original: the answer as it was given.
        edits: what was replaced of it, in its characters, in order and disjoint.
    """

    original: str
    edits: tuple[Edit, ...] = ()

    @property
    def text(self) -> str:
        """The answer as it is now: outside of the edits, the original."""
        parts: list[str] = []
        end = 0
        for edit in self.edits:
            parts += [self.original[end : edit.start], edit.after]
            end = edit.end
        return "".join([*parts, self.original[end:]])

    def changed(self, changes: list[Change]) -> Draft:
        """The draft with disjoint spans of its present text replaced."""
        draft = self
        for change in sorted(changes, reverse=True):  # from the end, so that the others stay put
            draft = draft._replaced(change)
        return replace(
            draft, edits=tuple(edit for edit in draft.edits if edit.before != edit.after)
        )

    def _replaced(self, change: Change) -> Draft:
        """One replacement; it joins the earlier edits that it meets."""
        start, end, after, reason = change
        ahead: list[Edit] = []
        met: list[Edit] = []
        behind: list[Edit] = []
        begin, finish, shift = start, end, 0  # of the joined edit, in the present text
        for edit in self.edits:
            first = edit.start + shift
            last = first + len(edit.after)
            # a part that was left out is met by what touches it
            inside = start <= first <= end if first == last else first < end and start < last
            group = met if inside else ahead if last <= start else behind
            group.append(edit)
            if inside:
                begin, finish = min(begin, first), max(finish, last)
            shift += edit.growth
        text, moved = self.text, sum(edit.growth for edit in ahead)
        original = slice(begin - moved, finish - moved - sum(edit.growth for edit in met))
        joined = Edit(
            start=original.start,
            end=original.stop,
            before=self.original[original],
            after=text[begin:start] + after + text[end:finish],
            reason="; ".join(dict.fromkeys([*(edit.reason for edit in met), reason])),
        )
        return replace(self, edits=(*ahead, joined, *behind))

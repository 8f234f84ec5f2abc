"""The repair loop: rewrite the failing spans, check again, keep what is better, stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from harness.core import BadInput, render
from harness.models import Model, Sampling
from harness.rag.check.blind.formats import parts_format
from harness.rag.check.blind.replies import json_objects
from harness.rag.check.blind.request import WINDOW, windows
from harness.rag.check.numbers.context import coverage, words
from harness.rag.check.numbers.sources import open_sources
from harness.rag.check.policies import is_fault
from harness.rag.check.repairs.spans import Fault, faults_of
from harness.rag.check.repairs.splicing import Change, Draft
from harness.rag.check.repairs.types import Repair
from harness.rag.check.types import Outcome, Report
from harness.rag.retrieve import Document

ROUNDS = 2
"""Rewritings of one answer."""
AROUND, NEAREST = 200, 3
"""Characters around a passage, and passages of each part, where the documents are long."""
LONGEST = 3
"""Times the length of its sentence that a replacement may have."""

Check = Callable[[str], Awaitable[Report]]
"""Checks an answer; what it is checked with is up to the caller."""


async def repair(
    answer: str,
    documents: Sequence[Document],
    check: Check,
    model: Model,
    *,
    asked: str = "",
    rounds: int = ROUNDS,
    sampling: Sampling | None = None,
) -> Repair:
    """Rewrite what fails, and nothing else, until nothing fails or the rounds are used up.

    The first round rewrites the failing claims themselves, later ones the sentences around those
    that still fail. A round counts only if fewer claims fail after it; else it is thrown away.

    Args:
        answer: the text to repair.
        documents: what it is checked against.
        check: gives the reports before and after.
        model: rewrites; it reads the answer's failing sentences and the documents.
        asked: what the user asked.
        rounds: most rewritings, each one call.
        sampling: of the rewriting calls.

    Raises:
        BadInput: if `rounds` is below 1.
    """
    if rounds < 1:
        raise BadInput(f"rounds: expected 1 or more, got {rounds!r}")
    before = report = await check(answer)
    draft, done, discarded = Draft(answer), 0, 0
    calls = {"repair": 0, "check": sum(report.calls.values())}
    using = sampling or Sampling(temperature=0.0)
    while done < rounds and report.verdict is not Outcome.INVALID:
        faults = faults_of(draft.text, report.claims, whole=done > 0)
        if not faults:
            break
        reply = await model.complete(
            request(draft.text, faults, documents, asked),
            sampling=using.model_copy(update={"seed": done}),
            response_format=parts_format(model, len(faults)),
        )
        done += 1
        calls["repair"] += not reply.cached
        tried = draft.changed(changes(draft.text, faults, reply.text))
        if tried.text == draft.text or not tried.text.strip():
            continue
        found = await check(tried.text)
        calls["check"] += sum(found.calls.values())
        if found.verdict is not Outcome.INVALID and _faults(found) < _faults(report):
            draft, report = tried, found
        else:
            discarded += 1
    return Repair(
        answer=draft.text, before=before, after=report, edits=draft.edits, rounds=done,
        calls=calls, discarded=discarded,
    )  # fmt: skip


def _faults(report: Report) -> int:
    return sum(is_fault(one) for one in report.claims)


def request(
    text: str, faults: Sequence[Fault], documents: Sequence[Document], asked: str
) -> list[dict[str, object]]:
    """The chat messages that ask for replacements of the faults' spans."""
    shown = [
        {
            "number": number,
            "sentence": f"{text[one.left : one.start]}<part>{text[one.start : one.end]}</part>"
            f"{text[one.end : one.right]}",
            "reasons": one.reasons,
            "quotes": [quote.quote for quote in one.evidence],
        }
        for number, one in enumerate(faults, start=1)
    ]
    prompt = render(
        "march_repair", asked=asked, faults=shown, passages=_passages(text, faults, documents)
    )
    return [{"role": "user", "content": prompt}]


def _passages(text: str, faults: Sequence[Fault], documents: Sequence[Document]) -> list[str]:
    """The documents; of long ones the evidence and the sentences nearest to each part."""
    if sum(len(one.text) for one in documents) <= WINDOW:
        return [part for window in windows(documents) for part in window]
    places = {(quote.doc, quote.start, quote.end) for one in faults for quote in one.evidence}
    sentences = open_sources(documents).sentences
    for one in faults:
        about = words(text[one.left : one.right])
        near = sorted(sentences, key=lambda said: -coverage(about, said.words))[:NEAREST]
        places |= {(documents[said.doc].id, said.start, said.end) for said in near}
    texts = {one.id: one.text for one in documents}
    found = (
        texts[doc][max(0, start - AROUND) : end + AROUND] for doc, start, end in sorted(places)
    )
    return list(dict.fromkeys(found))


def changes(text: str, faults: Sequence[Fault], reply: str) -> list[Change]:
    """The replacements of a reply, at the faults' own spans; garbage changes nothing."""
    found: dict[int, Change] = {}
    for one in json_objects(reply):
        number, words_ = one.get("part"), one.get("text")
        if not isinstance(number, int) or not isinstance(words_, str):
            continue
        if 1 <= number <= len(faults) and number not in found:
            fault = faults[number - 1]
            said = _fitted(text, fault, words_)
            if len(said) <= LONGEST * (fault.right - fault.left):
                end = fault.end if said else _end_of_gap(text, fault)
                found[number] = Change(fault.start, end, said, "; ".join(fault.reasons))
    return list(found.values())


def _fitted(text: str, fault: Fault, said: str) -> str:
    """A replacement on one line, without the words around it that models like to repeat."""
    said = " ".join(said.split()) if "\n" not in text[fault.start : fault.end] else said.strip()
    ahead, behind = text[fault.left : fault.start], text[fault.end : fault.right]
    fits = len(said) >= len(ahead) + len(behind)
    if fits and ahead + behind and said.startswith(ahead) and said.endswith(behind):
        return said[len(ahead) : len(said) - len(behind)]
    return said


def _end_of_gap(text: str, fault: Fault) -> int:
    """A part that is left out takes the blanks behind it along."""
    end = fault.end
    while end < len(text) and text[end] in " \t":
        end += 1
    return end

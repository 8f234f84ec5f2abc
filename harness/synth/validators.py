"""Faults of a proposal: rules that need no model, and questions to one.

| validator | stage | rejects |
|---|---|---|
| `ssp` | filter | what SSP's rules reject (section 8), in their order |
| `spell` | filter | what is not SPELL's JSON object, or has a long answer |
| `spoken` | filter | a question that holds its answer |
| `evidence` | validate | what is not answered, once and rightly, from its passages among noise |
| `grounded` | validate | what is answered without the documents (SPELL: the context is "Empty") |

Duplicates, and tasks of suites that must not leak, are the registry's (:mod:`.registry`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from harness.core import mapping, object_in, render
from harness.corpora import Evidence
from harness.synth.asking import is_right, same_answer, say
from harness.synth.types import Check, Materials, Proposal, Unjudged
from harness.tasks.answers import normalise

NOISE = 4
"""Passages of other proposals among those of this one (SSP)."""
CHARACTERS, WORDS, SEARCHES = (10, 1000), 10, 2
ANSWER_TOKENS = 20
_ANSWER = re.compile(r"^\W*answer\W*?:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(r"<question>(.*?)</question>", re.DOTALL)
_SEARCH = re.compile(r"^\W*search\W*?:[\s*_]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
QUERIES = 3
"""Searches of the checker, at most."""
EMPTY = "Empty"


def speaks(text: str, answer: str) -> bool:
    """Return True if a text holds an answer as whole words."""
    return f" {normalise(answer)} " in f" {normalise(text)} "


class SspRules(Check):
    """SSP's filter: tag, length, words, no answer, information, searches without repetition."""

    stage = "filter"

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        question, searches = proposal.question, [normalise(text) for text in proposal.searches]
        (low, high), least = CHARACTERS, max(SEARCHES, self._materials.hops)
        if not _TAG.search(proposal.reply):
            return "there is no <question>"
        if not low <= len(question) <= high:
            return f"the question has {len(question)} characters: expected {low} to {high}"
        if (words := len(question.split())) < WORDS:
            return f"the question has {words} words: expected {WORDS} or more"
        if any(speaks(question, answer) for answer in proposal.answers):
            return "the question holds its answer"
        if not proposal.passages:
            return "nothing that was searched brought information"
        if len(searches) < least:
            return f"{len(searches)} searches: expected {least} or more"
        if len(set(searches)) < len(searches):
            return "a search was repeated"
        if any(speaks(search, answer) for search in searches for answer in proposal.answers):
            return "a search holds the answer: the proposer had it already"
        return ""


class SpellRules(Check):
    """SPELL's format: one JSON object with a question, an answer below 20 tokens, and choices."""

    stage = "filter"

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        if object_in(proposal.reply) is None:
            return "the reply is no JSON object"
        if not proposal.question.strip() or not all(proposal.answers or ("",)):
            return "there is no question, or no answer"
        longest = max(len(answer.split()) for answer in proposal.answers)
        if longest >= ANSWER_TOKENS:
            return f"the answer has {longest} words: expected fewer than {ANSWER_TOKENS}"
        if proposal.meta.get("task") != "doc_mc":
            return ""
        choices = mapping(proposal.meta.get("choices"))
        if len(choices) < 3:
            return "a multiple choice needs three choices or more"
        if len({normalise(str(text)) for text in choices.values()}) < len(choices):
            return "two choices are the same"
        if proposal.answers[0] not in choices:
            return f"the answer {proposal.answers[0]!r:.40} is none of the choices"
        return ""


class Spoken(Check):
    """Rejects a question that holds its answer; the choices of a multiple choice may."""

    stage = "filter"

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        if "choices" in proposal.meta:
            return ""
        held = any(speaks(proposal.question, answer) for answer in proposal.answers)
        return "the question holds its answer" if held else ""


class EvidenceCheck(Check):
    """Asks the checker for every answer that the evidence supports, among noise (SSP's RAG check).

    To the proposal's own passages come the best ones for the question itself and four of other
    proposals. Where candidates are mentioned of which the passages say too little, the checker may
    search once: a second answer often stands behind another path than the proposer took. A reply
    that cannot be read is no pass.
    """

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        materials, library = self._materials, self._materials.library
        rng = Random(f"{materials.seed} {proposal.id}")
        evidence = [*proposal.passages, *await library.search(proposal.question)]
        noise = [passage for peer in peers for passage in peer.passages]
        noise = rng.sample(noise, min(NOISE, len(noise)))
        noise += [library.passage(rng) for _ in range(NOISE - len(noise))]
        passages = distinct([*evidence, *noise])
        rng.shuffle(passages)
        answers = await self._answers(proposal, passages)
        if not answers:
            return "unanswerable: the evidence supports no answer"
        right = [await self._is_right(proposal, answer) for answer in answers]
        if not any(right):
            return f"wrong gold: the evidence supports {answers[0]!r:.80}"
        if not all(right):
            second = answers[right.index(False)]
            return f"ambiguous: the evidence supports {second!r:.80}, too"
        return ""

    async def _answers(self, proposal: Proposal, passages: list[Evidence]) -> list[str]:
        library = self._materials.library
        reply = await ask(self._materials, proposal, [*map(library.text, passages)], search=True)
        if queries := _SEARCH.findall(reply)[:QUERIES]:
            hits = [hit for query in queries for hit in await library.search(query)]
            texts = [*map(library.text, distinct([*passages, *hits]))]
            reply = await ask(self._materials, proposal, texts)
        answers = answers_in(reply)
        if not answers:
            raise Unjudged(f"expected a line 'Answer: ...', found {reply!r:.80}")
        distinct_answers = {normalise(answer): answer for answer in answers}
        return [
            answer for key, answer in distinct_answers.items() if key not in ("none", "unknown")
        ]

    async def _is_right(self, proposal: Proposal, answer: str) -> bool:
        if "choices" in proposal.meta:
            return answer.rstrip(".)")[:1].upper() == proposal.answers[0]
        right = await is_right(self._materials, proposal, answer)
        if right is None:
            raise Unjudged("no vote on an answer could be read")
        return right


class Grounded(Check):
    """Asks the question with the context "Empty": who answers that needs no document (SPELL)."""

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        reply = await ask(self._materials, proposal, [EMPTY])
        answers = answers_in(reply)
        if "choices" in proposal.meta:
            right = any(answer[:1].upper() == proposal.answers[0] for answer in answers)
        else:
            right = any(
                same_answer(gold, answer) for gold in proposal.answers for answer in answers
            )
        return "ungrounded: it is answered without the documents" if right else ""


async def ask(
    materials: Materials, proposal: Proposal, passages: list[str], *, search: bool = False
) -> str:
    """The checker's reply to a question with passages.

    Raises:
        Unjudged: if it cannot be asked.
    """
    choices = proposal.meta.get("choices")
    prompt = render(
        "synth_evidence", passages=passages, question=proposal.question, search=search,
        choices=choices if isinstance(choices, dict) else {},
    )  # fmt: skip
    return await say(materials.checker, prompt, seed=materials.seed, temperature=0.0, tokens=300)


def answers_in(reply: str) -> list[str]:
    """List what follows `Answer:` in the lines of a reply, without marks around it."""
    return [answer.strip(" .*_`\"'") for answer in _ANSWER.findall(reply)]


def distinct(passages: Sequence[Evidence]) -> list[Evidence]:
    """Passages without those that lie within another."""
    outermost: list[Evidence] = []
    for passage in sorted(passages, key=lambda part: (part.doc, part.start, -part.end)):
        last = outermost[-1] if outermost else None
        if last is None or last.doc != passage.doc or passage.end > last.end:
            outermost.append(passage)
    return outermost

"""Questions on one fact, for models that are too small to search, read and ask at once.

A program chooses the answer and the passage that holds it; the model only words the question. So a
task rests on one passage, never on several: it is easier than those of `search`. A small model, as
proposer and as checker, often misses what the passage says of the answer. So rules come first: most
words of the question stand in the answer's sentence or the title, no sentence of another document
holds as many of them, who asks for a year gets one, a name has no namesake and is not the answer's,
and no second document of the answer's kind (`Project …`) speaks of the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from pydantic import JsonValue

from harness.core import render
from harness.corpora import Evidence, Source
from harness.synth.asking import say
from harness.synth.documents import PASSAGE
from harness.synth.proposers.longdoc import LongDocProposer, clusters_of
from harness.synth.proposers.search import SearchProposer
from harness.synth.types import Materials, Proposal

WORDS, SHARE = 6, 2 / 3
"""Least words of a question; share of them that the answer's sentence and title must hold."""
_QUESTION = re.compile(r"(?:Question: *)?([A-Z][^?\n]*\?)")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s)[^.!?\n]*)*")
_WORD = re.compile(r"[a-z][\w'-]{3,}")
_NAME = re.compile(r"\b[A-Z][\w-]{2,}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


def stems(text: str) -> frozenset[str]:
    """The first five letters of words that have four or more."""
    return frozenset(word[:5] for word in _WORD.findall(text.lower()))


_ASKING = stems("what which where when whose year name does that with from were have this they")


class FactProposer:
    """Plug-in of the kind `fact`: the agent searches for it in all documents."""

    width = 64
    validators: tuple[str, ...] = ("spoken", "grounded", "evidence")
    band = "one_minus"
    suite: dict[str, JsonValue] = SearchProposer.suite
    calls: tuple[int, int, int] = (1, 2, 900)
    check, metric = "search", "em"

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._answers = materials.library.drawn_answers(materials.seed)

    def documents(self, source: str) -> tuple[str, ...]:
        """Those that the agent gets, by the one that holds the answer; none means all."""
        return ()

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """One reply; the first question in it counts."""
        materials, library = self._materials, self._materials.library
        asked = {proposal.answers[0] for proposal in accepted}
        answers = [answer for answer in self._answers if answer not in asked] or self._answers
        answer = answers[number % len(answers)]
        source = library.sources[library.answers[answer][0]]
        passage = around(source, answer)
        reply = await say(
            materials.proposer,
            render("synth_fact", title=source.title, passage=library.text(passage), answer=answer),
            seed=materials.seed + number,
            temperature=0.7,
            tokens=80,
        )
        match = _QUESTION.search(reply)
        question = match[1] if match else ""
        return Proposal(
            id=f"fact-{number:05d}",
            question=question,
            answers=(answer,),
            check=self.check,
            documents=self.documents(source.id),
            passages=(passage,),
            origin=(source.id,),
            reply=reply,
            meta={"metric": self.metric},
            fault=self.fault(question, answer, source),
        )

    @cached_property
    def _sentences(self) -> list[tuple[str, str, frozenset[str]]]:
        return [
            (source.id, match[0], stems(f"{source.title} {match[0]}"))
            for source in self._materials.library.sources.values()
            for match in _SENTENCE.finditer(source.text)
        ]

    def fault(self, question: str, answer: str, source: Source) -> str:
        """What the rules say against a question; "" if nothing."""
        if len(question.split()) < WORDS:
            return f"there is no question of {WORDS} words or more"
        if "year" in question.lower().rstrip("?").split() and not _YEAR.fullmatch(answer):
            return "it asks for a year, and the answer is none"
        words, place = stems(question) - _ASKING, whole(answer)
        rows = [
            (id_ == source.id, bool(place.search(sentence)), len(words & held))
            for id_, sentence, held in self._sentences
        ]
        here = max((count for own, holds, count in rows if own and holds), default=0)
        elsewhere = max((count for own, holds, count in rows if not own and not holds), default=0)
        if here < SHARE * len(words):
            return "the answer's sentence holds too few words of the question"
        if elsewhere >= here:
            return "another document says as much of it"
        return self._misnamed(question, answer, source)

    def _misnamed(self, question: str, answer: str, source: Source) -> str:
        names, title, taken = (
            frozenset(_NAME.findall(text)) for text in (question, source.title, answer)
        )
        if names & taken:
            return "the question holds a part of the answer"
        named = frozenset(name for name in title if name.lower() in question.lower())
        kind, mention = answer.split()[0], whole(source.title.lower())
        sources = self._materials.library.sources.values()
        for other in (other for other in sources if other != source):
            if named and named < title and named <= {*_NAME.findall(other.title)}:
                return "what the question names has a namesake"
            rival = other.title != answer and other.title.startswith(f"{kind} ")
            if title and rival and kind in taken and mention.search(other.text.lower()):
                return f"another {kind} speaks of {source.title}"
        return ""


class LongFactProposer(FactProposer):
    """Plug-in of the kind `longfact`: the agent reads it in a cluster of long documents."""

    suite = LongDocProposer.suite
    check, metric = "longdoc", "part"

    @cached_property
    def _clusters(self) -> list[tuple[str, ...]]:
        return clusters_of(self._materials)

    def documents(self, source: str) -> tuple[str, ...]:
        """The cluster of the document."""
        return next(cluster for cluster in self._clusters if source in cluster)


def whole(answer: str) -> re.Pattern[str]:
    """Where an answer stands by itself: 45 is not in 1945."""
    return re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)")


def around(source: Source, answer: str) -> Evidence:
    """The passage that holds an answer first, from line to line where lines are short enough."""
    at = next(whole(answer).finditer(source.text)).start()
    start, end = max(0, at - PASSAGE // 2), min(len(source.text), at + PASSAGE // 2)
    start = source.text.find("\n", start, at) + 1 or start
    end = max(source.text.rfind("\n", at + len(answer), end), 0) or end
    return Evidence(doc=source.id, start=start, end=end)

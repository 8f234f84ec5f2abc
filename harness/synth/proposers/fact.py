"""Questions on one fact, for models that are too small to search, read and ask at once.

A program chooses the answer and the passage that holds it; the model only words the question. So a
task rests on one passage, never on several: it is easier than those of `search`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from pydantic import JsonValue

from harness.core import BadInput, render
from harness.corpora import Evidence, Source
from harness.synth.asking import say
from harness.synth.documents import PASSAGE
from harness.synth.proposers.longdoc import LongDocProposer, clusters_of
from harness.synth.proposers.search import SearchProposer
from harness.synth.types import Materials, Proposal

WORDS = 6
_QUESTION = re.compile(r"(?:Question: *)?([A-Z][^?\n]*\?)")
_POINTS = re.compile(r"\b(?:the|this|that) (?:passage|text|document|fact|article)\b", re.IGNORECASE)


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
        self._answers = [*materials.library.answers]
        if not self._answers:
            raise BadInput("the documents hold no rare name or number that could be an answer")
        Random(materials.seed).shuffle(self._answers)

    def documents(self, source: str) -> tuple[str, ...]:
        """Those that the agent gets, by the one that holds the answer; none means all."""
        return ()

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """One reply; the first question in it counts."""
        materials, library = self._materials, self._materials.library
        answer = self._answers[number % len(self._answers)]
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
        question, fault = match[1] if match else "", ""
        if len(question.split()) < WORDS:
            fault = f"there is no question of {WORDS} words or more"
        elif _POINTS.search(question):
            fault = "the question points to a text that its reader does not see"
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
            fault=fault,
        )


class LongFactProposer(FactProposer):
    """Plug-in of the kind `longfact`: the agent reads it in a cluster of long documents."""

    suite = LongDocProposer.suite
    check, metric = "longdoc", "part"

    def documents(self, source: str) -> tuple[str, ...]:
        """The cluster of the document."""
        clusters = clusters_of(self._materials)
        return next(cluster for cluster in clusters if source in cluster)


def around(source: Source, answer: str) -> Evidence:
    """The passage that holds an answer first, from line to line where lines are short enough."""
    at = source.text.index(answer)
    start, end = max(0, at - PASSAGE // 2), min(len(source.text), at + PASSAGE // 2)
    start = source.text.find("\n", start, at) + 1 or start
    end = max(source.text.rfind("\n", at + len(answer), end), 0) or end
    return Evidence(doc=source.id, start=start, end=end)

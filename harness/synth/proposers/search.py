"""SSP (arXiv 2510.18821): a proposer searches backwards from an answer, and writes the question.

The answers are rare names and values of the documents. The proposer replies with `<search>` or
`<question>`; what a search brings comes back as `<information>`. Hops are the searches that its
question must rest on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from harness.core import render
from harness.corpora import Evidence
from harness.synth.asking import say
from harness.synth.types import Materials, Proposal

_TAG = re.compile(r"<(search|question)>(.*?)</\1>", re.DOTALL)
SPARE_TURNS = 3
"""Replies beyond the hops and the question."""


class SearchProposer:
    """Plug-in of the kind `search`."""

    width = 64
    validators: tuple[str, ...] = ("ssp", "evidence")
    band = "one_minus"
    suite: dict[str, JsonValue] = {
        "agent": "graph:search", "tools": ["search:lexical", "read"], "max_turns": 20,
    }  # fmt: skip

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._answers = materials.library.drawn_answers(materials.seed)
        self.calls: tuple[int, int, int] = (materials.hops + 2, 2, 900)

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """Search, read and ask; a reply of neither form ends the attempt."""
        materials, library = self._materials, self._materials.library
        answer = self._answers[number % len(self._answers)]
        messages: list[dict[str, str]] = []
        searches, passages, question, reply = list[str](), list[Evidence](), "", ""
        for turn in range(materials.hops + SPARE_TURNS):
            last = turn == materials.hops + SPARE_TURNS - 1
            system = render("synth_search", answer=answer, hops=materials.hops, last=last)
            reply = await say(
                materials.proposer,
                [
                    {"role": "system", "content": system},
                    *(messages or [{"role": "user", "content": "Begin."}]),
                ],
                seed=materials.seed + number,
                temperature=1.0,
                tokens=300,
            )
            # The first tag counts: what a model writes behind its search it wrote without reading.
            tags = [row for row in _TAG.findall(reply) if not last or row[0] == "question"]
            if not tags or tags[0][0] == "question":
                question = " ".join(tags[0][1].split()) if tags else ""
                break
            searches.append(tags[0][1].strip())
            hits = await library.search(searches[-1])
            passages += hits
            results = "\n\n".join(library.text(hit) for hit in hits) or "nothing was found"
            messages += [
                *([] if messages else [{"role": "user", "content": "Begin."}]),
                {"role": "assistant", "content": f"<search>{searches[-1]}</search>"},
                {"role": "user", "content": f"<information>\n{results}\n</information>"},
            ]
        holders = [
            passage.doc
            for passage in passages
            if answer.casefold() in library.text(passage).casefold()
        ]
        return Proposal(
            id=f"search-{number:05d}",
            question=question,
            answers=(answer,),
            passages=tuple(dict.fromkeys(passages)),
            searches=tuple(searches),
            origin=tuple(dict.fromkeys(holders or [library.answers[answer][0]])),
            reply=reply,
            meta={"metric": "em", "hops": materials.hops},
        )

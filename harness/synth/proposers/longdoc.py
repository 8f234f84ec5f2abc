"""SPELL (arXiv 2509.23863): a questioner over clusters of documents, whose context grows.

Each cluster is asked once a round. A round adds five documents that were not seen to all that were,
and shows the last three accepted questions of the cluster, so that questions get harder. The agent
gets every document of the cluster, those that the questioner has not seen included.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from harness.core import mapping, object_in, render
from harness.corpora import Evidence
from harness.synth.asking import say
from harness.synth.types import Materials, Proposal

NEW, MEMORY, ROUNDS = 5, 3, 4
"""Documents that a round adds; accepted questions that are shown; rounds of a cluster."""
KINDS = ("doc_general_qa", "docmath_qa", "doc_mc")
CONTEXT = 24_000
"""Characters of all documents in a prompt; longer ones are cut to equal parts."""


class Turn(NamedTuple):
    """Material of a proposal.

    Attributes:
        cluster: all documents that the agent gets.
        seen: those that the questioner sees, in the order in which they came.
    """

    cluster: tuple[str, ...]
    seen: tuple[str, ...]


class LongDocProposer:
    """Plug-in of the kind `longdoc`."""

    validators: tuple[str, ...] = ("spell", "spoken", "grounded", "evidence")
    band = "gaussian"
    suite: dict[str, JsonValue] = {
        "agent": "graph:longdoc", "tools": ["context:compress:1500"], "max_turns": 20,
        "protocol": "text",
    }  # fmt: skip

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._clusters = clusters_of(materials)
        self.width = len(self._clusters)
        self.calls: tuple[int, int, int] = (1, 3, CONTEXT // 4)

    def turn(self, number: int) -> Turn:
        """Choose the documents of proposal `number`; a cluster that was read begins anew."""
        cluster = self._clusters[number % self.width]
        steps = max(1, -(-len(cluster) // NEW))
        step = number // self.width % steps
        return Turn(cluster, cluster[: NEW * (step + 1)])

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """One question, as a JSON object."""
        library, (cluster, seen) = self._materials.library, self.turn(number)
        rng = Random(f"{self._materials.seed} {number}")
        share = CONTEXT // len(seen)
        passages: list[Evidence] = []
        for id_ in seen:
            length = len(library.sources[id_].text)
            start = rng.randrange(max(1, length - share + 1))
            passages.append(Evidence(doc=id_, start=start, end=min(length, start + share)))
        kind = KINDS[number // self.width % len(KINDS)]
        recent = [row for row in accepted if row.documents == cluster][-MEMORY:]
        prompt = render(
            "synth_longdoc",
            kind=kind,
            documents=[library.text(passage) for passage in passages],
            history=[{"question": row.question, "answer": row.answers[0]} for row in recent],
        )
        reply = await say(
            self._materials.proposer, prompt, seed=self._materials.seed + number,
            temperature=1.0, tokens=500,
        )  # fmt: skip
        row = object_in(reply) or {}
        answer = str(row.get("answer", "")).strip()
        meta: dict[str, JsonValue] = {"metric": "part", "task": kind, "seen": list(seen)}
        if kind == "docmath_qa":
            meta["metric"] = "numbers"
        if kind == "doc_mc":
            choices = {str(key): str(text) for key, text in mapping(row.get("choices")).items()}
            meta |= {"metric": "choice", "choices": {**choices}}
            answer = answer.rstrip(".)")[:1].upper()
        return Proposal(
            id=f"longdoc-{number:05d}",
            question=str(row.get("question", "")).strip(),
            answers=(answer,) if answer else (),
            check="longdoc",
            documents=cluster,
            passages=tuple(passages),
            origin=cluster,
            reply=reply,
            meta=meta,
        )


def clusters_of(materials: Materials) -> list[tuple[str, ...]]:
    """The documents, drawn into clusters of some 20."""
    ids = sorted(materials.library.sources)
    Random(materials.seed).shuffle(ids)
    count = max(1, len(ids) // (NEW * ROUNDS))
    return [tuple(ids[number::count]) for number in range(count)]

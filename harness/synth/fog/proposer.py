"""The kind `fog`: questions drawn from an entity graph, each proved again before it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from pydantic import JsonValue

from harness.core import BadInput
from harness.corpora import Evidence
from harness.synth.documents import Library
from harness.synth.fog.graph import EntityGraph, graph_of, name_of
from harness.synth.fog.solving import CONSTRAINTS, fault_of
from harness.synth.fog.writing import draw
from harness.synth.types import Check, Materials, Proposal


@lru_cache(maxsize=4)
def _graph(library: Library, source: str) -> EntityGraph:
    return graph_of(Path(source), library)


class FogProposer:
    """Plug-in of the kind `fog`; it calls no model."""

    width = 64
    validators: tuple[str, ...] = ("spoken", "unique")
    band = "intermediate"
    calls: tuple[int, int, int] = (0, 0, 0)
    suite: dict[str, JsonValue] = {
        "agent": "graph:search", "tools": ["search:lexical", "read"], "max_turns": 30,
    }  # fmt: skip

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._graph = _graph(materials.library, str(materials.source))
        if not self._graph.links:
            raise BadInput("the entries of the source are not linked: there is nothing to hide")
        rows = materials.library.sources.values()
        self._documents = {name_of(row.id, row.title, row.text): row.id for row in rows}

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """Draw a question by the seed and the number."""
        id_ = f"fog-{number:05d}"
        question = draw(self._graph, Random(f"{self._materials.seed} {number}"))
        if question is None:
            return Proposal(id=id_, fault="no circle of links with one answer was drawn")
        library = self._materials.library
        documents = [self._documents[name] for name in question.names if name in self._documents]
        passages = [
            Evidence(doc=id_, start=0, end=len(library.sources[id_].text)) for id_ in documents
        ]
        return Proposal(
            id=id_,
            question=question.text,
            answers=(question.answer,),
            passages=tuple(passages),
            origin=(documents[0],),
            meta={
                "metric": "em",
                "constraints": CONSTRAINTS.dump_python(question.constraints, mode="json"),
            },
        )


class Unique(Check):
    """Proves by trying everything that one entity fits, and that each constraint is needed."""

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """See :class:`harness.synth.types.Validator`."""
        constraints = CONSTRAINTS.validate_python(proposal.meta.get("constraints", []))
        graph = _graph(self._materials.library, str(self._materials.source))
        return fault_of(graph, constraints, proposal.answers[0])

"""The kind `fog`: questions drawn from an entity graph, each proved again before it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from pydantic import JsonValue

from harness.core import BadInput
from harness.corpora import Evidence
from harness.synth.fog.graph import EntityGraph, graph_of_table
from harness.synth.fog.solving import CONSTRAINTS, fault_of
from harness.synth.fog.writing import draw
from harness.synth.tables.table import read_table
from harness.synth.types import Check, Materials, Proposal


@lru_cache(maxsize=4)
def _graph(source: Path) -> EntityGraph:
    return graph_of_table(read_table(source))


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
        self._graph = _graph(materials.source)
        if not self._graph.links:
            raise BadInput("the entries of the source are not linked: there is nothing to hide")

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """Draw a question by the seed and the number."""
        id_ = f"fog-{number:05d}"
        question = draw(self._graph, Random(f"{self._materials.seed} {number}"))
        if question is None:
            return Proposal(id=id_, fault="no circle of links with one answer was drawn")
        rows = self._materials.library.sources  # by the key of each
        passages = [
            Evidence(doc=name, start=0, end=len(rows[name].text))
            for name in question.names
            if name in rows
        ]
        return Proposal(
            id=id_,
            question=question.text,
            answers=(question.answer,),
            passages=tuple(passages),
            origin=(question.answer,),
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
        return fault_of(_graph(self._materials.source), constraints, proposal.answers[0])

"""The entity graph of a table: who is linked to whom, and what values they have.

Each row is an entity with its key; a column of numbers, years or dates gives values, a column of
texts that repeat, or that name other rows, gives links.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.synth.tables.table import Table


@dataclass
class EntityGraph:
    """Entities by name.

    Attributes:
        links: relation -> entity -> entities that it leads to.
        values: attribute -> entity -> its values; years under attributes of `years`.
        years: attributes whose values are years.
        targets: entities that may be asked for: those that have a document.
        entities: all of them.
    """

    links: dict[str, dict[str, set[str]]] = field(default_factory=dict[str, dict[str, set[str]]])
    values: dict[str, dict[str, set[float]]] = field(
        default_factory=dict[str, dict[str, set[float]]]
    )
    years: set[str] = field(default_factory=set[str])
    targets: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._back: dict[str, dict[str, set[str]]] = {}
        self.entities: set[str] = set()

    def link(self, relation: str, start: str, end: str) -> None:
        """Lead from one entity to another."""
        self.links.setdefault(relation, {}).setdefault(start, set()).add(end)
        self._back.setdefault(relation, {}).setdefault(end, set()).add(start)
        self.entities |= {start, end}

    def value(self, attribute: str, entity: str, number: float, *, year: bool = False) -> None:
        """Give an entity a value."""
        self.values.setdefault(attribute, {}).setdefault(entity, set()).add(number)
        self.years |= {attribute} if year else set()
        self.entities.add(entity)

    def led_to(self, relation: str, start: str) -> set[str]:
        """Entities that a relation leads to from `start`."""
        return self.links.get(relation, {}).get(start, set())

    def led_from(self, relation: str, end: str) -> set[str]:
        """Entities from which a relation leads to `end`."""
        return self._back.get(relation, {}).get(end, set())

    def edges(self, entity: str) -> list[tuple[str, str, str]]:
        """(relation, start, end) of every link of an entity, in either direction, sorted."""
        return sorted(
            {(name, entity, end) for name in self.links for end in self.led_to(name, entity)}
            | {
                (name, start, entity)
                for name in self.links
                for start in self.led_from(name, entity)
            }
        )


def graph_of_table(table: Table) -> EntityGraph:
    """See the module."""
    graph, key = EntityGraph(), table.key
    names = [str(name) for name in table.column(key)]
    graph.targets = names
    for head in table.heads:
        kind, cells = table.kind(head), table.column(head)
        repeats = len({cell for cell in cells if cell}) <= 0.7 * len(cells)
        if head == key or kind == "mixed" or (kind == "text" and not repeats):
            continue
        for name, cell in zip(names, cells, strict=True):
            if isinstance(cell, (int, float)):
                graph.value(head, name, cell, year=kind == "year")
            elif cell and kind == "date":
                graph.value(head, name, float(cell[:4]), year=True)
            elif cell and cell != name:
                graph.link(head, name, cell)
    return graph

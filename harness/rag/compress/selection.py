"""Which units are kept within a budget: greedy by rank, markers and header rows counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.rag.compress.pool import Pool


@dataclass(frozen=True)
class Costs:
    """Upper bounds, tokens.

    Attributes:
        marker: of a marker with the space around it.
        title: of the line above a document where there are several.
    """

    marker: int
    title: int


class Selection:
    """A set of kept units that grows in order of rank and knows what it costs.

    Args:
        pool: the units.
        costs: of what stands between them.
    """

    def __init__(self, pool: Pool, costs: Costs) -> None:
        self._pool, self._costs = pool, costs
        self._headers = pool.headers()
        self._documents: set[str] = set()
        self.kept: set[int] = set()
        self.cost = costs.marker

    def force(self, at: int) -> None:
        """Add a unit whatever it costs: what fits is counted in the end."""
        self._add([at] if at not in self._headers else [self._headers[at], at], None)

    def fill(self, order: Sequence[int], budget: int) -> None:
        """Add units in order, each that still fits."""
        smallest = min(self._pool.tokens, default=0)
        for at in order:
            if self.cost + smallest - self._costs.marker > budget:
                return
            wanted = [one for one in (at, self._headers.get(at)) if one is not None]
            self._add(wanted, budget)

    def _add(self, wanted: Sequence[int], budget: int | None) -> None:
        added: list[int] = []
        before = self.cost
        for at in wanted:
            if at not in self.kept:
                self.cost += self._price(at)
                self.kept.add(at)
                added.append(at)
        if budget is not None and self.cost > budget:
            self.kept.difference_update(added)
            self.cost = before
        else:
            self._documents.update(self._pool.units[at].doc for at in added)

    def _price(self, at: int) -> int:
        """Tokens that the text grows by: a unit between kept ones removes a marker."""
        free = self._is_free(at - 1, at, left=True) + self._is_free(at + 1, at, left=False)
        titled = self._pool.units[at].doc in self._documents
        title = 0 if titled else self._costs.title
        return self._pool.tokens[at] + 1 + title + (free - 1) * self._costs.marker

    def _is_free(self, neighbour: int, at: int, *, left: bool) -> bool:
        """Whether something is left out on this side of a unit."""
        pool = self._pool
        document = pool.units[at].doc
        inside = 0 <= neighbour < len(pool.units) and pool.units[neighbour].doc == document
        if not inside:
            begin, end = pool.ends[document]
            edge = pool.before[at] if left else pool.before[at] + pool.tokens[at]
            return edge > begin if left else edge < end
        return neighbour not in self.kept or not pool.joined[at if left else neighbour]

"""Constraints over unknown entities, and who satisfies them, by trying everything.

Variable 0 is asked for. Different variables stand for different entities. Leaving a constraint out
never makes the set smaller, so a set of constraints of which each is needed for one answer is
minimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from harness.core import Value
from harness.synth.fog.graph import EntityGraph


class Link(Value):
    """`relation` leads from variable `start` to variable `end`."""

    kind: Literal["link"] = "link"
    relation: str
    start: int
    end: int


class Span(Value):
    """A value of variable `start` lies in [low, high]; `words` say so without numbers."""

    kind: Literal["span"] = "span"
    attribute: str
    start: int
    low: float
    high: float
    words: str


Constraint = Annotated[Link | Span, Field(discriminator="kind")]
CONSTRAINTS: TypeAdapter[list[Constraint]] = TypeAdapter(list[Constraint])


def solutions(
    graph: EntityGraph, constraints: Sequence[Link | Span], most: int | None = None
) -> set[str]:
    """Every entity that variable 0 can be; with `most`, no more than that many of them."""
    spans: dict[int, set[str]] = {}
    for span in constraints:
        if isinstance(span, Span):
            rows = graph.values.get(span.attribute, {}).items()
            fits = {
                name for name, numbers in rows if any(span.low <= n <= span.high for n in numbers)
            }
            spans[span.start] = spans[span.start] & fits if span.start in spans else fits
    links = [row for row in constraints if isinstance(row, Link)]
    variables = {0} | {end for row in links for end in (row.start, row.end)} | spans.keys()
    order = _order(variables, links, spans)
    fits_all: set[str] = set()
    for name in sorted(_candidates(graph, 0, {}, links, spans)):
        if _extends(graph, order[1:], {0: name}, links, spans):
            fits_all.add(name)
            if most is not None and len(fits_all) >= most:
                break
    return fits_all


def _order(variables: set[int], links: list[Link], spans: dict[int, set[str]]) -> list[int]:
    """Variable 0, then those that are linked to what is bound, the narrowest first."""
    order, unbound = [0], variables - {0}
    while unbound:
        near = {
            end
            for row in links
            for end, opposite in ((row.start, row.end), (row.end, row.start))
            if end in unbound and opposite in order
        }
        following = min(near or unbound, key=lambda end: (len(spans.get(end, ())) or 10**9, end))
        order.append(following)
        unbound.discard(following)
    return order


def _candidates(
    graph: EntityGraph,
    variable: int,
    bound: dict[int, str],
    links: list[Link],
    spans: dict[int, set[str]],
) -> set[str]:
    """Entities that a variable can be, given those that are bound."""
    sets = [spans[variable]] if variable in spans else []
    for row in links:
        if row.start == row.end == variable:
            sets.append({n for n in graph.entities if n in graph.led_to(row.relation, n)})
        elif row.start == variable and row.end in bound:
            sets.append(graph.led_from(row.relation, bound[row.end]))
        elif row.end == variable and row.start in bound:
            sets.append(graph.led_to(row.relation, bound[row.start]))
    candidates = set[str].intersection(*sets) if sets else graph.entities
    return candidates - set(bound.values())


def _extends(
    graph: EntityGraph,
    order: list[int],
    bound: dict[int, str],
    links: list[Link],
    spans: dict[int, set[str]],
) -> bool:
    """Return True if the variables of `order` can be bound, too."""
    if not order:
        return True
    names = _candidates(graph, order[0], bound, links, spans)
    return any(
        _extends(graph, order[1:], {**bound, order[0]: name}, links, spans) for name in names
    )


def without_each(
    constraints: Sequence[Link | Span],
) -> Iterator[tuple[Link | Span, list[Link | Span]]]:
    """Each constraint, and all the others."""
    for index, constraint in enumerate(constraints):
        yield constraint, [*constraints[:index], *constraints[index + 1 :]]


def fault_of(graph: EntityGraph, constraints: Sequence[Link | Span], answer: str) -> str:
    """Explain why a question is not unique and minimal; "" if it is. All of it is proved again."""
    names = solutions(graph, constraints, 3)
    if names != {answer}:
        return f"expected {answer!r} alone to fit, found {sorted(names)}"
    for constraint, remaining in without_each(constraints):
        if len(solutions(graph, remaining, 2)) < 2:
            return f"it is not needed that {constraint!r}"
    if not has_cycle([row for row in constraints if isinstance(row, Link)]):
        return "the links form no cycle"
    return ""


def has_cycle(links: Sequence[Link]) -> bool:
    """Return True if the links, in either direction, form a cycle."""
    from scipy.cluster.hierarchy import DisjointSet

    ends = DisjointSet(end for row in links for end in (row.start, row.end))
    return not all(ends.merge(row.start, row.end) for row in links)

"""Drawing a question: a circle of links through an entity, hidden names, blurred values.

After WebSailor (arXiv 2507.02592; its synthesis was not published): from rare entities, a coupled
sub-graph without a fixed path; then obfuscation by type: years become periods, numbers ranks, names
unknowns. Values are blurred as far as the answer stays the only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from harness.synth.fog.graph import EntityGraph
from harness.synth.fog.solving import Link, Span, has_cycle, solutions

LETTERS = "XABCDEFGH"
PERIODS = (25, 10, 5)
PARTS = {2: ("lower half", "upper half"), 3: ("lowest third", "middle third", "highest third"),
         5: ("lowest fifth", "second lowest fifth", "middle fifth", "second highest fifth",
             "highest fifth")}  # fmt: skip
LEVELS = tuple(zip(PERIODS, PARTS, strict=True))
"""Years of a period and parts of a ranking, from coarse to fine."""
TRIES = 60
Constraints = list[Link | Span]


class Question(NamedTuple):
    """A question that only one entity answers.

    Attributes:
        answer: the entity.
        names: entity of each variable.
    """

    text: str
    answer: str
    constraints: Constraints
    names: tuple[str, ...]


def draw(graph: EntityGraph, rng: Random) -> Question | None:
    """A question with a circle, unique and minimal; None where none is drawn in 60 tries."""
    targets = [name for name in graph.targets if len(graph.edges(name)) > 1]
    if not targets:
        return None
    # Rare entities first: of three drawn, the one with the fewest links.
    for _ in range(TRIES):
        target = min(rng.choices(targets, k=3), key=lambda name: len(graph.edges(name)))
        circle = _circle(graph, target, rng)
        if circle is None:
            continue
        names, links = circle
        for period, parts in LEVELS:
            spans = [
                span
                for number, name in enumerate(names)
                for attribute in sorted(graph.values)
                for span in blurred(graph, attribute, number, name, period, parts, rng)
            ]
            if solutions(graph, [*links, *spans], 2) == {target}:
                constraints = minimal(graph, links, spans, rng)
                if has_cycle([row for row in constraints if isinstance(row, Link)]):
                    names = tuple(names)
                    return Question(text_of(constraints), target, constraints, names)
                break
    return None


def _circle(graph: EntityGraph, target: str, rng: Random) -> tuple[list[str], list[Link]] | None:
    """Three or four entities, the target first, in a circle of links; one more link at times."""
    around = graph.edges(target)
    first, last = rng.sample(around, 2) if len(around) > 1 else (around[0], around[0])
    near, far = (_other(row, target) for row in (first, last))
    if near == far:
        return None
    closing = [row for row in graph.edges(near) if far in row[1:]]
    if closing and rng.random() < 0.5:
        names, rows = [target, near, far], [first, rng.choice(closing), last]
    else:
        near_links = {_other(row, near): row for row in graph.edges(near)}
        far_links = {_other(row, far): row for row in graph.edges(far)}
        shared = sorted((near_links.keys() & far_links.keys()) - {target, near, far})
        if not shared:
            return None
        corner = rng.choice(shared)
        names, rows = (
            [target, near, corner, far],
            [first, near_links[corner], far_links[corner], last],
        )
    start = rng.choice(names)
    tail = [row for row in graph.edges(start) if _other(row, start) not in names]
    if tail and rng.random() < 0.5:
        rows.append(rng.choice(tail))
        names.append(_other(rows[-1], start))
    numbers = {name: number for number, name in enumerate(names)}
    links = [Link(relation=r, start=numbers[a], end=numbers[b]) for r, a, b in rows]
    return names, list(dict.fromkeys(links))


def _other(row: tuple[str, str, str], entity: str) -> str:
    return row[2] if row[1] == entity else row[1]


def blurred(
    graph: EntityGraph,
    attribute: str,
    variable: int,
    name: str,
    period: int,
    parts: int,
    rng: Random,
) -> list[Span]:
    """A value of an entity as a period, if it is a year, or as its part of the ranking of all."""
    numbers = sorted(graph.values[attribute].get(name, ()))
    if not numbers:
        return []
    number = rng.choice(numbers)
    if attribute in graph.years:
        low = number // period * period
        high, words = low + period - 1, f"between {low:.0f} and {low + period - 1:.0f}"
    else:
        ranked = sorted(value for row in graph.values[attribute].values() for value in row)
        ends = [ranked[min(len(ranked) - 1, len(ranked) * k // parts)] for k in range(1, parts)]
        part = sum(number >= end for end in ends)
        low = ends[part - 1] if part else ranked[0]
        inside = [
            value for value in ranked if value >= low and (part == len(ends) or value < ends[part])
        ]
        high, words = inside[-1], f"in the {PARTS[parts][part]} of all"
    return [Span(attribute=attribute, start=variable, low=low, high=high, words=words)]


def minimal(
    graph: EntityGraph, links: Sequence[Link], spans: Sequence[Span], rng: Random
) -> Constraints:
    """Leave out what is not needed for one answer: values first, in random order, then links."""
    order = [*rng.sample([*spans], len(spans)), *rng.sample([*links], len(links))]
    needed: Constraints = [*links, *spans]
    for constraint in order:
        remaining = [row for row in needed if row != constraint]
        if len(solutions(graph, remaining, 2)) == 1:
            needed = remaining
    return needed


def text_of(constraints: Sequence[Link | Span]) -> str:
    """The question in words; unknowns are letters, X is asked for."""
    lines: list[str] = []
    for row in constraints:
        letter = LETTERS[row.start]
        if isinstance(row, Span):
            lines.append(f"{row.attribute} of {letter} is {row.words}")
        else:
            lines.append(f"{row.relation} of {letter} is {LETTERS[row.end]}")
    letters = sorted({LETTERS[end] for row in constraints if isinstance(row, Link)
                      for end in (row.start, row.end)} - {"X"})  # fmt: skip
    stand = f"{', '.join(letters)} stand for different entries or values that you must find out. "
    return (
        f"Find the entry X of which all of this is true: {'; '.join(lines)}. "
        f"{stand if letters else ''}What is the name of X?"
    )

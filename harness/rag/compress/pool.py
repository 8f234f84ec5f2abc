"""The units that may be kept, in order, with what they cost and what lies between them.

An input that is too long to hold is scanned in one pass, in bounded memory: statistics and scores
of the query's words are gathered in the same pass; units that share no word with the query are
passed over, but for an even sample. Chains of identifiers cost one more pass a hop, which only
looks for the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.rag.compress.markers import tokens_left_out
from harness.rag.compress.query import (
    Statistics,
    asked_for,
    asks_for_whole,
    identifiers,
    weighted_terms,
)
from harness.rag.compress.segment import Choice, moved_by, segment
from harness.rag.compress.sources import Source
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve import words

# Tokens from which an input is scanned instead of held.
SCAN_FROM = 400_000
# Tokens of the candidates that a scan gives.
CANDIDATES = 48_000
_HELD = 20_000
_HOPS = 12
_RARE = 16


@dataclass
class Pool:
    """Units of all documents in order, dense or with gaps where a scan passed them over.

    Attributes:
        units: candidates.
        tokens: of each, counted alone.
        before: tokens of everything before each, all documents together.
        joined: whether nothing visible lies between a unit and the one before it here.
        size: units of the whole input, of which a scan gives only some; 0 where all are here.
        ends: for each document with units: tokens up to its start and its end.
    """

    units: list[Unit] = field(default_factory=list[Unit])
    tokens: list[int] = field(default_factory=list[int])
    before: list[int] = field(default_factory=list[int])
    joined: list[bool] = field(default_factory=list[bool])
    ends: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    size: int = 0

    @property
    def total(self) -> int:
        """Tokens of all units."""
        return max((end for _, end in self.ends.values()), default=0)

    def headers(self) -> dict[int, int]:
        """Place of a row -> place of the header row that is kept with it."""
        if not any(unit.header for unit in self.units):
            return {}
        places = {(unit.doc, unit.start): place for place, unit in enumerate(self.units)}
        return {
            place: places[unit.doc, unit.header[0]]
            for place, unit in enumerate(self.units)
            if unit.header and (unit.doc, unit.header[0]) in places
        }


@dataclass(frozen=True)
class Ranked:
    """Units with their scores, best first.

    Attributes:
        pool: the units.
        scores: one for each.
        order: places of the units that may be kept, best first.
        critic: what scored.
        warnings: of the ranking.
    """

    pool: Pool
    scores: Sequence[float]
    order: Sequence[int]
    critic: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class PlacedUnit:
    """A unit with its place.

    Attributes:
        unit: offsets in its document.
        source: number of its source.
        ordinal: number of the unit among all of its source.
        tokens: of the unit.
        before: tokens before it.
        glued: whether nothing visible lies between it and the unit before it.
    """

    unit: Unit
    source: int
    ordinal: int
    tokens: int
    before: int
    glued: bool


@dataclass
class Scan:
    """Reads sources unit by unit.

    Args:
        sources: in order.
        tokenizer: counts.
        granularity: of the units.
        language: ISO 639-1 code, or None.
    """

    sources: Sequence[Source]
    tokenizer: Tokenizer
    granularity: Choice
    language: str | None
    ends: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _starts: dict[tuple[int, int], tuple[int, int]] = field(
        default_factory=dict[tuple[int, int], tuple[int, int]]
    )

    def units(self, pattern: re.Pattern[str] | None = None) -> Iterator[PlacedUnit]:
        """Every unit in order; with a pattern, after a first full pass, those of blocks with it."""
        place = 0
        for number, source in enumerate(self.sources):
            begin, ordinal = place, 0
            for offset, block in source.blocks():
                start = self._starts.get((number, offset))
                if start and pattern and not pattern.search(block.text):
                    continue
                ordinal, place = start or (ordinal, place)
                self._starts[number, offset] = (ordinal, place)
                units = segment(block, self.granularity, self.language)
                counts = self.tokenizer.counts([unit.text for unit in units])
                last = 0
                for unit, tokens in zip(units, counts, strict=True):
                    between = block.text[last : unit.start]
                    place += tokens_left_out(between) if ordinal else 0
                    glued = ordinal > 0 and not between.strip()
                    moved = moved_by(unit, offset)
                    yield PlacedUnit(moved, number, ordinal, tokens, place, glued)
                    place, ordinal, last = place + tokens, ordinal + 1, unit.end
            if pattern is None:
                self.ends[source.id] = (begin, place)


def dense_pool(
    sources: Sequence[Source], tokenizer: Tokenizer, granularity: Choice, language: str | None
) -> Pool:
    """Every unit of every source."""
    scan = Scan(sources, tokenizer, granularity, language)
    return _pool_of(scan, list(scan.units()), 0)


def sparse_pool(
    sources: Sequence[Source],
    tokenizer: Tokenizer,
    granularity: Choice,
    language: str | None,
    query: Query,
    size: int,
) -> Pool:
    """The units that may answer `query`, of at most about 48,000 tokens whatever the input.

    Args:
        sources: in order.
        tokenizer: counts.
        granularity: of the units.
        language: ISO 639-1 code, or None.
        query: what is asked; one about the whole input gives an even sample.
        size: tokens of the input.
    """
    scan = Scan(sources, tokenizer, granularity, language)
    whole_input = asks_for_whole(query.query)
    share = CANDIDATES if whole_input else CANDIDATES // 8
    points = max(1, share // 40)  # evenly spaced, each good for 40 tokens
    statistics = Statistics({} if whole_input else weighted_terms(query))
    chosen: list[PlacedUnit] = []
    hits: list[tuple[PlacedUnit, list[str]]] = []
    named: list[PlacedUnit] = []
    names = asked_for(query.query)
    for placed in scan.units():
        tokens = words(f"{placed.unit.heading} {placed.unit.text}")
        statistics.add(tokens)
        if placed.before * points // size < (placed.before + placed.tokens) * points // size:
            chosen.append(placed)
        if not statistics.terms.keys().isdisjoint(tokens):
            hits.append((placed, tokens))
            if len(hits) > _HELD:
                hits.sort(key=lambda hit: -statistics.score(hit[1]))
                del hits[_HELD // 2 :]
        if names and not names.isdisjoint(identifiers(placed.unit.text)) and len(named) <= _HELD:
            named.append(placed)
    room = CANDIDATES
    for placed, _ in sorted(hits, key=lambda hit: (-statistics.score(hit[1]), hit[0].before)):
        room -= placed.tokens
        if room < 0:
            break
        chosen.append(placed)
    if names:
        chosen += _chained(scan, _rare(named, names))
    return _pool_of(scan, chosen, statistics.units)


def _rare(named: Sequence[PlacedUnit], names: set[str]) -> list[PlacedUnit]:
    """Those of `named` with a name that stands in few of them."""
    holders: dict[str, list[PlacedUnit]] = {}
    for placed in named:
        for name in names & identifiers(placed.unit.text):
            holders.setdefault(name, []).append(placed)
    return [placed for group in holders.values() if len(group) <= _RARE for placed in group]


def _chained(scan: Scan, seeds: Sequence[PlacedUnit]) -> list[PlacedUnit]:
    """Units that share rare identifiers with the seeds, hop by hop, to a fixed point."""
    reached = {(placed.source, placed.ordinal): placed for placed in seeds}
    frontier, seen = reached, set[str]()
    for _ in range(_HOPS):
        names = {
            name for placed in frontier.values() for name in identifiers(placed.unit.text)
        } - seen
        if not names:
            break
        seen |= names
        pattern = re.compile("|".join(map(re.escape, sorted(names))), re.IGNORECASE)
        named = [placed for placed in scan.units(pattern) if names & identifiers(placed.unit.text)]
        frontier = {
            place: placed
            for placed in _rare(named, names)
            if (place := (placed.source, placed.ordinal)) not in reached
        }
        reached = reached | frontier
    return list(reached.values())


def _pool_of(scan: Scan, chosen: Iterable[PlacedUnit], size: int) -> Pool:
    unique = {(placed.source, placed.ordinal): placed for placed in chosen}
    pool = Pool(ends=scan.ends, size=size)
    last: tuple[int, int] | None = None
    for (source, ordinal), placed in sorted(unique.items(), key=lambda item: item[0]):
        pool.units.append(placed.unit)
        pool.tokens.append(placed.tokens)
        pool.before.append(placed.before)
        pool.joined.append(last == (source, ordinal - 1) and placed.glued)
        last = source, ordinal
    return pool

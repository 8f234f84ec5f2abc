"""One pass over an input that is too long to hold: candidates in bounded memory.

Statistics and scores of the query's words are gathered in the same pass; what shares no word with
the query is passed over, but for an even sample. Chains of identifiers cost one more pass a hop,
which only looks for the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.rag.compress.bm25 import Statistics
from harness.rag.compress.coverage import asks_for_whole
from harness.rag.compress.critics.lexical import weighted_terms
from harness.rag.compress.identifiers import asked_for, identifiers
from harness.rag.compress.markers import tokens_left_out
from harness.rag.compress.pool import Pool, moved_by
from harness.rag.compress.segment import Choice, segment
from harness.rag.compress.sources import Source
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve.tokens import words

SCAN_FROM = 400_000
"""Tokens from which an input is scanned instead of held."""
CANDIDATES = 48_000
"""Tokens of the candidates that a scan gives."""
_HELD = 20_000
_HOPS = 12
_RARE = 16


@dataclass(frozen=True)
class Found:
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

    def units(self, pattern: re.Pattern[str] | None = None) -> Iterator[Found]:
        """Every unit in order; with a pattern, after a first full pass, those of blocks with it."""
        place = 0
        for number, source in enumerate(self.sources):
            begin, ordinal = place, 0
            for offset, block in source.blocks():
                known = self._starts.get((number, offset))
                if known and pattern and not pattern.search(block.text):
                    continue
                ordinal, place = known or (ordinal, place)
                self._starts[number, offset] = (ordinal, place)
                units = segment(block, self.granularity, self.language)
                counts = self.tokenizer.counts([unit.text for unit in units])
                last = 0
                for unit, tokens in zip(units, counts, strict=True):
                    between = block.text[last : unit.start]
                    place += tokens_left_out(between)
                    glued = ordinal > 0 and not between.strip()
                    yield Found(moved_by(unit, offset), number, ordinal, tokens, place, glued)
                    place, ordinal, last = place + tokens, ordinal + 1, unit.end
            if pattern is None:
                self.ends[source.id] = (begin, place)


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
    whole = asks_for_whole(query.query)
    share = CANDIDATES if whole else CANDIDATES // 8
    statistics = Statistics({} if whole else weighted_terms(query))
    sample: list[Found] = []
    hits: list[tuple[Found, list[str]]] = []
    named: list[Found] = []
    asked = asked_for(query.query)
    for found in scan.units():
        tokens = words(f"{found.unit.heading} {found.unit.text}")
        statistics.add(tokens)
        if _falls_on_sample(found, share, size):
            sample.append(found)
        if not statistics.terms.keys().isdisjoint(tokens):
            hits.append((found, tokens))
            hits = _pruned(hits, statistics) if len(hits) > _HELD else hits
        if asked and not asked.isdisjoint(identifiers(found.unit.text)) and len(named) <= _HELD:
            named.append(found)
    chained = _chained(scan, _rare(named, asked)) if asked else []
    best = _best(hits, statistics, CANDIDATES)
    return _pool(scan, [*sample, *best, *chained], statistics.units)


def _falls_on_sample(found: Found, share: int, size: int) -> bool:
    """Whether one of evenly spaced points, each good for 40 tokens, lies in the unit."""
    points = max(1, share // 40)
    return found.before * points // size < (found.before + found.tokens) * points // size


def _pruned(
    hits: list[tuple[Found, list[str]]], statistics: Statistics
) -> list[tuple[Found, list[str]]]:
    hits.sort(key=lambda hit: -statistics.score(hit[1]))
    return hits[: _HELD // 2]


def _best(
    hits: list[tuple[Found, list[str]]], statistics: Statistics, room: int
) -> Iterator[Found]:
    for found, _ in sorted(hits, key=lambda hit: (-statistics.score(hit[1]), hit[0].before)):
        room -= found.tokens
        if room < 0:
            return
        yield found


def _rare(named: Sequence[Found], names: set[str]) -> list[Found]:
    """Those of `named` with a name that stands in few of them."""
    where: dict[str, list[Found]] = {}
    for found in named:
        for name in names & identifiers(found.unit.text):
            where.setdefault(name, []).append(found)
    return [one for found in where.values() if len(found) <= _RARE for one in found]


def _chained(scan: Scan, seeds: Sequence[Found]) -> list[Found]:
    """Units that share rare identifiers with the seeds, hop by hop, to a fixed point."""
    reached = {(one.source, one.ordinal): one for one in seeds}
    frontier, seen = list(reached.values()), set[str]()
    for _ in range(_HOPS):
        names = {name for one in frontier for name in identifiers(one.unit.text)} - seen
        if not names:
            break
        seen |= names
        pattern = re.compile("|".join(map(re.escape, sorted(names))), re.IGNORECASE)
        named = [one for one in scan.units(pattern) if names & identifiers(one.unit.text)]
        frontier = [one for one in _rare(named, names) if (one.source, one.ordinal) not in reached]
        reached.update({(one.source, one.ordinal): one for one in frontier})
    return list(reached.values())


def _pool(scan: Scan, found: Iterable[Found], size: int) -> Pool:
    unique = {(one.source, one.ordinal): one for one in found}
    ordered = [unique[place] for place in sorted(unique)]
    pool = Pool(ends=dict(scan.ends), size=size)
    for at, one in enumerate(ordered):
        last = ordered[at - 1] if at else None
        follows = last and (last.source, last.ordinal + 1) == (one.source, one.ordinal)
        pool.units.append(one.unit)
        pool.tokens.append(one.tokens)
        pool.before.append(one.before)
        pool.joined.append(bool(follows) and one.glued)
    return pool

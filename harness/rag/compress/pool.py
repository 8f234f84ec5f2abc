"""The units that may be kept, in order, with what they cost and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.rag.compress.markers import tokens_left_out
from harness.rag.compress.segment import Choice, segment
from harness.rag.compress.sources import Source
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Unit


@dataclass
class Pool:
    """Units of all documents in order, dense or with gaps where a pre-filter passed them over.

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
        places = {(unit.doc, unit.start): at for at, unit in enumerate(self.units)}
        return {
            at: places[unit.doc, unit.header[0]]
            for at, unit in enumerate(self.units)
            if unit.header and (unit.doc, unit.header[0]) in places
        }


def dense_pool(
    sources: Sequence[Source], tokenizer: Tokenizer, granularity: Choice, language: str | None
) -> Pool:
    """Every unit of every source."""
    pool, place = Pool(), 0
    for source in sources:
        begin, last = place, -1
        for offset, block in source.blocks():
            units = segment(block, granularity, language)
            for unit, tokens in zip(units, tokenizer.counts([u.text for u in units]), strict=True):
                moved = moved_by(unit, offset)
                between = block.text[max(0, last - offset) : unit.start] if last >= 0 else ""
                pool.joined.append(last >= 0 and not between.strip())
                pool.units.append(moved)
                pool.tokens.append(tokens)
                place += tokens_left_out(between)
                pool.before.append(place)
                place += tokens
                last = moved.end
        pool.ends[source.id] = (begin, place)
    return pool


def moved_by(unit: Unit, offset: int) -> Unit:
    """The unit of a block as a unit of its document."""
    if not offset:
        return unit
    header = (unit.header[0] + offset, unit.header[1] + offset) if unit.header else None
    start, end = unit.start + offset, unit.end + offset
    return Unit(unit.doc, start, end, unit.text, unit.granularity, unit.heading, header)

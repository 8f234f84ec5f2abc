"""Kept units to text: verbatim spans in document order, a marker for every part left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from harness.rag.compress.counts import counted, group_sizes
from harness.rag.compress.markers import Style, marker, title, visible
from harness.rag.compress.pool import Pool
from harness.rag.compress.sources import Source
from harness.rag.compress.store import Part, part_id
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Omission, Span


@dataclass(frozen=True)
class Gap:
    """A part left out: of one document, or several documents whole.

    Attributes:
        parts: where it lies.
        doc: the (first) document.
        tokens: what it holds.
        units: places in the pool between which it lies.
    """

    parts: tuple[Part, ...]
    doc: str
    tokens: int
    units: range

    @property
    def omission(self) -> Omission:
        """As it stands in results; of several documents the first."""
        _, start, end = self.parts[0]
        return Omission(
            id=part_id(self.parts), doc=self.doc, start=start, end=end, tokens=self.tokens
        )


Piece = Span | Gap | str
"""A kept span, a part left out, or text that stands as it is (white space, old markers)."""


class Assembler:
    """Puts kept units together.

    Args:
        sources: in order, with distinct ids.
        pool: their units.
        scores: of the units.
        tokenizer: counts the parts left out.
    """

    def __init__(
        self, sources: Sequence[Source], pool: Pool, scores: Sequence[float], tokenizer: Tokenizer
    ) -> None:
        self._sources = {source.id: source for source in sources}
        self._pool, self._scores, self._tokenizer = pool, scores, tokenizer
        self.group_sizes = group_sizes(pool.units)

    def pieces(self, kept: Iterable[int], style: Style) -> list[Piece]:
        """The result in order; parts that cost no more than their marker are kept.

        Args:
            kept: places in the pool.
            style: of the markers that will stand there.
        """
        by_document: dict[str, list[int]] = {}
        for at in sorted(kept):
            by_document.setdefault(self._pool.units[at].doc, []).append(at)
        pieces: list[Piece] = []
        for present, group in groupby(self._sources, key=by_document.__contains__):
            if not present:
                gap = self._whole(list(group))
                pieces.extend(["\n\n", gap] if gap else [])
                continue
            for id_ in group:
                if len(self._sources) > 1 and style == "none":
                    pieces.append("\n\n")
                elif len(self._sources) > 1:
                    pieces.append(f"\n\n{title(id_)}\n")
                pieces.extend(self._document(self._sources[id_], by_document[id_], style))
        return pieces

    def _whole(self, ids: Sequence[str]) -> Gap | None:
        bounds = [self._pool.ends[id_] for id_ in ids]
        tokens = sum(end - begin for begin, end in bounds)
        if not tokens:
            return None
        parts = tuple((self._sources[one].digest, 0, self._sources[one].length) for one in ids)
        return Gap(parts, ids[0], tokens, range(0))

    def _document(self, source: Source, kept: Sequence[int], style: Style) -> Iterable[Piece]:
        pool, begin, end = self._pool, *self._pool.ends[source.id]
        first = kept[0]
        yield from self._between(source, -1, first, pool.before[first] - begin, style)
        open_ = first
        for left, right in zip(kept, [*kept[1:], -1], strict=True):
            after = pool.before[left] + pool.tokens[left]
            if right >= 0 and self._adjoin(left, right):
                continue
            yield self._span(source, open_, left)
            tokens = (pool.before[right] if right >= 0 else end) - after
            yield from self._between(source, left, right, tokens, style)
            open_ = right

    def _adjoin(self, left: int, right: int) -> bool:
        pool = self._pool
        return (
            right == left + 1
            and pool.joined[right]
            and pool.units[left].granularity == pool.units[right].granularity
        )

    def _span(self, source: Source, first: int, last: int) -> Span:
        start, end = self._pool.units[first].start, self._pool.units[last].end
        return Span(
            id=part_id([(source.digest, start, end)]),
            doc=source.id,
            start=start,
            end=end,
            text=source.read(start, end),
            score=max(self._scores[first : last + 1]),
            granularity=self._pool.units[first].granularity,
        )

    def _between(
        self, source: Source, left: int, right: int, tokens: int, style: Style
    ) -> Iterable[Piece]:
        """What stands between two kept units (-1: an end of the document)."""
        start = self._pool.units[left].end if left >= 0 else 0
        end = self._pool.units[right].start if right >= 0 else source.length
        text = source.read(start, end) if end - start < _SHORT else ""
        if end - start < _SHORT and self._is_cheap(text, tokens, style):
            if visible(text).strip():
                yield from self._verbatim(source, start, text, max(left, right))
            elif text.strip() or (left >= 0 and right >= 0):
                yield text
            return
        head, tail = source.read(start, min(end, start + 8)), source.read(max(start, end - 8), end)
        start, end = start + len(head) - len(head.lstrip()), end - (len(tail) - len(tail.rstrip()))
        units = range(left + 1, right if right >= 0 else len(self._pool.units))
        yield _space(head[: len(head) - len(head.lstrip())]) if left >= 0 else ""
        yield Gap(((source.digest, start, end),), source.id, tokens, units)
        yield _space(tail[len(tail.rstrip()) :]) if right >= 0 else ""

    def _verbatim(self, source: Source, start: int, text: str, beside: int) -> Iterable[Piece]:
        """A part that stays because its marker would be as long."""
        inner = text.strip()
        begin = start + text.index(inner)
        yield text[: begin - start]
        yield Span(
            id=part_id([(source.digest, begin, begin + len(inner))]),
            doc=source.id,
            start=begin,
            end=begin + len(inner),
            text=inner,
            score=0.0,
            granularity=self._pool.units[beside].granularity,
        )
        yield text[begin - start + len(inner) :]

    def _is_cheap(self, text: str, tokens: int, style: Style) -> bool:
        if not text.strip() or not visible(text).strip():
            return True
        return self._tokenizer.count(text) <= self._tokenizer.count(marker(style, tokens, "0" * 10))

    def render(self, pieces: Sequence[Piece], style: Style, *, reversible: bool) -> str:
        """The text of pieces."""
        return "".join(self._rendered(piece, style, reversible) for piece in pieces).strip("\n")

    def _rendered(self, piece: Piece, style: Style, reversible: bool) -> str:
        if isinstance(piece, str):
            return piece
        if isinstance(piece, Span):
            return piece.text
        id_ = piece.omission.id if reversible else None
        units = [self._pool.units[at] for at in piece.units]
        return marker(style, piece.tokens, id_, counted(units, self.group_sizes))


_SHORT = 400
"""Characters up to which a part may cost no more than its marker."""


def _space(between: str) -> str:
    return "\n" if "\n" in between or "\r" in between else " " if between else ""


def adjusted(pieces: Sequence[Piece], by: int) -> list[Piece]:
    """`pieces` with `by` tokens more in the largest gap, so that the counts add up to the whole."""
    gaps = [piece for piece in pieces if isinstance(piece, Gap)]
    if not gaps or not by:
        return list(pieces)
    largest = max(gaps, key=lambda gap: gap.tokens)
    changed = replace(largest, tokens=max(1, largest.tokens + by))
    return [changed if piece is largest else piece for piece in pieces]

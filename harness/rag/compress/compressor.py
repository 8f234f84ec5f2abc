"""The whole way: sources to units, scores, a selection within the budget, text with markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core import BadInput
from harness.rag.compress.assembly import Assembler, Gap, Piece, adjusted
from harness.rag.compress.budget import Budget
from harness.rag.compress.counts import count_warnings
from harness.rag.compress.markers import Style, marker, title, tokens_left_out, visible
from harness.rag.compress.pool import Pool
from harness.rag.compress.selection import Costs, Selection
from harness.rag.compress.sources import Source
from harness.rag.compress.store import Store
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Compressed, Span, TokenCounts

SHORT_FROM = 0.15
"""Share of the budget that full markers may take before short ones stand in their place."""
_ROUNDS = 4


@dataclass(frozen=True)
class Ranked:
    """Units with their scores, best first.

    Attributes:
        pool: the units.
        scores: one for each.
        order: places of the units that may be kept, best first.
        critic: what scored.
        warnings: what the ranking has to say.
    """

    pool: Pool
    scores: Sequence[float]
    order: Sequence[int]
    critic: str
    warnings: Sequence[str]


@dataclass(frozen=True)
class _Draft:
    kept: frozenset[int]
    pieces: list[Piece]
    text: str
    tokens: int


class Compressor:
    """Builds the result of one ranking.

    Args:
        sources: in order.
        ranked: their units in order of rank.
        tokenizer: in which the budget holds.
        style: of the markers; `auto` is `full` unless that takes :data:`SHORT_FROM` of the budget.
        store: where what is left out is kept; None leaves the IDs out of the markers.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        ranked: Ranked,
        tokenizer: Tokenizer,
        style: Style,
        store: Store | None,
    ) -> None:
        self._sources, self._ranked, self._tokenizer = sources, ranked, tokenizer
        self._style: Style = style
        self._store = store
        self._assembler = Assembler(sources, ranked.pool, ranked.scores, tokenizer)

    def compress(self, budget: Budget, input_tokens: int) -> Compressed:
        """The best units within the budget.

        Raises:
            BadInput: if not even the smallest unit fits; the message names the minimum.
        """
        limit = budget.limit(input_tokens)
        if self._style != "auto":
            draft, style = self._draft(self._style, limit), self._style
        else:
            draft, style = self._draft("full", limit), "full"
            if not draft or self._marked(draft, style) > SHORT_FROM * limit:
                draft, style = self._draft("short", limit), "short"
        if not draft:
            raise BadInput(
                f"a budget of {limit} {self._tokenizer.name} tokens holds nothing of this text: "
                f"the smallest unit needs {self._minimum()}"
            )
        return self._result(draft, style, limit, input_tokens)

    def _marked(self, draft: _Draft, style: Style) -> int:
        markers = [one for one in draft.pieces if isinstance(one, Gap)]
        return sum(self._tokenizer.counts([self._render([one], style) for one in markers]))

    def _render(self, pieces: Sequence[Piece], style: Style) -> str:
        return self._assembler.render(pieces, style, reversible=self._store is not None)

    def _assembled(self, kept: frozenset[int], style: Style) -> _Draft:
        pieces = self._assembler.pieces(kept, style)
        text = self._render(pieces, style)
        return _Draft(kept, pieces, text, self._tokenizer.count(text))

    def _costs(self, style: Style) -> Costs:
        total, id_ = max(1, self._ranked.pool.total), "0" * 10 if self._store else None
        longest = max((source.id for source in self._sources), key=len, default="")
        titled = title(longest) + "\n\n" if len(self._sources) > 1 and style != "none" else ""
        return Costs(
            self._tokenizer.count(marker(style, total, id_)) + 1 if style != "none" else 0,
            self._tokenizer.count(titled) + 1 if titled else 0,
        )

    def _draft(self, style: Style, limit: int) -> _Draft | None:
        """Greedy with estimated costs; then counted, shrunk until it fits, and filled up once."""
        costs = self._costs(style)
        draft: _Draft | None = None
        allowed = limit
        for _ in range(_ROUNDS):
            selection = Selection(self._ranked.pool, costs)
            for at in self._ranked.order[:1]:
                selection.force(at)
            selection.fill(self._ranked.order, allowed)
            found = self._shrunk(selection, style, limit)
            if found and (not draft or len(found.kept) > len(draft.kept)):
                draft, allowed = found, allowed + limit - found.tokens
            elif draft:
                break
            else:
                allowed += costs.marker  # the estimate is from above: one unit may fit yet
        return draft or self._single(style, limit)

    def _shrunk(self, selection: Selection, style: Style, limit: int) -> _Draft | None:
        kept = set(selection.kept)
        worst = [at for at in reversed(self._ranked.order) if at in kept]
        headers = self._ranked.pool.headers()
        while kept:
            draft = self._assembled(frozenset(kept), style)
            if draft.tokens <= limit:
                return draft
            over = draft.tokens - limit
            while worst and over > 0:
                at = worst.pop(0)
                over -= self._ranked.pool.tokens[at]
                kept.discard(at)
            needed = {headers[at] for at in kept if at in headers}
            kept = needed.union(worst)
        return None

    def _single(self, style: Style, limit: int) -> _Draft | None:
        """The first unit by rank that fits alone."""
        pool = self._ranked.pool
        ranked = dict.fromkeys([*self._ranked.order, *range(len(pool.units))])
        for at in ranked:
            if pool.tokens[at] <= limit:
                draft = self._assembled(self._with_header(at), style)
                if draft.tokens <= limit:
                    return draft
        return None

    def _with_header(self, at: int) -> frozenset[int]:
        header = self._ranked.pool.headers().get(at)
        return frozenset([at] if header is None else [at, header])

    def _minimum(self) -> int:
        pool = self._ranked.pool
        shortest = sorted(range(len(pool.units)), key=lambda at: pool.tokens[at])[:20]
        style: Style = "short" if self._style == "auto" else self._style
        drafts = [self._assembled(self._with_header(at), style) for at in shortest]
        return min((draft.tokens for draft in drafts), default=0)

    def _result(self, draft: _Draft, style: Style, limit: int, input_tokens: int) -> Compressed:
        draft = self._exact(draft, style, limit, input_tokens)
        gaps = [piece for piece in draft.pieces if isinstance(piece, Gap)]
        if self._store is not None:
            for source in self._sources:
                self._store.put_source(source.digest, (b.text for _, b in source.blocks()))
            self._store.put_omissions([gap.parts for gap in gaps])
        warnings = count_warnings(self._ranked.pool.units, draft.kept, self._assembler.group_sizes)
        return Compressed(
            spans=[piece for piece in draft.pieces if isinstance(piece, Span)],
            text=draft.text,
            tokens=TokenCounts(
                input=input_tokens, output=draft.tokens, tokenizer=self._tokenizer.name
            ),
            critic=self._ranked.critic,
            warnings=[*self._ranked.warnings, *warnings],
            omitted=[gap.omission for gap in gaps],
        )

    def _exact(self, draft: _Draft, style: Style, limit: int, input_tokens: int) -> _Draft:
        """Markers whose numbers and the visible text add up to the input, so that it can be read
        off the result how long the input was (a share of it stays the same when asked again)."""
        gaps = sum(piece.tokens for piece in draft.pieces if isinstance(piece, Gap))
        old = sum(tokens_left_out(piece) for piece in draft.pieces if isinstance(piece, str))
        by = input_tokens - self._tokenizer.count(visible(draft.text)) - gaps - old
        pieces = adjusted(draft.pieces, by)
        text = self._render(pieces, style)
        tokens = self._tokenizer.count(text)
        if tokens > limit:  # one digit too many: the numbers stay sums of their parts
            return draft
        return _Draft(draft.kept, pieces, text, tokens)

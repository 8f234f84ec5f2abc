"""The way of a compression: sources to units, scores, a selection within the budget, text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.core import BadInput
from harness.rag.compress.assembly import (
    Assembler,
    Draft,
    Selection,
    adjusted,
    gaps_of,
    span_of,
    with_beginning,
)
from harness.rag.compress.markers import (
    count_warnings,
    marker,
    marker_spans,
    title,
    tokens_left_out,
    visible,
)
from harness.rag.compress.pool import (
    SCAN_FROM,
    FileSource,
    Source,
    TextSource,
    dense_pool,
    sparse_pool,
)
from harness.rag.compress.ranking import LexicalCritic, Ranked, rank
from harness.rag.compress.store import Store
from harness.rag.compress.tokens import Tokenizer, open_tokenizer
from harness.rag.compress.types import Choice, Compressed, Critic, Query, Span, Style, TokenCounts
from harness.rag.retrieve import Document

# Share of the budget that markers may take, unless they are asked for.
MARKED_TO = 0.02
# The same for records and rows, above which their markers are short.
COUNTED_TO = 0.15
CRITICS = ("auto", "mix", "embedding", "lexical", "llm:SPEC", "cprs:FOLDER")
_ROUNDS = 4


def compress(
    documents: str | Document | Path | Sequence[str | Document | Path],
    query: str,
    *,
    instruction: str = "",
    budget: int | None = None,
    ratio: float | None = None,
    critic: str | Critic = "auto",
    granularity: Choice = "auto",
    tokenizer: str = "estimate",
    expand_entities: bool = True,
    markers: Style = "auto",
    reversible: bool = True,
    store: Store | None = None,
    language: str | None = None,
) -> Compressed:
    """Keep what the query needs of the documents, verbatim and in order, within a budget.

    Args:
        documents: texts (named `text-1`, ...), parsed documents, or UTF-8 files, which are read
            in blocks and never held whole.
        query: the question; empty, or one about the whole document, gives coverage.
        instruction: what to keep and how it relates to the query.
        budget: most tokens of the result, markers included.
        ratio: the same as a share of the input, above 0 to 1. The markers of a text that was
            compressed before count with what they stand for, so that the same share asked again
            changes nothing. One of the two is given.
        critic: a name of :func:`open_critic`, or a critic.
        granularity: of the units; `auto` by content.
        tokenizer: in which the budget holds, see :func:`open_tokenizer`.
        expand_entities: follow identifiers and names from what is found (chains, bridges).
        markers: `full` with IDs, `short` with token counts only, `none`, or `auto`: as far as
            they take little of the budget, and always for records and rows.
        reversible: keep what is left out on disk, so that :func:`expand` restores it.
        store: where; default in the user's cache folder.
        language: ISO 639-1 code; default identified.

    Returns:
        The result; the input unchanged if it fits the budget, or if markers would lengthen it.

    Raises:
        BadInput: if the documents hold no text, the budget holds nothing of them (the minimum is
            named), or an option has no such value.

    Example:
        >>> text = "Ann is 31 and sings. " * 5 + "Bob likes tea. " + "Cy is 40 and rows. " * 5
        >>> result = compress(text, "Bob", budget=24, critic="lexical", reversible=False)
        >>> result.text, result.spans[0].start
        ('[…35] Bob likes tea. […35]', 105)
    """
    if (budget is None) == (ratio is None):
        raise BadInput(f"expected a budget (tokens) or a ratio, got {budget!r} and {ratio!r}")
    if budget is not None and budget < 1:
        raise BadInput(f"expected a budget of 1 token or more, got {budget}")
    if ratio is not None and not 0 < ratio <= 1:
        raise BadInput(f"expected a ratio above 0 and up to 1, got {ratio!r}")
    sources, counter = _sources(documents), open_tokenizer(tokenizer)
    critic = open_critic(critic) if isinstance(critic, str) else critic
    size = measure(sources, counter)
    if not size.visible:
        raise BadInput("expected a text to compress, found no visible character in it")
    limit = int((ratio or 0) * size.original) if budget is None else budget
    if size.text <= limit:
        return _unchanged(sources, size, counter, critic.name)
    triplet = Query(instruction, query)
    if size.original < SCAN_FROM:
        pool = dense_pool(sources, counter, granularity, language)
    else:
        pool = sparse_pool(sources, counter, granularity, language, triplet, size.original)
    ranked = rank(pool, triplet, critic, limit, expand=expand_entities)
    if granularity == "auto":
        ranked = with_beginning(ranked, limit, counter)
    result = Compressor(
        sources, ranked, counter, markers, (store or Store()) if reversible else None
    ).compress(limit, size.original)
    if result.tokens.output >= size.text:
        return _unchanged(sources, size, counter, critic.name)
    return result


def expand(id_: str, *, store: Store | None = None) -> str:
    """The text left out under the ID of a marker, markers inside it expanded too.

    Raises:
        BadInput: if the store has no such ID.
    """
    return (store or Store()).expand(id_)


def open_critic(name: str = "auto") -> Critic:
    """The critic of that name.

    Args:
        name: `mix` (the default, `auto`: encoder and BM25, on long inputs with coefficients),
            `embedding` (sentence encoder), `lexical` (BM25), `llm:SPEC` (a model spec, such as
            `llm:openai/gpt-4.1-mini`) or `cprs:FOLDER` (published QwenLong-CPRS weights).
            What is installed never decides.

    Raises:
        BadInput: if there is no such critic, or its weights or packages are missing.
    """
    if name == "lexical":
        return LexicalCritic()
    from harness.rag.compress import critics

    if name in ("auto", "mix"):
        return critics.MixCritic()
    if name == "embedding":
        return critics.EmbeddingCritic()
    kind, _, argument = name.partition(":")
    if kind == "llm" and argument:
        return critics.ModelCritic(argument)
    if kind == "cprs" and argument:
        return critics.CprsCritic(Path(argument))
    raise BadInput(f"expected a critic of {', '.join(CRITICS)}, got {name!r}")


class Size(NamedTuple):
    """Tokens of an input.

    Attributes:
        text: as it stands, titles of several documents included.
        original: with what old markers stand for in place of them; the base of a ratio.
        visible: whether there is any visible character.
    """

    text: int
    original: int
    visible: bool


def measure(sources: Sequence[Source], tokenizer: Tokenizer) -> Size:
    """Size of all sources, read block by block."""
    text = original = 0
    seen = False
    for source in sources:
        text += tokenizer.count(f"{title(source.id)}\n\n\n") if len(sources) > 1 else 0
        for _, block in source.blocks():
            plain = visible(block.text)
            seen = seen or bool(plain.strip())
            counts = tokenizer.counts([block.text, plain] if plain != block.text else [plain])
            text += counts[0]
            original += counts[-1] + tokens_left_out(block.text)
    return Size(text, original, seen)


def _sources(documents: str | Document | Path | Sequence[str | Document | Path]) -> list[Source]:
    if isinstance(documents, str | Document | Path):
        documents = [documents]
    sources: dict[str, Source] = {}
    for number, document in enumerate(documents, start=1):
        if isinstance(document, Path):
            source = FileSource(document)
        elif isinstance(document, Document):
            source = TextSource(document)
        else:
            source = TextSource(Document(f"text-{number}", document))
        if source.id in sources:
            raise BadInput(f"expected distinct ids of documents, found {source.id!r} twice")
        sources[source.id] = source
    return list(sources.values())


def _unchanged(
    sources: Sequence[Source], size: Size, tokenizer: Tokenizer, critic: str
) -> Compressed:
    """The whole input as spans, one for each stretch between old markers."""
    spans: list[Span] = []
    texts: list[str] = []
    for source in sources:
        text = source.read(0, source.length)
        texts.append(f"{title(source.id)}\n{text}" if len(sources) > 1 else text)
        cuts = [0, *(cut for span in marker_spans(text) for cut in span), len(text)]
        for begin, end in zip(cuts[::2], cuts[1::2], strict=True):
            inner = text[begin:end].strip()
            if inner:
                start = begin + text[begin:end].index(inner)
                spans.append(span_of(source, start, start + len(inner), 0.0, "paragraph"))
    text = "\n\n".join(texts)
    counts = TokenCounts(
        input=size.original, output=tokenizer.count(text), tokenizer=tokenizer.name
    )
    return Compressed(spans=spans, text=text, tokens=counts, critic=critic, warnings=[])


class Compressor:
    """Builds the result of one ranking.

    Args:
        sources: in order.
        ranked: their units in order of rank.
        tokenizer: in which the budget holds.
        style: of the markers; `auto` is `full`, else `short`, that takes no more than
            :data:`MARKED_TO` of the budget, else `none`.
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
        self._headers = ranked.pool.headers()
        self._assembler = Assembler(
            sources, ranked.pool, ranked.scores, tokenizer, reversible=store is not None
        )

    def compress(self, limit: int, input_tokens: int) -> Compressed:
        """The best units within the limit.

        Raises:
            BadInput: if not even the smallest unit fits; the message names the minimum.
        """
        pool, draft = self._ranked.pool, None
        # Of records and rows it must be seen that there were more.
        is_counted = any(group.noun != "items" for group in self._assembler.group_sizes)
        share = COUNTED_TO if is_counted else MARKED_TO
        styles: tuple[Style, ...] = ("full", "short") if is_counted else ("full", "short", "none")
        styles = styles if self._style == "auto" else (self._style,)
        style = styles[-1]
        for style in styles:
            draft = self._draft(style, limit)
            texts = [self._assembler.render([gap], style) for gap in gaps_of(draft)]
            if draft and sum(self._tokenizer.counts(texts)) <= share * limit:
                break
        if not draft:
            shortest = sorted(range(len(pool.units)), key=lambda index: pool.tokens[index])[:20]
            minimum = min(self._alone(index, style).tokens for index in shortest)
            raise BadInput(
                f"a budget of {limit} {self._tokenizer.name} tokens holds nothing of this text: "
                f"the smallest unit needs {minimum}"
            )
        draft = self._exact(draft, style, limit, input_tokens)
        gaps = gaps_of(draft)
        if self._store is not None:
            for source in self._sources:
                self._store.put_source(source.digest, (b.text for _, b in source.blocks()))
            self._store.put_omissions([gap.parts for gap in gaps])
        lost = count_warnings(pool.units, draft.places, self._assembler.group_sizes)
        return Compressed(
            spans=[piece for piece in draft.pieces if isinstance(piece, Span)],
            text=draft.text,
            tokens=TokenCounts(
                input=input_tokens, output=draft.tokens, tokenizer=self._tokenizer.name
            ),
            critic=self._ranked.critic,
            warnings=[*self._ranked.warnings, *lost],
            omitted=[gap.omission for gap in gaps],
        )

    def _draft(self, style: Style, limit: int) -> Draft | None:
        """Greedy with estimated costs; then counted, shrunk until it fits, and filled up once."""
        pool, order = self._ranked.pool, self._ranked.order
        marker_cost = title_cost = 0
        if style != "none":
            id_ = "0" * 10 if self._store else None
            marker_cost = self._tokenizer.count(marker(style, max(1, pool.total), id_)) + 1
            if len(self._sources) > 1:
                longest = max((source.id for source in self._sources), key=len)
                title_cost = self._tokenizer.count(title(longest) + "\n\n") + 1
        draft: Draft | None = None
        allowed = limit
        for _ in range(_ROUNDS):
            selection = Selection(pool, marker_cost, title_cost)
            selection.fill(order, allowed)
            shrunk = self._shrunk(selection.kept, style, limit)
            if shrunk and (not draft or len(shrunk.places) > len(draft.places)):
                draft, allowed = shrunk, allowed + limit - shrunk.tokens
            elif draft:
                return draft
            else:
                allowed += marker_cost  # the estimate is from above: one unit may fit yet
        # Else the first unit by rank that fits alone.
        for index in () if draft else dict.fromkeys([*order, *range(len(pool.units))]):
            if pool.tokens[index] <= limit:
                single = self._alone(index, style)
                if single.tokens <= limit:
                    return single
        return draft

    def _alone(self, index: int, style: Style) -> Draft:
        """One unit, with its header row."""
        return self._assembler.draft({index, self._headers.get(index, index)}, style)

    def _shrunk(self, indexes: set[int], style: Style, limit: int) -> Draft | None:
        by_rank = [index for index in self._ranked.order if index in indexes]
        while indexes:
            draft = self._assembler.draft(indexes, style)
            if draft.tokens <= limit:
                return draft
            over = draft.tokens - limit
            while by_rank and over > 0:
                over -= self._ranked.pool.tokens[by_rank.pop()]
            indexes = {self._headers[index] for index in by_rank if index in self._headers}
            indexes.update(by_rank)
        return None

    def _exact(self, draft: Draft, style: Style, limit: int, input_tokens: int) -> Draft:
        """Markers whose numbers and the visible text add up to the input, so that it can be read
        off the result how long the input was (a share of it stays the same when asked again)."""
        old = sum(tokens_left_out(piece) for piece in draft.pieces if isinstance(piece, str))
        old += sum(gap.tokens for gap in gaps_of(draft))
        by = input_tokens - self._tokenizer.count(visible(draft.text)) - old
        exact = self._assembler.rendered(draft.places, adjusted(draft.pieces, by), style)
        # With one digit too many the numbers stay sums of their parts.
        return exact if exact.tokens <= limit else draft

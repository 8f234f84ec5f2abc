"""The input as a result: where it fits, and where markers would make it longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.rag.compress.markers import marker_spans, title, tokens_left_out, visible
from harness.rag.compress.sources import Source
from harness.rag.compress.store import part_id
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Compressed, Span, TokenCounts


class Size(NamedTuple):
    """Tokens of an input.

    Attributes:
        text: as it stands, titles of several documents included.
        original: with what old markers stand for in place of them; the base of a ratio.
        visible: whether there is any visible character.
        marked: whether there are markers of an earlier compression.
    """

    text: int
    original: int
    visible: bool
    marked: bool


def measure(sources: Sequence[Source], tokenizer: Tokenizer) -> Size:
    """Size of all sources, read block by block."""
    text = original = 0
    seen = marked = False
    for source in sources:
        text += tokenizer.count(f"{title(source.id)}\n\n\n") if len(sources) > 1 else 0
        for _, block in source.blocks():
            plain = visible(block.text)
            marked = marked or plain != block.text
            seen = seen or bool(plain.strip())
            counts = tokenizer.counts([block.text, plain] if plain != block.text else [plain])
            text += counts[0]
            original += counts[-1] + tokens_left_out(block.text)
    return Size(text, original, seen, marked)


def unchanged(
    sources: Sequence[Source], size: Size, tokenizer: Tokenizer, critic: str, warnings: list[str]
) -> Compressed:
    """The whole input as spans, one for each stretch between old markers."""
    spans = [span for source in sources for span in _spans(source)]
    texts = [source.read(0, source.length) for source in sources]
    if len(sources) > 1:
        pairs = zip(sources, texts, strict=True)
        texts = [f"{title(source.id)}\n{text}" for source, text in pairs]
    text = "\n\n".join(texts)
    output = tokenizer.count(text)
    counts = TokenCounts(input=size.original, output=output, tokenizer=tokenizer.name)
    return Compressed(spans=spans, text=text, tokens=counts, critic=critic, warnings=warnings)


def _spans(source: Source) -> Iterator[Span]:
    text = source.read(0, source.length)
    places = [0, *(place for span in marker_spans(text) for place in span), len(text)]
    for begin, end in zip(places[::2], places[1::2], strict=True):
        inner = text[begin:end].strip()
        if inner:
            start = begin + text[begin:end].index(inner)
            stop = start + len(inner)
            yield Span(
                id=part_id([(source.digest, start, stop)]),
                doc=source.id,
                start=start,
                end=stop,
                text=inner,
                score=0.0,
                granularity="paragraph",
            )

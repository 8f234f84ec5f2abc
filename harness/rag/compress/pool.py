"""Sources, texts and files, and the pool of units read from them.

A file is read in blocks however long it is. An input that is too long to hold is scanned in one
pass, in bounded memory: statistics and scores of the query's words are gathered in the same pass;
units that share no word with the query are passed over, but for an even sample. Chains of
identifiers cost one more pass a hop, which only looks for the names.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from harness.core import BadInput
from harness.rag.compress.markers import tokens_left_out
from harness.rag.compress.ranking import (
    Statistics,
    asked_for,
    asks_for_whole,
    identifiers,
    weighted_terms,
)
from harness.rag.compress.segment import moved_by, prose_spans, segment
from harness.rag.compress.store import text_digest
from harness.rag.compress.tokens import Tokenizer
from harness.rag.compress.types import Choice, Query, Unit
from harness.rag.retrieve import Document, words

# Characters of a block of a file; units never cross the end of one.
BLOCK = 1 << 20
# Bytes from which a plain text file is read in blocks instead of being parsed.
STREAMED_FROM = 8_000_000
# Characters before the end of a block in which the last sentence is looked for.
_TAIL = 4_000
_HEAD = 8192
_PLAIN = {".txt", ".md", ".log", ".text", ""}
# Tokens from which an input is scanned instead of held.
SCAN_FROM = 400_000
# Tokens of the candidates that a scan gives.
CANDIDATES = 48_000
_HELD = 20_000
_HOPS = 12
_RARE = 16


class Source(ABC):
    """A text to compress: read in blocks as often as needed, and at any place.

    Attributes:
        id: name in spans and citations.
    """

    id: str

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, Document]]:
        """(offset, block): the text in order, cut between lines or sentences."""

    @abstractmethod
    def read(self, start: int, end: int) -> str:
        """Characters `start` to `end`."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return text_digest(block.text for _, block in self.blocks())

    @cached_property
    def length(self) -> int:
        """Characters."""
        return sum(len(block.text) for _, block in self.blocks())


class TextSource(Source):
    """A parsed document in memory: one block."""

    def __init__(self, document: Document) -> None:
        self.id, self.document = document.id, document

    def blocks(self) -> Iterator[tuple[int, Document]]:
        yield 0, self.document

    def read(self, start: int, end: int) -> str:
        return self.document.text[start:end]


class FileSource(Source):
    """A UTF-8 text file that is never in memory as a whole.

    Args:
        path: the file.
        block: characters that are read at once.

    Raises:
        BadInput: while reading, if the file is missing or not UTF-8.
    """

    def __init__(self, path: Path, block: int = BLOCK) -> None:
        self.id, self.path, self._block = str(path), path, block
        self._cookies: list[int] = []  # positions in the file, one for every `block` characters
        self._last = (0, "")

    def blocks(self) -> Iterator[tuple[int, Document]]:
        offset, text, cookies = 0, "", list[int]()
        try:
            # Line ends are left as they are: offsets count them.
            with self.path.open(encoding="utf-8", newline="\n") as stream:
                is_last = False
                while not is_last:
                    cookies.append(stream.tell())
                    data = stream.read(self._block)
                    is_last = len(data) < self._block  # a short file stays whole
                    text += data
                    cut = len(text) if is_last else _end_of_sentence(text)
                    if cut:
                        yield offset, Document(self.id, text[:cut])
                    offset, text = offset + cut, text[cut:]
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"expected UTF-8 text in {self.id!r}: {error}") from error
        self._cookies = cookies

    def read(self, start: int, end: int) -> str:
        before, text = self._last
        if not before <= start <= end <= before + len(text):
            if not self._cookies:
                deque(self.blocks(), maxlen=0)
            number = min(start // self._block, len(self._cookies) - 1)
            before = number * self._block
            size = -(-(end - before) // self._block) * self._block
            with self.path.open(encoding="utf-8", newline="\n") as stream:
                stream.seek(self._cookies[number])
                text = stream.read(size)
            self._last = before, text
        return text[start - before : end - before]


def _end_of_sentence(text: str) -> int:
    """Find where to cut a text that goes on: behind a blank line, a sentence or else a space."""
    cut = text.rfind("\n\n") + 2
    if cut > len(text) // 2:
        return cut
    near = max(0, len(text) - _TAIL)
    begins = [near + start for start, _ in prose_spans(text[near:], "sentence", None)]
    cut = begins[-1] if len(begins) > 1 else text.rfind(" ") + 1
    return cut if cut > len(text) // 2 else len(text)


@dataclass(frozen=True)
class Read:
    """The documents under a list of paths.

    Attributes:
        documents: parsed documents, and paths of files to be read in blocks.
        warnings: of the parsers, and of files in a folder that cannot be read.
    """

    documents: list[Document | Path]
    warnings: list[str]


def read_paths(paths: Sequence[Path], follow_links: bool = False) -> Read:
    """Read files and folders; long plain text files are left to be read in blocks.

    Raises:
        BadInput: as :func:`harness.rag.retrieve.parse_paths`.
    """
    from harness.rag.retrieve import ParseOptions, parse_paths

    long = [path for path in paths if _is_long(path)]
    short = [path for path in paths if path not in long]
    if not short:
        return Read([*long], [])
    parsed = parse_paths(short, ParseOptions(follow_links=follow_links))
    return Read([*parsed.documents, *long], parsed.notes)


def _is_long(path: Path) -> bool:
    """Return True for a long text; one with NUL bytes is for the parsers, which name its kind."""
    plain = path.is_file() and path.suffix.lower() in _PLAIN
    if not plain or path.stat().st_size <= STREAMED_FROM:
        return False
    with path.open("rb") as handle:
        return b"\0" not in handle.read(_HEAD)


@dataclass
class Pool:
    """Units of all documents in order, dense or with gaps where a scan passed them over.

    Attributes:
        units: candidates.
        tokens: of each, counted alone.
        before: tokens of everything before each, all documents together.
        joined: whether nothing visible lies between a unit and the one before it here.
        size: units of the whole input, of which a scan gives only some; 0 where all are here.
        cut_at: place of the second part of a sentence that was cut; -1 for none.
        ends: for each document with units: tokens up to its start and its end.
    """

    units: list[Unit] = field(default_factory=list[Unit])
    tokens: list[int] = field(default_factory=list[int])
    before: list[int] = field(default_factory=list[int])
    joined: list[bool] = field(default_factory=list[bool])
    ends: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    size: int = 0
    cut_at: int = -1

    @property
    def total(self) -> int:
        """Tokens of all units."""
        return max((end for _, end in self.ends.values()), default=0)

    def headers(self) -> dict[int, int]:
        """Place of a row -> place of the header row that is kept with it."""
        if not any(unit.header for unit in self.units):
            return {}
        index_of = {(unit.doc, unit.start): index for index, unit in enumerate(self.units)}
        return {
            index: index_of[unit.doc, unit.header[0]]
            for index, unit in enumerate(self.units)
            if unit.header and (unit.doc, unit.header[0]) in index_of
        }

    def cut(self, index: int, end: int, tokens: int) -> Pool:
        """The pool with a unit in two, of which the first has so many characters and tokens."""
        unit, behind, remainder = self.units[index], index + 1, self.tokens[index] - tokens
        first = replace(unit, end=unit.start + end, text=unit.text[:end], granularity="word")
        second = replace(unit, start=first.end, text=unit.text[end:], granularity="word")
        return replace(
            self,
            cut_at=behind,
            units=[*self.units[:index], first, second, *self.units[behind:]],
            tokens=[*self.tokens[:index], tokens, remainder, *self.tokens[behind:]],
            before=[*self.before[:behind], self.before[index] + tokens, *self.before[behind:]],
            joined=[*self.joined[:behind], True, *self.joined[behind:]],
        )


@dataclass(frozen=True)
class PlacedUnit:
    """A unit with its place.

    Attributes:
        unit: offsets in its document.
        place: number of its source, and of the unit among all of its source.
        tokens: of the unit.
        before: tokens before it.
        glued: whether nothing visible lies between it and the unit before it.
    """

    unit: Unit
    place: tuple[int, int]
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
        before = 0
        for number, source in enumerate(self.sources):
            begin, ordinal = before, 0
            for offset, block in source.blocks():
                start = self._starts.get((number, offset))
                if start and pattern and not pattern.search(block.text):
                    continue
                ordinal, before = start or (ordinal, before)
                self._starts[number, offset] = (ordinal, before)
                units = segment(block, self.granularity, self.language)
                counts = self.tokenizer.counts([unit.text for unit in units])
                last = 0
                for unit, tokens in zip(units, counts, strict=True):
                    between = block.text[last : unit.start]
                    before += tokens_left_out(between) if ordinal else 0
                    glued = ordinal > 0 and not between.strip()
                    moved = moved_by(unit, offset)
                    yield PlacedUnit(moved, (number, ordinal), tokens, before, glued)
                    before, ordinal, last = before + tokens, ordinal + 1, unit.end
            if pattern is None:
                self.ends[source.id] = (begin, before)


def dense_pool(
    sources: Sequence[Source], tokenizer: Tokenizer, granularity: Choice, language: str | None
) -> Pool:
    """Every unit of every source."""
    scan = Scan(sources, tokenizer, granularity, language)
    return _pool_of(scan, scan.units(), 0)


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
    selected: list[PlacedUnit] = []
    hits: list[tuple[PlacedUnit, list[str]]] = []
    naming: list[PlacedUnit] = []
    names = asked_for(query.query)
    for placed in scan.units():
        tokens = words(f"{placed.unit.heading} {placed.unit.text}")
        statistics.add(tokens)
        if placed.before * points // size < (placed.before + placed.tokens) * points // size:
            selected.append(placed)
        if not statistics.terms.keys().isdisjoint(tokens):
            hits.append((placed, tokens))
            if len(hits) > _HELD:
                hits.sort(key=lambda hit: -statistics.score(hit[1]))
                del hits[_HELD // 2 :]
        if names and not names.isdisjoint(identifiers(placed.unit.text)) and len(naming) <= _HELD:
            naming.append(placed)
    room = CANDIDATES
    for placed, _ in sorted(hits, key=lambda hit: (-statistics.score(hit[1]), hit[0].before)):
        room -= placed.tokens
        if room < 0:
            break
        selected.append(placed)
    if names:
        selected += _chained(scan, _rare(naming, names))
    return _pool_of(scan, selected, statistics.units)


def _rare(naming: Sequence[PlacedUnit], names: set[str]) -> list[PlacedUnit]:
    """Choose those of `naming` with a name that stands in few of them."""
    holders: dict[str, list[PlacedUnit]] = {}
    for placed in naming:
        for name in names & identifiers(placed.unit.text):
            holders.setdefault(name, []).append(placed)
    return [placed for group in holders.values() if len(group) <= _RARE for placed in group]


def _chained(scan: Scan, seeds: Sequence[PlacedUnit]) -> list[PlacedUnit]:
    """Units that share rare identifiers with the seeds, hop by hop, to a fixed point."""
    reached = {placed.place: placed for placed in seeds}
    frontier, seen = reached, set[str]()
    for _ in range(_HOPS):
        found_names = (identifiers(placed.unit.text) for placed in frontier.values())
        names = set[str]().union(*found_names) - seen
        if not names:
            break
        seen |= names
        pattern = re.compile("|".join(map(re.escape, sorted(names))), re.IGNORECASE)
        naming = [placed for placed in scan.units(pattern) if names & identifiers(placed.unit.text)]
        rare = {placed.place: placed for placed in _rare(naming, names)}
        frontier = {position: rare[position] for position in rare.keys() - reached.keys()}
        reached = reached | frontier
    return list(reached.values())


def _pool_of(scan: Scan, placed_units: Iterable[PlacedUnit], size: int) -> Pool:
    unique = {placed.place: placed for placed in placed_units}
    pool = Pool(ends=scan.ends, size=size)
    last = (-1, -1)
    for (source, ordinal), placed in sorted(unique.items()):
        pool.units.append(placed.unit)
        pool.tokens.append(placed.tokens)
        pool.before.append(placed.before)
        pool.joined.append(last == (source, ordinal - 1) and placed.glued)
        last = source, ordinal
    return pool

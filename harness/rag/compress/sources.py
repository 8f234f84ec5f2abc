"""Sources: a text in memory, or a file that is read in blocks however long it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.core import BadInput
from harness.rag.compress.segment import prose_spans
from harness.rag.compress.store import text_digest
from harness.rag.retrieve import Document

# Characters of a block of a file; units never cross the end of one.
BLOCK = 1 << 20
# Bytes from which a plain text file is read in blocks instead of being parsed.
STREAMED_FROM = 8_000_000
# Characters before the end of a block in which the last sentence is looked for.
_TAIL = 4_000
_HEAD = 8192
_PLAIN = {".txt", ".md", ".log", ".text", ""}


class Source(ABC):
    """A text to compress: read in blocks as often as needed, and at any place."""

    @property
    @abstractmethod
    def id(self) -> str:
        """Name in spans and citations."""

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


@dataclass
class TextSource(Source):
    """A parsed document in memory: one block."""

    document: Document

    @property
    def id(self) -> str:
        return self.document.id

    def blocks(self) -> Iterator[tuple[int, Document]]:
        yield 0, self.document

    def read(self, start: int, end: int) -> str:
        return self.document.text[start:end]


@dataclass
class FileSource(Source):
    """A UTF-8 text file that is never in memory as a whole.

    Args:
        path: the file.
        block: characters of a block.

    Raises:
        BadInput: while reading, if the file is missing, changes meanwhile or is not UTF-8.
    """

    path: Path
    block: int = BLOCK
    _places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _last: tuple[int, str] = (0, "")

    @property
    def id(self) -> str:
        return str(self.path)

    def blocks(self) -> Iterator[tuple[int, Document]]:
        first_pass, characters, position = not self._places, 0, 0
        try:
            with self.path.open("rb") as handle:
                tail, is_last = b"", False
                while not is_last:
                    data = handle.read(self.block)
                    is_last = len(data) < self.block
                    if is_last:  # a short file stays whole
                        text, tail = (tail + data).decode("utf-8"), b""
                    else:
                        text, tail = _whole_sentences(tail + data)
                    if not text:
                        break
                    if first_pass:
                        self._places.append((characters, position))
                    yield characters, Document(self.id, text)
                    characters += len(text)
                    position = handle.tell() - len(tail)
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"expected UTF-8 text in {self.id!r}: {error}") from error

    def read(self, start: int, end: int) -> str:
        before, text = self._last
        if not before <= start <= end <= before + len(text):
            self._last = before, text = self._stretch(start, end)
        return text[start - before : end - before]

    def _stretch(self, start: int, end: int) -> tuple[int, str]:
        """(offset, text) of the blocks that hold these characters."""
        if not self._places:
            for _ in self.blocks():
                pass
        if not self._places:
            return 0, ""
        first = bisect_right(self._places, start, key=lambda place: place[0]) - 1
        characters, position = self._places[max(0, first)]
        after = bisect_right(self._places, end, key=lambda place: place[0])
        with self.path.open("rb") as handle:
            handle.seek(position)
            size = self._places[after][1] - position if after < len(self._places) else -1
            return characters, handle.read(size).decode("utf-8")


def _whole_sentences(data: bytes) -> tuple[str, bytes]:
    """Text up to the last blank line, beginning of a sentence or space, and the bytes behind it."""
    cut = data.rfind(b"\n\n")
    if cut > len(data) // 2:
        return data[: cut + 2].decode("utf-8"), data[cut + 2 :]
    text = _decodable(data)
    near = max(0, len(text) - _TAIL)
    begins = [near + start for start, _ in prose_spans(text[near:], "sentence", None)]
    cut = begins[-1] if len(begins) > 1 else text.rfind(" ") + 1
    cut = cut if cut > len(text) // 2 else len(text)
    return text[:cut], data[len(text[:cut].encode()) :]


def _decodable(data: bytes) -> str:
    """The text without the character that the end cuts in two."""
    for end in range(len(data), max(0, len(data) - 4), -1):
        try:
            return data[:end].decode("utf-8")
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                raise
    return data.decode("utf-8")


@dataclass(frozen=True)
class Read:
    """The documents under a list of paths.

    Attributes:
        documents: parsed documents, and paths of files to be read in blocks.
        warnings: of the parsers, and of files in a folder that cannot be read.
    """

    documents: list[Document | Path]
    warnings: list[str]


def read_paths(paths: Sequence[Path]) -> Read:
    """Read files and folders; long plain text files are left to be read in blocks.

    Raises:
        BadInput: as :func:`harness.rag.retrieve.parse_paths`.
    """
    from harness.rag.retrieve import parse_paths

    long = [path for path in paths if _is_long(path)]
    short = [path for path in paths if path not in long]
    documents: list[Document | Path] = []
    warnings: list[str] = []
    if short:
        parsed = parse_paths(short)
        documents.extend(parsed.documents)
        warnings = [f"{doc.id}: {text}" for doc in parsed.documents for text in doc.warnings]
        warnings += [f"{file.path}: {file.reason}" for file in parsed.passed_over]
    return Read([*documents, *long], warnings)


def _is_long(path: Path) -> bool:
    """Whether it is a long text; one with NUL bytes is left to the parsers, which name its kind."""
    if not path.is_file() or path.suffix.lower() not in _PLAIN:
        return False
    if path.stat().st_size <= STREAMED_FROM:
        return False
    with path.open("rb") as handle:
        return b"\0" not in handle.read(_HEAD)

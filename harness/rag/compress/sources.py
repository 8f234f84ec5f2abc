"""Sources: a text in memory, or a file that is read in blocks however long it is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.core import BadInput
from harness.rag.compress.segment.prose import prose_spans
from harness.rag.compress.store import text_digest
from harness.rag.retrieve.document import Document

BLOCK = 1 << 20
"""Characters of a block of a file; units never cross the end of one."""


class Source(Protocol):
    """What can be compressed: read in blocks as often as needed, and at any place."""

    @property
    def id(self) -> str:
        """Name in spans and citations."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        ...

    @property
    def length(self) -> int:
        """Characters."""
        ...

    def blocks(self) -> Iterator[tuple[int, Document]]:
        """(offset, block): the text in order, cut between lines or sentences."""
        ...

    def read(self, start: int, end: int) -> str:
        """Characters `start` to `end`."""
        ...


@dataclass
class TextSource:
    """A parsed document in memory: one block."""

    document: Document
    _digest: str = ""

    @property
    def id(self) -> str:
        return self.document.id

    @property
    def digest(self) -> str:
        self._digest = self._digest or text_digest([self.document.text])
        return self._digest

    @property
    def length(self) -> int:
        return len(self.document.text)

    def blocks(self) -> Iterator[tuple[int, Document]]:
        yield 0, self.document

    def read(self, start: int, end: int) -> str:
        return self.document.text[start:end]


@dataclass
class FileSource:
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
    _digest: str = ""
    _length: int = -1
    _last: tuple[int, str] = (0, "")

    @property
    def id(self) -> str:
        return str(self.path)

    @property
    def digest(self) -> str:
        self._digest = self._digest or text_digest(block.text for _, block in self.blocks())
        return self._digest

    @property
    def length(self) -> int:
        if self._length < 0:
            self._length = sum(len(block.text) for _, block in self.blocks())
        return self._length

    def blocks(self) -> Iterator[tuple[int, Document]]:
        known, characters, position = bool(self._places), 0, 0
        try:
            with self.path.open("rb") as handle:
                rest = b""
                while data := handle.read(self.block):
                    if len(data) < self.block:  # the end: a short file stays whole
                        rest += data
                        break
                    text, rest = _whole_sentences(rest + data)
                    if not known:
                        self._places.append((characters, position))
                    yield characters, Document(self.id, text)
                    characters += len(text)
                    position = handle.tell() - len(rest)
                if rest:
                    if not known:
                        self._places.append((characters, position))
                    yield characters, Document(self.id, rest.decode("utf-8"))
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
        at = bisect_right(self._places, start, key=lambda place: place[0]) - 1
        characters, position = self._places[max(0, at)]
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


_TAIL = 4_000
"""Characters before the end of a block in which the last sentence is looked for."""

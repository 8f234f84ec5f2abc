"""The documents that tasks are made from, and searching them.

Searching is done by the tool `search`, whichever package brings it, so that this wing needs no
index of its own.
"""

from __future__ import annotations

import logging
import re
from functools import cached_property
from pathlib import Path
from random import Random

from harness.core import (
    BadInput,
    digest,
    files_below,
    read_foreign,
    read_rows,
    string,
    write_atomic,
)
from harness.corpora import SOURCES, Evidence, Source
from harness.synth.tables.table import SUFFIXES as TABLES
from harness.synth.tables.table import read_table, shown
from harness.tools import Bench, get_tools

_log = logging.getLogger("harness.documents")
SUFFIXES = (".txt", ".md", ".jsonl")
SEARCH = "search:lexical"
TOP = 3
"""Passages of a search (SSP, section 8)."""
_PASSAGE = re.compile(r"^\[(.+):(\d+)-(\d+)\]", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z][\w'-]+(?: (?:of|the|and|de|van)?(?: )?[A-Z][\w'-]+)+\b")
_VALUE = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|\b\d[\d,.]*\d\b(?: (?:hundred|thousand|million|billion|trillion)\b)?"
)
PASSAGE = 600
"""Characters of a passage that is drawn."""


class Library:
    """Documents by id.

    Attributes:
        sources: id -> document.
        folder: where they lie for the tool.
    """

    def __init__(self, sources: list[Source], folder: Path) -> None:
        self.sources = {source.id: source for source in sources}
        self.folder = folder
        self._files: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
        if len(self.sources) < len(sources):
            raise BadInput(f"two of the {len(sources)} documents have the same id")

    @classmethod
    def read(cls, path: Path, folder: Path) -> Library:
        """Read a file, or the files of a folder: `.txt`, `.md`, or JSONL of `id`, `text`, `title`.

        Of a table (`.csv`, `.xlsx`) each row is a document.

        Raises:
            BadInput: if there is no text.
        """
        if path.suffix in TABLES:
            table = read_table(path)
            keys = map(str, table.column(table.key))
            lines = [
                "\n".join(
                    f"{head}: {shown(cell)}" for head, cell in zip(table.heads, row, strict=True)
                )
                for row in table.rows
            ]
            rows = zip(keys, lines, strict=True)
            return cls([Source(id=key, title=key, text=text) for key, text in rows], folder)
        paths, links = files_below(path) if path.is_dir() else ([path], 0)
        if links:
            _log.warning("%d links to files in %s were passed over", links, path)
        sources: list[Source] = []
        for file in paths:
            if file.suffix == ".jsonl" and file.is_file():
                for number, row in read_rows(file):
                    text = string(row.get("text"))
                    names = (row.get(name) for name in ("id", "_id", "file", "title"))
                    id_ = next((name for name in names if name), number)
                    if text.strip():
                        title = string(row.get("title"))
                        sources.append(Source(id=str(id_), text=text, title=title))
            elif file.suffix in SUFFIXES and file.is_file():
                try:
                    text = read_foreign(file).decode()
                except (OSError, UnicodeDecodeError) as error:
                    raise BadInput(f"cannot read the document {str(file)!r}: {error}") from error
                id_ = str(file.relative_to(path)) if path.is_dir() else file.name
                sources += [Source(id=id_, text=text)] if text.strip() else []
        if not sources:
            raise BadInput(
                f"expected documents ({', '.join(SUFFIXES)}) at {str(path)!r}, found none: convert "
                "other formats to text"
            )
        return cls(sources, folder)

    @property
    def digest(self) -> str:
        """Digest of all documents."""
        return digest([source.model_dump() for source in self.sources.values()])

    def text(self, passage: Evidence) -> str:
        """The text of a passage."""
        return self.sources[passage.doc].text[passage.start : passage.end]

    @cached_property
    def bench(self) -> Bench:
        """The documents in a folder, as a tool wants them."""
        rows = [source.model_dump_json(exclude_defaults=True) for source in self.sources.values()]
        write_atomic(self.folder / SOURCES, "\n".join(rows) + "\n")
        return Bench(self.folder)

    async def search(self, query: str, top: int = TOP) -> list[Evidence]:
        """The best passages for a query, best first.

        Raises:
            BadInput: if no package brings the tool `search`.
        """
        (tool,) = get_tools([SEARCH])
        output = await tool.call({"query": query}, self.bench) if query.strip() else ""
        passages = [
            Evidence(doc=match[1], start=int(match[2]), end=int(match[3]))
            for match in _PASSAGE.finditer(output)
            if match[1] in self.sources
        ]
        return passages[:top]

    def passage(self, rng: Random) -> Evidence:
        """A passage drawn at random."""
        source = self.sources[rng.choice([*self.sources])]
        start = rng.randrange(max(1, len(source.text) - PASSAGE))
        return Evidence(doc=source.id, start=start, end=min(len(source.text), start + PASSAGE))

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """Names and values that could be answers -> the documents that hold them, rare ones only.

        An answer that stands in many documents is seldom the only one that fits a question.
        """
        holders: dict[str, list[str]] = {}
        for source in self.sources.values():
            matches = [*_NAME.finditer(source.text), *_VALUE.finditer(source.text)]
            for text in dict.fromkeys(match[0] for match in matches):
                holders.setdefault(text, []).append(source.id)
        most = max(2, len(self.sources) // 20)
        return {text: docs for text, docs in sorted(holders.items()) if len(docs) <= most}

    def drawn_answers(self, seed: int) -> list[str]:
        """The answers in an order that a seed draws.

        Raises:
            BadInput: if there are none.
        """
        if not self.answers:
            raise BadInput("the documents hold no rare name or number that could be an answer")
        drawn = [*self.answers]
        Random(seed).shuffle(drawn)
        return drawn

    def files(self, out: Path, family: str, documents: tuple[str, ...]) -> dict[str, str]:
        """List the files of a task's work folder: its documents, written below `out` once.

        Args:
            out: folder of the tasks.
            family: `search` (one file of them all) or `longdoc` (a file each).
            documents: ids; none means all.
        """
        key = family, documents
        if key not in self._files:
            selected = [self.sources[id_] for id_ in documents or self.sources]
            rows = [source.model_dump_json(exclude_defaults=True) for source in selected]
            texts = {SOURCES: "\n".join(rows) + "\n"}
            if family == "longdoc":
                texts = {_file_name(source.id): source.text for source in selected}
            paths: dict[str, str] = {}
            for name, text in texts.items():
                paths[name] = f"documents/{digest(text)[:16]}{Path(name).suffix}"
                if not (out / paths[name]).is_file():
                    write_atomic(out / paths[name], text)
            self._files[key] = paths
        return self._files[key]


def _file_name(id_: str) -> str:
    safe = re.sub(r"[^\w.-]+", "-", id_).strip("-.") or digest(id_)[:12]
    return safe if safe.endswith((".txt", ".md")) else f"{safe}.txt"

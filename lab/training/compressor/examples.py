"""Questions with the sentences that answer them, from the files of labelled extracts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import BadInput, read_rows
from harness.rag.retrieve import sentence_spans

FILES = ("nq_oracle.jsonl", "qed.jsonl", "wice_dev.jsonl", "qmsum_val.jsonl")
HELD_OUT_PERCENT = 25


@dataclass(frozen=True)
class Passage:
    """Sentences in their order.

    Attributes:
        source: name of the file, without its ending.
        group: what must not lie in training and in calibration: a question or a document.
        sentences: verbatim.
    """

    source: str
    group: str
    sentences: tuple[str, ...]

    @property
    def held_out(self) -> bool:
        """True if it is kept for calibration and the fusion: a quarter of the groups."""
        key = f"critic|{self.group}".encode()
        return int(hashlib.sha256(key).hexdigest()[:8], 16) % 100 < HELD_OUT_PERCENT


@dataclass(frozen=True)
class Example:
    """A question (or claim), a passage, and the numbers of the sentences that answer it.

    Attributes:
        answers: texts of the answer, "" where the source has none; a negative holds none of them.
    """

    query: str
    passage: Passage
    gold: frozenset[int]
    answers: tuple[str, ...] = ()


def read_examples(folder: Path) -> list[Example]:
    """All examples of the files in `folder`, in their order.

    Raises:
        BadInput: if a file is missing or a row cannot be read.
    """
    examples: list[Example] = []
    for name in FILES:
        path = folder / name
        reader = _READERS.get(path.stem, _question)
        for number, row in read_rows(path):
            try:
                examples += reader(path.stem, row)
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput(f"{path}:{number}: no training row: {error!r}") from error
    return examples


def _question(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """A question over a short passage; gold are the sentences that its spans touch."""
    text: str = row["context"]
    starts: list[int] | None = row.get("sentence_starts")
    spans = sentence_spans(text)
    if starts:
        spans = list(zip(starts, [*starts[1:], len(text)], strict=True))
    gold = _touched(spans, row["spans"])
    if gold:
        passage = Passage(source, row["query"].casefold(), _texts(text, spans))
        yield Example(row["query"], passage, gold, tuple(row["answers"]))


def _claim(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """A claim over a web page; gold is the union of the sets of supporting sentences."""
    gold = frozenset(int(n) for group in row["supporting_sentences"] for n in group)
    if gold:
        sentences = tuple(row["evidence"])
        group = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
        yield Example(row["claim"], Passage(source, group, sentences), gold)


def _meeting(source: str, row: Mapping[str, Any]) -> Iterator[Example]:
    """Questions over a meeting; gold are the turns of each question."""
    text: str = row["context"]
    turns = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    passage = Passage(source, row["id"], _texts(text, turns))
    for question in row["queries"]:
        if gold := _touched(turns, question["spans"]):
            yield Example(question["query"], passage, gold)


def _touched(spans: Sequence[tuple[int, int]], gold: Sequence[Sequence[int]]) -> frozenset[int]:
    return frozenset(
        number
        for number, (start, end) in enumerate(spans)
        if any(a < end and start < b for a, b in gold)
    )


def _texts(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(text[start:end].strip() for start, end in spans)


_READERS = {"wice_dev": _claim, "qmsum_val": _meeting}

"""Training sources brought to one form: passages in sentences, questions with gold sentences."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput
from harness.retrieve.sentences import sentence_spans

Source = Literal["nq", "qed", "wice", "qmsum"]
FILES: dict[Source, str] = {
    "nq": "nq_oracle.jsonl",
    "qed": "qed.jsonl",
    "wice": "wice_dev.jsonl",
    "qmsum": "qmsum_val.jsonl",
}
HELD_OUT_PERCENT: dict[Source, int] = {"nq": 10, "qed": 10, "wice": 15, "qmsum": 25}
"""Share of groups kept for calibration and fusion; the small sources give more, to count."""
LONGEST_SENTENCE = 700
"""Characters above which a sentence or a turn is cut for training."""
_SPACED = re.compile(r" (?=[,.;:!?%)\]]|'s\b|n't\b)|(?<=[(\[]) ")


@dataclass(frozen=True)
class Passage:
    """A document or paragraph as sentences (turns, for a meeting).

    Attributes:
        source: where it comes from.
        group: rows that share it are never split between training and held out.
        title: of its article; empty if not known.
        sentences: in order.
    """

    source: Source
    group: str
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A query with the sentences that answer it.

    Attributes:
        text: question or claim.
        passage: place of its passage in :attr:`Corpus.passages`.
        gold: places of the sentences that answer it.
        unsure: sentences that may answer it too; neither gold nor negative.
        answers: texts that a negative must not hold.
    """

    text: str
    passage: int
    gold: frozenset[int]
    unsure: frozenset[int] = frozenset()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Passages and their questions."""

    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]


def load_corpus(folder: Path, *, held_out: bool) -> Corpus:
    """The training part, or the part kept for calibration and fusion.

    Args:
        folder: holds the four files of :data:`FILES`.
        held_out: which part.

    Raises:
        BadInput: if a file is missing.
    """
    passages: list[Passage] = []
    questions: list[Question] = []
    for source in FILES:
        for row in _rows(folder / FILES[source]):
            group = _group(source, row)
            if is_held_out(source, group) != held_out:
                continue
            passage, asked = _READERS[source](row, group, len(passages))
            if len(passage.sentences) > 1:
                passages.append(passage)
                questions.extend(one for one in asked if one.gold)
    return Corpus(tuple(passages), tuple(questions))


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every training file, by name."""
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES.values()
    }


def is_held_out(source: Source, group: str) -> bool:
    """Whether a group is kept from training; the same for NQ and QED, which share questions."""
    digest = hashlib.sha256(f"critic-1|{group}".encode()).hexdigest()
    return int(digest[:8], 16) % 100 < HELD_OUT_PERCENT[source]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise BadInput(f"expected the training file {path}; see `harness compress train --data`")
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _group(source: Source, row: dict[str, Any]) -> str:
    if source in ("nq", "qed"):
        return re.sub(r"\W+", " ", row["query"].lower()).strip()
    return row["meta"]["claim_title"] if source == "wice" else row["_meta"]["group"]


def _nq(row: dict[str, Any], group: str, at: int) -> tuple[Passage, list[Question]]:
    text = row["context"]
    bounds = sentence_spans(text, "en")
    sentences = tuple(text[start:end] for start, end in bounds)
    gold = _touched(bounds, row["spans"])
    answers = tuple(row["answers"])
    unsure = _holding(sentences, answers) - gold
    passage = Passage("nq", group, row.get("title", ""), sentences)
    return passage, [Question(row["query"], at, gold, unsure, answers)]


def _qed(row: dict[str, Any], group: str, at: int) -> tuple[Passage, list[Question]]:
    text, starts = row["context"], [*row["sentence_starts"], len(row["context"])]
    bounds = list(zip(starts, starts[1:], strict=False))
    sentences = tuple(_detokenised(text[start:end]) for start, end in bounds)
    answers = tuple(_detokenised(one) for one in row["answers"])
    gold = _touched(bounds, row["spans"])
    unsure = _holding(sentences, answers) - gold
    return Passage("qed", group, "", sentences), [Question(row["query"], at, gold, unsure, answers)]


def _wice(row: dict[str, Any], group: str, at: int) -> tuple[Passage, list[Question]]:
    sentences = tuple(one[:LONGEST_SENTENCE] for one in row["evidence"])
    gold = frozenset(place for chosen in row["supporting_sentences"] for place in chosen)
    return Passage("wice", group, group, sentences), [Question(row["claim"], at, gold)]


def _qmsum(row: dict[str, Any], group: str, at: int) -> tuple[Passage, list[Question]]:
    bounds = line_spans(row["context"])
    sentences = tuple(row["context"][start:end][:LONGEST_SENTENCE] for start, end in bounds)
    questions = [
        Question(one["query"], at, _touched(bounds, one["spans"])) for one in row["queries"]
    ]
    return Passage("qmsum", group, "", sentences), questions


_READERS = {"nq": _nq, "qed": _qed, "wice": _wice, "qmsum": _qmsum}


def line_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the lines that are not blank: the turns of a meeting."""
    return [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]


def _touched(
    bounds: Iterable[tuple[int, int]], spans: Iterable[tuple[int, int]]
) -> frozenset[int]:
    wanted = list(spans)
    return frozenset(
        at
        for at, (start, end) in enumerate(bounds)
        if any(start < last and first < end for first, last in wanted)
    )


def _holding(sentences: tuple[str, ...], answers: tuple[str, ...]) -> frozenset[int]:
    return frozenset(
        at
        for at, sentence in enumerate(sentences)
        if any(answer.lower() in sentence.lower() for answer in answers)
    )


def _detokenised(text: str) -> str:
    return _SPACED.sub("", text.strip()).replace(" -- ", " – ").replace(" - ", "-")

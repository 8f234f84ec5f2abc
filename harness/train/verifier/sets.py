"""Evaluation sets as claims with labels, split by source into a tuning part and the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TUNING_TENTHS = 3


@dataclass(frozen=True)
class Labelled:
    """A claim with the document that it is about.

    Attributes:
        name: the set.
        claim: one or several sentences.
        document: what it is checked against.
        supported: what people said.
        supporting: for WiCE, alternative sets of supporting sentences (offsets in the document).
    """

    name: str
    claim: str
    document: str
    supported: bool
    supporting: tuple[tuple[tuple[int, int], ...], ...] = ()

    @property
    def tuning(self) -> bool:
        """Whether it may be used for choosing: by its document alone."""
        return is_tuning(self.document)


def is_tuning(source: str) -> bool:
    """The split rule: SHA-256 of the document's text in UTF-8, as a number, modulo 10, below 3."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10 < TUNING_TENTHS


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def evaluation_sets(data: Path) -> dict[str, list[Labelled]]:
    """SummEdits, QAGS (both halves), WiCE and FaithBench from the folder of data sets."""
    found: dict[str, list[Labelled]] = {}
    for one in (
        *_summedits(data / "dev/summedits.jsonl"),
        *_qags(data / "dev/qags.jsonl"),
        *wice(data / "compression/dev/wice.jsonl", "wice"),
        *_faithbench(data / "dev/faithbench.jsonl"),
    ):
        found.setdefault(one.name, []).append(one)
    return found


def _summedits(path: Path) -> Iterator[Labelled]:
    for row in rows_of(path):
        yield Labelled("summedits", row["summary"], row["doc"], row["label"] == 1)


def _qags(path: Path) -> Iterator[Labelled]:
    """One claim per summary sentence; the majority of three workers decides."""
    for row in rows_of(path):
        for one in row["summary_sentences"]:
            yes = sum(reply["response"] == "yes" for reply in one["responses"])
            supported = 2 * yes > len(one["responses"])
            yield Labelled(f"qags_{row['dataset']}", one["sentence"], row["article"], supported)


def wice(path: Path, name: str) -> Iterator[Labelled]:
    """Fully supported against the rest; the evidence sentences stand one a line."""
    for row in rows_of(path):
        spans: list[tuple[int, int]] = []
        at = 0
        for sentence in row["evidence"]:
            spans.append((at, at + len(sentence)))
            at += len(sentence) + 1
        groups: list[list[int]] = row["supporting_sentences"]
        supporting = tuple(tuple(spans[one] for one in group) for group in groups)
        document = "\n".join(row["evidence"])
        yield Labelled(name, row["claim"], document, row["label"] == "supported", supporting)


def _faithbench(path: Path) -> Iterator[Labelled]:
    """Unsupported if any annotator marked an unwanted hallucination (the worst label counts)."""
    for row in rows_of(path):
        unwanted = any("Unwanted" in label for one in row["annotations"] for label in one["label"])
        yield Labelled("faithbench", row["summary"], row["source"], not unwanted)

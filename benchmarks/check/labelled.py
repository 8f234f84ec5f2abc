"""Labelled claims of SummEdits, QAGS, WiCE and FaithBench, and which of them may be chosen on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import grouped, read_rows

TUNING_TENTHS = 3


@dataclass(frozen=True)
class Labelled:
    """A claim with the document that it is about.

    Attributes:
        name: the set.
        claim: one or several sentences.
        document: what it is checked against.
        supported: as people judged.
    """

    name: str
    claim: str
    document: str
    supported: bool

    @property
    def tuning(self) -> bool:
        """True if it may be used for choosing: by its document alone."""
        return is_tuning(self.document)


def is_tuning(source: str) -> bool:
    """The split rule: SHA-256 of the document's text in UTF-8, as a number, modulo 10, below 3."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10 < TUNING_TENTHS


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file."""
    return [row for _, row in read_rows(path)]


def evaluation_sets(data: Path) -> dict[str, list[Labelled]]:
    """SummEdits, QAGS (both halves), WiCE and FaithBench from the folder of data sets."""
    return grouped((claim.name, claim) for claim in _claims(data))


def _claims(data: Path) -> Iterator[Labelled]:
    for row in rows_of(data / "dev/summedits.jsonl"):
        yield Labelled("summedits", row["summary"], row["doc"], row["label"] == 1)
    for row in rows_of(data / "dev/qags.jsonl"):
        # One claim per summary sentence; the majority of three workers decides.
        for part in row["summary_sentences"]:
            yes = sum(reply["response"] == "yes" for reply in part["responses"])
            supported = 2 * yes > len(part["responses"])
            yield Labelled(f"qags_{row['dataset']}", part["sentence"], row["article"], supported)
    for row in rows_of(data / "compression/dev/wice.jsonl"):
        # Fully supported against the rest; the evidence sentences stand one a line.
        yield Labelled(
            "wice", row["claim"], "\n".join(row["evidence"]), row["label"] == "supported"
        )
    for row in rows_of(data / "dev/faithbench.jsonl"):
        # Unsupported if any annotator marked an unwanted hallucination (the worst label counts).
        labels = [label for mark in row["annotations"] for label in mark["label"]]
        unwanted = any("Unwanted" in label for label in labels)
        yield Labelled("faithbench", row["summary"], row["source"], not unwanted)

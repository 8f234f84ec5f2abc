"""Labelled claims of the evaluation sets with their features, kept on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.rag.check import verify
from harness.rag.check.verify import Source, encode_states, features, fill, pooled, read
from harness.rag.retrieve import sentence_spans

TUNING_TENTHS = 3


@dataclass(frozen=True)
class Labelled:
    """A claim with the document that it is about.

    Attributes:
        name: the set.
        claim: one or several sentences.
        document: what it is checked against.
        supported: as people judged.
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
    sets: dict[str, list[Labelled]] = {}
    for claim in _claims(data):
        sets.setdefault(claim.name, []).append(claim)
    return sets


def _claims(data: Path) -> Iterator[Labelled]:
    for row in rows_of(data / "dev/summedits.jsonl"):
        yield Labelled("summedits", row["summary"], row["doc"], row["label"] == 1)
    for row in rows_of(data / "dev/qags.jsonl"):
        # One claim per summary sentence; the majority of three workers decides.
        for part in row["summary_sentences"]:
            yes = sum(reply["response"] == "yes" for reply in part["responses"])
            supported = 2 * yes > len(part["responses"])
            yield Labelled(f"qags_{row['dataset']}", part["sentence"], row["article"], supported)
    yield from wice(data / "compression/dev/wice.jsonl", "wice")
    for row in rows_of(data / "dev/faithbench.jsonl"):
        # Unsupported if any annotator marked an unwanted hallucination (the worst label counts).
        labels = [label for mark in row["annotations"] for label in mark["label"]]
        unwanted = any("Unwanted" in label for label in labels)
        yield Labelled("faithbench", row["summary"], row["source"], not unwanted)


def wice(path: Path, name: str) -> Iterator[Labelled]:
    """Fully supported against the rest; the evidence sentences stand one a line."""
    for row in rows_of(path):
        spans: list[tuple[int, int]] = []
        start = 0
        for sentence in row["evidence"]:
            spans.append((start, start + len(sentence)))
            start += len(sentence) + 1
        groups: list[list[int]] = row["supporting_sentences"]
        supporting = tuple(tuple(spans[number] for number in group) for group in groups)
        document = "\n".join(row["evidence"])
        yield Labelled(name, row["claim"], document, row["label"] == "supported", supporting)


Spans = list[tuple[int, int]]
_AT_ONCE = 50


@dataclass(frozen=True)
class Featured:
    """A labelled claim with its features, and the spans of the sentences that they look at."""

    claim: Labelled
    features: dict[str, float]
    nearest: Spans


def code_digest() -> str:
    """Digest of the code that makes features: others make others."""
    folder = Path(verify.__file__).parent
    files = [folder / f"{name}.py" for name in ("evidence", "verifier")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def featured(claims: Sequence[Labelled], cache: Path | None = None) -> list[Featured]:
    """Features of claims, in their order.

    Args:
        claims: with documents that hold text.
        cache: folder to keep them in; None keeps nothing.
    """
    file = cache / f"features-{code_digest()}.jsonl" if cache else None
    rows: dict[str, tuple[dict[str, float], Spans]] = {}
    if file and file.exists():
        *lines, torn = file.read_text().split("\n")
        if torn:  # the unfinished last line of a stopped run is taken off
            file.write_text("".join(f"{line}\n" for line in lines))
        rows = {key: (features, spans) for key, features, spans in map(json.loads, lines)}
    missing = [claim for claim in claims if _key(claim) not in rows]
    missing.sort(key=lambda claim: claim.document)
    for start in range(0, len(missing), _AT_ONCE):
        part = missing[start : start + _AT_ONCE]
        computed = dict(zip(map(_key, part), _compute(part), strict=True))
        rows |= computed
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as stream:
                stream.writelines(json.dumps([key, *row]) + "\n" for key, row in computed.items())
    return [
        Featured(claim, features, [(start, end) for start, end in spans])
        for claim in claims
        for features, spans in [rows[_key(claim)]]
    ]


def _key(claim: Labelled) -> str:
    return hashlib.sha256(f"{claim.claim}\0{claim.document}".encode()).hexdigest()[:24]


def _compute(claims: Sequence[Labelled]) -> list[tuple[dict[str, float], Spans]]:
    documents = dict.fromkeys(claim.document for claim in claims)
    sources = {text: Source(text) for text in documents if text.strip()}
    sentences = [
        [claim.claim[start:end] for start, end in sentence_spans(claim.claim)] for claim in claims
    ]
    fill(
        (sources[claim.document], sources[claim.document].candidates(read(text)))
        for claim, own in zip(claims, sentences, strict=True)
        for text in own
    )
    states = iter(encode_states([text for own in sentences for text in own]))
    rows: list[tuple[dict[str, float], Spans]] = []
    for claim, own in zip(claims, sentences, strict=True):
        source = sources[claim.document]
        pairs = [features(text, next(states), source) for text in own]
        spans = [(source.sentences[n].start, source.sentences[n].end) for n in pairs[0][1]]
        rows.append((pooled([row for row, _ in pairs]), spans))
    return rows

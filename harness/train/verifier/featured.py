"""Features of labelled claims, kept on disk: encoding the documents is what takes the time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.rag.check.verify import evidence, reading, states, stems, values, wordlists
from harness.rag.check.verify import features as features_module
from harness.rag.check.verify.evidence import Source, fill, open_source
from harness.rag.check.verify.features import features
from harness.rag.check.verify.model import pooled
from harness.rag.check.verify.reading import read
from harness.rag.check.verify.states import encode_states
from harness.rag.retrieve.sentences import sentence_spans
from harness.train.verifier.sets import Labelled

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
    modules = (evidence, features_module, reading, states, stems, values, wordlists)
    files = sorted(str(one.__file__) for one in modules)
    return hashlib.sha256(b"".join(Path(one).read_bytes() for one in files)).hexdigest()[:12]


def featured(claims: Sequence[Labelled], cache: Path | None = None) -> list[Featured]:
    """Features of claims, in their order.

    Args:
        claims: with documents that hold text.
        cache: folder to keep them in; None keeps nothing.
    """
    file = cache / f"features-{code_digest()}.jsonl" if cache else None
    known = _kept(file) if file else {}
    missing = [one for one in claims if _key(one) not in known]
    missing.sort(key=lambda one: one.document)
    for first in range(0, len(missing), _AT_ONCE):
        part = missing[first : first + _AT_ONCE]
        made = dict(zip(map(_key, part), _compute(part), strict=True))
        known |= made
        if file:
            _keep(file, made)
    return [
        Featured(one, found, [(a, b) for a, b in spans])
        for one in claims
        for found, spans in [known[_key(one)]]
    ]


def _kept(file: Path) -> dict[str, tuple[dict[str, float], Spans]]:
    """Features by key; the unfinished last line of a stopped run is taken off."""
    if not file.exists():
        return {}
    *lines, rest = file.read_text().split("\n")
    if rest:
        file.write_text("".join(f"{line}\n" for line in lines))
    return {key: (found, spans) for key, found, spans in map(json.loads, lines)}


def _keep(file: Path, made: Mapping[str, tuple[dict[str, float], Spans]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as kept:
        kept.writelines(json.dumps([key, *found]) + "\n" for key, found in made.items())


def _key(claim: Labelled) -> str:
    return hashlib.sha256(f"{claim.claim}\0{claim.document}".encode()).hexdigest()[:24]


def _compute(claims: Sequence[Labelled]) -> list[tuple[dict[str, float], Spans]]:
    opened = {one.document: open_source(one.document) for one in claims}
    sources = {text: source for text, source in opened.items() if source}
    sentences = [[one.claim[a:b] for a, b in sentence_spans(one.claim)] for one in claims]
    fill(
        (sources[one.document], sources[one.document].candidates(read(text)))
        for one, own in zip(claims, sentences, strict=True)
        for text in own
    )
    encoded = iter(encode_states([text for own in sentences for text in own]))
    found: list[tuple[dict[str, float], Spans]] = []
    for one, own in zip(claims, sentences, strict=True):
        source = sources[one.document]
        pairs = [features(text, next(encoded), source) for text in own]
        found.append((pooled([each for each, _ in pairs]), _spans(source, pairs[0][1])))
    return found


def _spans(source: Source, places: Sequence[int]) -> Spans:
    return [(source.sentences[at].start, source.sentences[at].end) for at in places]

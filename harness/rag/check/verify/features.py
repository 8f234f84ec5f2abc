"""What a claim has in common with a document, as numbers: the input of the classifier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from harness.rag.check.numbers import Agreement, Mention, agreement
from harness.rag.check.numbers import read as read_values
from harness.rag.check.verify.evidence import (
    Sentence,
    Sizes,
    Source,
    States,
    Vectors,
    key_of,
    size_of,
)
from harness.rag.check.verify.reading import (
    ABSOLUTES,
    HEDGES,
    NEGATIONS,
    Reading,
    pairs,
    read,
    related,
)

# Sentences of a document that a claim is compared with.
_NEAREST = 5


def features(text: str, states: States, source: Source) -> tuple[dict[str, float], list[int]]:
    """Features of a sentence of a claim against a document, and the sentences they look at."""
    claim = read(text)
    nearest = source.best(claim, states.sentence, _NEAREST)
    chosen = [source.sentences[place] for place in nearest]
    return {
        **_coverage(claim, source, chosen),
        **_copying(claim, source, chosen),
        **_polarity(claim, chosen),
        **_lexical(claim, chosen),
        **_vectors(states, [source.states[place] for place in nearest]),
        "values_missing": min(3, len(missing_values(text, source.values))),
        "words": min(60, len(claim.words)) / 60,
        "sentences": min(100, len(source.sentences)) / 100,
    }, nearest


def missing_values(claim: str, sizes: Sizes) -> list[Mention]:
    """Values written in digits that agree with none of a document's, by size alone.

    Which of two wordings is second is no question of numbers. Numbers in words are first out too: a
    summary counts what its document lists.

    Args:
        claim: its text.
        sizes: :attr:`Source.values` of the document.
    """
    missing: list[Mention] = []
    for mention in read_values(claim):
        size = size_of(mention)
        if not re.search(r"\d", mention.text) or key_of(size) in sizes:
            continue  # the key is looked up first: comparing with hundreds of values takes a while
        if all(agreement(size, stated) is not Agreement.SAME for stated in sizes.values()):
            missing.append(mention)
    return missing


def _share(part: float, total: float, empty: float = 1.0) -> float:
    return part / total if total else empty


def _coverage(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    content, names, dates = (
        [claim.stems[place] for place in places]
        for places in (claim.content, claim.names, claim.dates)
    )
    sets = [frozenset(sentence.reading.stems) for sentence in chosen]
    joined = frozenset[str]().union(*sets)
    top = [sum(word in stems for word in content) for stems in sets]
    couples = [sum(word in sets[0] | stems for word in content) for stems in sets[1:3]]
    near = frozenset(number for sentence in chosen for number in sentence.reading.numbers)
    first = frozenset(chosen[0].reading.numbers)
    missing = [word for word in content if word not in source]
    return {
        "cover_document": _share(len(content) - len(missing), len(content)),
        "cover_best": _share(max(top), len(content)),
        "cover_pair": _share(max(couples or top[:1]), len(content)),
        "cover_nearest": _share(sum(word in joined for word in content), len(content)),
        "missing": min(8, len(missing)),
        "missing_unrelated": min(8, sum(word not in source.related for word in missing)),
        "names": min(6, len(names)),
        "names_missing": min(6, sum(word not in source for word in names)),
        "names_far": _share(sum(word not in joined for word in names), len(names), 0),
        "names_beside_best": _share(sum(word not in sets[0] for word in names), len(names), 0),
        "dates_missing": min(3, sum(word not in source for word in dates)),
        "numbers": min(5, len(claim.numbers)),
        "numbers_missing": min(4, sum(number not in source.numbers for number in claim.numbers)),
        "numbers_far": min(4, sum(number not in near for number in claim.numbers)),
        "numbers_beside_best": min(4, sum(number not in first for number in claim.numbers)),
    }


def _copying(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    """How much is copied and in what order (Grusky et al. 2018: coverage and density)."""
    neighbours = pairs(claim.stems)
    runs = [
        [
            block.size
            for block in _matcher(claim.stems, sentence.reading.stems).get_matching_blocks()
        ]
        for sentence in chosen[:3]
    ]
    apart = [
        not source.places(first) & source.places(second)
        for first, second in pairs([claim.stems[place] for place in claim.content])
        if first in source and second in source
    ]
    words = max(1, len(claim.stems))
    return {
        "pairs": _share(sum(pair in source.pairs for pair in neighbours), len(neighbours)),
        "longest_copy": max(map(max, runs)) / words,
        "in_order": max(map(sum, runs)) / words,
        "density": max(sum(size * size for size in sizes) for sizes in runs) / words**2,
        "fragments": min(sum(size > 0 for size in sizes) for sizes in runs) / words,
        "never_together": _share(sum(apart), len(apart), 0),
    }


def _matcher(first: Sequence[str], second: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, first, second, autojunk=False)


def _polarity(claim: Reading, chosen: Sequence[Sentence]) -> dict[str, float]:
    best = chosen[0].reading
    up, down = claim.directions()
    best_up, best_down = best.directions()
    negations = claim.count(NEGATIONS) - best.count(NEGATIONS)
    anywhere = max(sentence.reading.count(NEGATIONS) for sentence in chosen[:3])
    hedges = claim.count(HEDGES) - best.count(HEDGES)
    flipped = (up > down and best_up < best_down) or (down > up and best_down < best_up)
    return {
        "negations": min(3, claim.count(NEGATIONS)),
        "negations_added": max(0, min(2, negations)),
        "negations_new": float(claim.count(NEGATIONS) > 0 and anywhere == 0),
        "negations_dropped": max(0, min(2, -negations)),
        "direction_flipped": float(flipped),
        "absolutes_added": max(0, claim.count(ABSOLUTES) - best.count(ABSOLUTES)),
        "hedges_added": max(0, hedges),
        "hedges_dropped": max(0, -hedges),
    }


def _lexical(claim: Reading, chosen: Sequence[Sentence]) -> dict[str, float]:
    """Substitutions in the alignment with the best sentences, by the relation of the words."""
    kinds = ("antonym", "antonym_anywhere", "synonym", "wider", "replaced", "inserted", "kind")
    counts = dict.fromkeys(kinds, 0.0)
    joined = frozenset(stem for sentence in chosen[:3] for stem in sentence.reading.stems)
    for place in claim.content:
        word = claim.stems[place]
        if word in joined:
            continue
        general = [related(stem, "wider") for stem in joined]
        counts["antonym_anywhere"] += bool(related(word, "opposite") & joined)
        counts["synonym"] += bool(related(word, "same") & joined)
        counts["wider"] += any(word in stems for stems in general)
        counts["kind"] += any(related(word, "wider") & stems for stems in general)
    best = chosen[0].reading
    for name, a, b, c, d in _matcher(best.stems, claim.stems).get_opcodes():
        new = [claim.stems[place] for place in range(c, d) if place in claim.content]
        old = set(best.stems[a:b])
        if name == "replace":
            counts["replaced"] += sum(word not in old for word in new)
            counts["antonym"] += sum(bool(related(word, "opposite") & old) for word in new)
        elif name == "insert":
            counts["inserted"] += len(new)
    return {f"words_{name}": min(8.0, count) for name, count in counts.items()}


def _vectors(claim: States, nearest: Sequence[States]) -> dict[str, float]:
    """Cosines of sentences and of tokens in context (greedy matching, Zhang et al. 2020)."""
    cosines = [float(states.sentence @ claim.sentence) for states in nearest]
    joined = np.sum([states.sentence for states in nearest[:2]], axis=0)
    tokens = claim.tokens.astype(np.float32)
    against = np.concatenate([states.tokens for states in nearest]).astype(np.float32)
    best = novel = np.ones(1, np.float32)
    if len(tokens) and len(against):
        matched = (tokens @ against.T).max(axis=1)
        pieces = frozenset(piece for states in nearest for piece in states.pieces)
        best = _of_long_pieces(matched, claim.pieces, frozenset())
        novel = _of_long_pieces(matched, claim.pieces, pieces)
    return {
        "cosine": cosines[0],
        "cosine_max": max(cosines),
        "cosine_pair": float(joined @ claim.sentence / max(1e-6, float(np.linalg.norm(joined)))),
        "token_mean": float(best.mean()),
        "token_min": float(best.min()),
        "token_low": float(np.quantile(best, 0.2)),
        "token_weak": float((best < 0.5).mean()),
        "novel_mean": float(novel.mean()),
        "novel_min": float(novel.min()),
    }


def _of_long_pieces(matched: Vectors, pieces: Sequence[str], familiar: frozenset[str]) -> Vectors:
    """Of the pieces of four letters and more that are not familiar; 1 where there is none."""
    chosen = np.array([len(piece) > 3 and piece not in familiar for piece in pieces], bool)
    return matched[chosen] if chosen.any() else np.ones(1, np.float32)

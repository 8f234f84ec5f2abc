"""What a claim has in common with a document, as numbers: the input of the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from harness.rag.check.verify.evidence import Sentence, Source
from harness.rag.check.verify.lexicon import antonyms, hypernyms, synonyms
from harness.rag.check.verify.reading import Reading, pairs, read
from harness.rag.check.verify.states import States
from harness.rag.check.verify.values import missing_values
from harness.rag.check.verify.wordlists import ABSOLUTES, HEDGES, NEGATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NEAREST = 5
"""Sentences of a document that a claim is compared with."""


def features(text: str, states: States, source: Source) -> tuple[dict[str, float], list[int]]:
    """Features of a sentence of a claim against a document, and the sentences they look at."""
    claim = read(text)
    nearest = source.best(claim, states.sentence, NEAREST)
    chosen = [source.sentences[at] for at in nearest]
    found: dict[str, float] = {}
    found |= _coverage(claim, source, chosen)
    found |= _copying(claim, source, chosen)
    found |= _polarity(claim, chosen)
    found |= _lexical(claim, source, chosen)
    found |= _vectors(states, [source.states[at] for at in nearest])
    found["values_missing"] = min(3, len(missing_values(text, source.values)))
    found["words"] = min(60, len(claim.words)) / 60
    found["sentences"] = min(100, len(source.sentences)) / 100
    return found, nearest


def _share(part: float, whole: float, empty: float = 1.0) -> float:
    return part / whole if whole else empty


def _coverage(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    content = [claim.stems[at] for at in claim.content]
    names = [claim.stems[at] for at in claim.names]
    dates = [claim.stems[at] for at in claim.dates]
    sets = [frozenset(one.reading.stems) for one in chosen]
    joined = frozenset[str]().union(*sets)
    top = [sum(word in own for word in content) for own in sets]
    couples = [sum(word in sets[0] or word in own for word in content) for own in sets[1:3]] or top[
        :1
    ]
    near = frozenset(number for one in chosen for number in one.reading.numbers)
    first = frozenset(chosen[0].reading.numbers)
    missing = [word for word in content if word not in source]
    return {
        "cover_document": _share(len(content) - len(missing), len(content)),
        "cover_best": _share(max(top), len(content)),
        "cover_pair": _share(max(couples), len(content)),
        "cover_nearest": _share(sum(word in joined for word in content), len(content)),
        "missing": min(8, len(missing)),
        "missing_unrelated": min(8, sum(word not in source.related for word in missing)),
        "names": min(6, len(names)),
        "names_missing": min(6, sum(word not in source for word in names)),
        "names_far": _share(sum(word not in joined for word in names), len(names), 0),
        "names_beside_best": _share(sum(word not in sets[0] for word in names), len(names), 0),
        "dates_missing": min(3, sum(word not in source for word in dates)),
        "numbers": min(5, len(claim.numbers)),
        "numbers_missing": min(4, sum(one not in source.numbers for one in claim.numbers)),
        "numbers_far": min(4, sum(one not in near for one in claim.numbers)),
        "numbers_beside_best": min(4, sum(one not in first for one in claim.numbers)),
    }


def _copying(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    """How much is copied and in what order (Grusky et al. 2018: coverage and density)."""
    own = pairs(claim.stems)
    runs = [
        [block.size for block in _matcher(claim.stems, one.reading.stems).get_matching_blocks()]
        for one in chosen[:3]
    ]
    content = [claim.stems[at] for at in claim.content]
    together = [
        bool(source.places(left) & source.places(right))
        for left, right in pairs(content)
        if left in source and right in source
    ]
    words = max(1, len(claim.stems))
    return {
        "pairs": _share(sum(pair in source.pairs for pair in own), len(own)),
        "longest_copy": max(max(sizes) for sizes in runs) / words,
        "in_order": max(sum(sizes) for sizes in runs) / words,
        "density": max(sum(size * size for size in sizes) for sizes in runs) / words**2,
        "fragments": min(sum(size > 0 for size in sizes) for sizes in runs) / words,
        "never_together": _share(sum(not one for one in together), len(together), 0),
    }


def _matcher(left: Sequence[str], right: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, left, right, autojunk=False)


def _polarity(claim: Reading, chosen: Sequence[Sentence]) -> dict[str, float]:
    best = chosen[0].reading
    up, down = claim.directions()
    best_up, best_down = best.directions()
    negated, best_negated = claim.count(NEGATIONS), best.count(NEGATIONS)
    anywhere = max(one.reading.count(NEGATIONS) for one in chosen[:3])
    return {
        "negations": min(3, negated),
        "negations_added": max(0, min(2, negated - best_negated)),
        "negations_new": float(negated > 0 and anywhere == 0),
        "negations_dropped": max(0, min(2, best_negated - negated)),
        "direction_flipped": float((up > down and best_up < best_down)
                                   or (down > up and best_down < best_up)),
        "absolutes_added": max(0, claim.count(ABSOLUTES) - best.count(ABSOLUTES)),
        "hedges_added": max(0, claim.count(HEDGES) - best.count(HEDGES)),
        "hedges_dropped": max(0, best.count(HEDGES) - claim.count(HEDGES)),
    }  # fmt: skip


def _lexical(claim: Reading, source: Source, chosen: Sequence[Sentence]) -> dict[str, float]:
    """Substitutions in the alignment with the best sentences, by the relation of the words."""
    counts = dict.fromkeys(
        ("antonym", "antonym_anywhere", "synonym", "wider", "replaced", "inserted", "kind"), 0.0
    )
    joined = frozenset[str]().union(*(frozenset(one.reading.stems) for one in chosen[:3]))
    for at in claim.content:
        word = claim.stems[at]
        if word in joined:
            continue
        counts["antonym_anywhere"] += bool(antonyms(word) & joined)
        counts["synonym"] += bool(synonyms(word) & joined)
        counts["wider"] += any(word in hypernyms(other) for other in joined)
        counts["kind"] += any(hypernyms(word) & hypernyms(other) for other in joined)
    best = chosen[0].reading
    for name, a, b, c, d in _matcher(best.stems, claim.stems).get_opcodes():
        new = [claim.stems[at] for at in range(c, d) if at in claim.content]
        old = set(best.stems[a:b])
        if name == "replace":
            counts["replaced"] += len([word for word in new if word not in old])
            counts["antonym"] += sum(bool(antonyms(word) & old) for word in new)
        elif name == "insert":
            counts["inserted"] += len(new)
    return {f"words_{name}": min(8.0, count) for name, count in counts.items()}


def _vectors(claim: States, nearest: Sequence[States]) -> dict[str, float]:
    """Cosines of sentences and of tokens in context (greedy matching, Zhang et al. 2020)."""
    import numpy as np

    cosines = [float(one.sentence @ claim.sentence) for one in nearest]
    joined = np.sum([one.sentence for one in nearest[:2]], axis=0)
    tokens = claim.tokens.astype(np.float32)
    against = np.concatenate([one.tokens for one in nearest]).astype(np.float32)
    best = np.ones(1, np.float32)
    novel = best
    if len(tokens) and len(against):
        matched = (tokens @ against.T).max(axis=1)
        known = frozenset(piece for one in nearest for piece in one.pieces)
        best = _of_long_pieces(matched, claim.pieces, frozenset())
        novel = _of_long_pieces(matched, claim.pieces, known)
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


def _of_long_pieces(matched: Vectors, pieces: Sequence[str], known: frozenset[str]) -> Vectors:
    """Of the pieces of four letters and more that are not known; 1 where there is none."""
    import numpy as np

    wanted = np.array([len(piece) > 3 and piece not in known for piece in pieces], bool)
    return matched[wanted] if wanted.any() else np.ones(1, np.float32)

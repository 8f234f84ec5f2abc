"""Which words mean the same, the opposite or the more general thing.

The packaged table is made from WordNet 3.1 by `harness.train.verifier.lexicon`; its licence lies
beside it. Keys and values are stems of single words.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

LEXICON = Path(__file__).parent.parent / "weights" / "lexicon.json.gz"
_Table = dict[str, frozenset[str]]


@cache
def _tables() -> tuple[_Table, _Table, _Table]:
    stored: dict[str, dict[str, list[str]]] = json.loads(gzip.decompress(LEXICON.read_bytes()))
    same, opposite, wider = (
        {word: frozenset(others) for word, others in stored[name].items()}
        for name in ("same", "opposite", "wider")
    )
    return same, opposite, wider


_NONE: frozenset[str] = frozenset()


def synonyms(stem: str) -> frozenset[str]:
    """Stems with a common meaning, derived words included."""
    return _tables()[0].get(stem, _NONE)


def antonyms(stem: str) -> frozenset[str]:
    """Stems with an opposite meaning; for adjectives also by way of the nearest opposed pair."""
    return _tables()[1].get(stem, _NONE)


def hypernyms(stem: str) -> frozenset[str]:
    """Stems with a more general meaning, one step up."""
    return _tables()[2].get(stem, _NONE)

"""Builds the packaged lexicon from WordNet's database files: which words mean the same or opposite.

    python -m lab.training.lexicon DICT_FOLDER

DICT_FOLDER holds `data.{noun,verb,adj,adv}` and `index.{...}` of WordNet 3.1 (Princeton; Fellbaum
1998).
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

from harness.rag.check.verify import LEXICON, stem
from harness.train.verifier.wordnet import read_senses, read_synsets


def build(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Stems that mean the same, the opposite, or the more general thing, by stem."""
    synsets = read_synsets(folder)
    same: dict[str, set[str]] = defaultdict(set)
    opposite: dict[str, set[str]] = defaultdict(set)
    wider: dict[str, set[str]] = defaultdict(set)
    for word, key in read_senses(folder):
        own, source = synsets[key], stem(word)
        same[source] |= _stems(own.words)
        for symbol, target, left, right in own.pointers:
            pointed = synsets[target]
            if symbol == "!" and (not left or own.words[left - 1].lower() == word):
                opposite[source].add(stem(pointed.words[max(0, right - 1)]))
            elif symbol == "&":  # a satellite: the opposites of its head, and its neighbours
                same[source] |= _stems(pointed.words[:2])
                opposite[source] |= {
                    stem(synsets[far].words[max(0, number - 1)])
                    for mark, far, _, number in pointed.pointers if mark == "!"
                }  # fmt: skip
            elif symbol == "+" and (not left or own.words[left - 1].lower() == word):
                same[source].add(stem(pointed.words[max(0, right - 1)]))
            elif symbol in ("@", "@i"):
                wider[source] |= _stems(pointed.words)
    tables = {"same": same, "opposite": opposite, "wider": wider}
    return {
        name: {word: related for word in sorted(table) if (related := sorted(table[word] - {word}))}
        for name, table in tables.items()
    }


def _stems(words: list[str]) -> set[str]:
    return {stem(word) for word in words if word.isalpha()}


def main(folder: str) -> None:
    """Write the lexicon; the same bytes from the same files."""
    text = json.dumps(build(Path(folder)), separators=(",", ":"), sort_keys=True)
    LEXICON.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])

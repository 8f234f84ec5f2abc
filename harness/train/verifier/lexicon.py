"""Builds the packaged lexicon from WordNet's database files: which words mean the same or opposite.

    python -m harness.train.verifier.lexicon DICT_FOLDER

DICT_FOLDER holds `data.{noun,verb,adj,adv}` and `index.{...}` of WordNet 3.1 (Princeton; Fellbaum
1998). The formats are those of its manual pages wndb(5WN) and senseidx(5WN).
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.rag.check.verify import LEXICON, stem

_PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_SENSES = 4
"""Senses of a word that count, most frequent first: rare ones make everything a synonym."""
Key = tuple[str, int]


@dataclass(frozen=True)
class Synset:
    """Words of one meaning, and its pointers (symbol, target, source word, target word)."""

    words: list[str]
    pointers: list[tuple[str, Key, int, int]]


def read_synsets(folder: Path) -> dict[Key, Synset]:
    """All synsets by part of speech and offset."""
    synsets: dict[Key, Synset] = {}
    for letter, part in _PARTS.items():
        for line in (folder / f"data.{part}").read_text().splitlines():
            if line.startswith("  "):
                continue
            fields = line.split(" | ")[0].split()
            count = int(fields[3], 16)
            words = [fields[4 + 2 * at].split("(")[0] for at in range(count)]
            after = 4 + 2 * count
            pointers = [
                (fields[at], (fields[at + 2].replace("s", "a"), int(fields[at + 1])),
                 int(fields[at + 3][:2], 16), int(fields[at + 3][2:], 16))
                for at in range(after + 1, after + 1 + 4 * int(fields[after]), 4)
            ]  # fmt: skip
            synsets[letter, int(fields[0])] = Synset(words, pointers)
    return synsets


def read_senses(folder: Path) -> Iterator[tuple[str, Key]]:
    """Every word with the synsets of its frequent senses."""
    for letter, part in _PARTS.items():
        for line in (folder / f"index.{part}").read_text().splitlines():
            if line.startswith("  "):
                continue
            fields = line.split()
            word, tagged = fields[0], int(fields[-int(fields[2]) - 1])
            offsets = fields[-int(fields[2]) :][:_SENSES]
            if word.isalpha() and (tagged or len(offsets) == 1):
                yield from ((word, (letter, int(offset))) for offset in offsets)


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
            other = synsets[target]
            if symbol == "!" and (not left or own.words[left - 1].lower() == word):
                opposite[source].add(stem(other.words[max(0, right - 1)]))
            elif symbol == "&":  # a satellite: what its head is opposed to, and its neighbours
                same[source] |= _stems(other.words[:2])
                opposite[source] |= {
                    stem(synsets[far].words[max(0, at - 1)])
                    for mark, far, _, at in other.pointers if mark == "!"
                }  # fmt: skip
            elif symbol == "+" and (not left or own.words[left - 1].lower() == word):
                same[source].add(stem(other.words[max(0, right - 1)]))
            elif symbol in ("@", "@i"):
                wider[source] |= _stems(other.words)
    tables = {"same": same, "opposite": opposite, "wider": wider}
    return {name: _tidy(table, same if name != "same" else {}) for name, table in tables.items()}


def _stems(words: list[str]) -> set[str]:
    return {stem(word) for word in words if word.isalpha()}


def _tidy(table: dict[str, set[str]], _known: object) -> dict[str, list[str]]:
    kept = {word: sorted(others - {word}) for word, others in table.items()}
    return {word: others for word, others in sorted(kept.items()) if others}


def main(folder: str) -> None:
    """Write the lexicon; the same bytes from the same files."""
    text = json.dumps(build(Path(folder)), separators=(",", ":"), sort_keys=True)
    LEXICON.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])

"""WordNet 3.1: its database files, and words to put in the place of others, same inflection.

A folder holds `data.{noun,verb,adj,adv}` and `index.{...}` (Princeton; Fellbaum 1998). The formats
are those of the manual pages wndb(5WN) and senseidx(5WN).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Relation = Literal["same", "opposite", "sibling"]
Key = tuple[str, int]
_PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_SENSES = 4  # of a word that count, most frequent first: rare ones make everything a synonym
_ENDINGS = ("ing", "ed", "s")


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
            words = [fields[4 + 2 * number].split("(")[0] for number in range(count)]
            after = 4 + 2 * count
            pointers = [
                (fields[i], (fields[i + 2].replace("s", "a"), int(fields[i + 1])),
                 int(fields[i + 3][:2], 16), int(fields[i + 3][2:], 16))
                for i in range(after + 1, after + 1 + 4 * int(fields[after]), 4)
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


@dataclass(frozen=True)
class Replacements:
    """Words by relation: of the most frequent sense, but opposites of any frequent one."""

    tables: dict[Relation, dict[str, list[str]]]

    def pick(self, word: str, relation: Relation, draw: random.Random) -> str | None:
        """Another word in the same inflection; None where there is none."""
        for base, ending in _bases(word.lower()):
            candidates = self.tables[relation].get(base)
            if candidates:
                chosen = _inflected(draw.choice(candidates), ending)
                return chosen.capitalize() if word[0].isupper() else chosen
        return None


def read_replacements(folder: Path) -> Replacements:
    """Replacements from WordNet's database files."""
    synsets = read_synsets(folder)
    seen: set[str] = set()
    tables: dict[Relation, dict[str, list[str]]] = {
        "same": defaultdict(list), "opposite": defaultdict(list), "sibling": defaultdict(list)
    }  # fmt: skip
    children: dict[tuple[str, int], list[str]] = defaultdict(list)
    for synset in synsets.values():
        for symbol, target, _, _ in synset.pointers:
            if symbol == "@" and synset.words[0].isalpha() and synset.words[0].islower():
                children[target].append(synset.words[0])
    for word, key in read_senses(folder):
        own = synsets[key]
        for symbol, target, source_word, target_word in own.pointers:
            if symbol == "!" and source_word and own.words[source_word - 1] == word:
                tables["opposite"][word].append(synsets[target].words[target_word - 1])
        if word in seen:
            continue
        seen.add(word)
        tables["same"][word] += [name for name in own.words if name != word and name.isalpha()]
        for symbol, target, _, _ in own.pointers:
            if symbol == "@" and len(children[target]) < 40:
                tables["sibling"][word] += [
                    name for name in children[target] if name not in own.words
                ]
    return Replacements(tables)


def _bases(word: str) -> list[tuple[str, str]]:
    bases = [(word, "")]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            cut = word.removesuffix(ending)
            bases += [(cut, ending), (cut + "e", ending)]
            if cut[-1] == cut[-2]:
                bases.append((cut[:-1], ending))
            if cut.endswith("i"):
                bases.append((cut[:-1] + "y", ending))
            if ending == "s" and cut.endswith("e"):
                bases.append((cut[:-1], ending))
    return bases


def _inflected(word: str, ending: str) -> str:
    if not ending:
        return word
    if ending == "s":
        if word.endswith("y") and word[-2:-1] not in "aeiou":
            return word[:-1] + "ies"
        return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
    if word.endswith("e"):
        return word[:-1] + ending
    if ending == "ed" and word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ied"
    return word + ending

"""Words to put in the place of others: from WordNet's files, in the same inflection."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.train.verifier.lexicon import read_senses, read_synsets

Relation = Literal["same", "opposite", "sibling"]
_ENDINGS = ("ing", "ed", "s")


@dataclass(frozen=True)
class Replacements:
    """Words by relation: of the most frequent sense, but opposites of any frequent one."""

    tables: dict[Relation, dict[str, list[str]]]

    def pick(self, word: str, relation: Relation, draw: random.Random) -> str | None:
        """Another word in the same inflection; None where there is none."""
        for base, ending in _bases(word.lower()):
            others = self.tables[relation].get(base)
            if others:
                found = _inflected(draw.choice(others), ending)
                return found.capitalize() if word[0].isupper() else found
        return None


def read_replacements(folder: Path) -> Replacements:
    """Replacements from WordNet's database files."""
    synsets = read_synsets(folder)
    first: dict[str, tuple[str, int]] = {}
    tables: dict[Relation, dict[str, list[str]]] = {
        "same": defaultdict(list), "opposite": defaultdict(list), "sibling": defaultdict(list)
    }  # fmt: skip
    children: dict[tuple[str, int], list[str]] = defaultdict(list)
    for one in synsets.values():
        for symbol, target, _, _ in one.pointers:
            if symbol == "@" and one.words[0].isalpha() and one.words[0].islower():
                children[target].append(one.words[0])
    for word, key in read_senses(folder):
        own = synsets[key]
        for symbol, target, left, right in own.pointers:
            if symbol == "!" and left and own.words[left - 1] == word:
                tables["opposite"][word].append(synsets[target].words[right - 1])
        if word in first:
            continue
        first[word] = key
        tables["same"][word] += [one for one in own.words if one != word and one.isalpha()]
        for symbol, target, _, _ in own.pointers:
            if symbol == "@" and len(children[target]) < 40:
                tables["sibling"][word] += [one for one in children[target] if one not in own.words]
    return Replacements(tables)


def _bases(word: str) -> list[tuple[str, str]]:
    found = [(word, "")]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2:
            cut = word.removesuffix(ending)
            found += [(cut, ending), (cut + "e", ending)]
            if cut[-1] == cut[-2]:
                found.append((cut[:-1], ending))
            if cut.endswith("i"):
                found.append((cut[:-1] + "y", ending))
            if ending == "s" and cut.endswith("e"):
                found.append((cut[:-1], ending))
    return found


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

"""Words of a text about to be sent that may be secrets: a person decides whether they are.

They look random, or they look like no word and stand where a line speaks of passwords or keys.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from harness.core.redaction import REDACTED
from harness.learn.tables import sign

# Characters of a word that is looked at; letters and digits in a row that a random word has (names
# join shorter words by marks); characters of a line whose words are looked at for what it says.
LEAST, PIECE, LONGEST = 20, 12, 500
# Entropy a character, and changes between small letters, capitals and digits a character, of a
# random piece: in names of programs and files they are rarer.
BITS, CHANGES = 3.0, 0.3
_WORD = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?<!sha256=)(?<!base64,)[A-Za-z0-9+/_-]{{{LEAST},}}={{0,2}}"
)
_HARMLESS = re.compile(
    r"[0-9a-fA-F-]+$"  # digests, commits, UUIDs
    r"|sha(?:1|256|384|512)-|AAAA[BCE][123]Nz"  # digests of packages, public keys
    r"|(?:toolu|call|msg|chatcmpl|resp|run|req|fc|rs)[_-]"  # what providers call their answers
)
_CLASSES = str.maketrans(
    {char: kind for kind, chars in zip("aA0", ("a-z", "A-Z", "0-9"), strict=True)
     for char in map(chr, range(ord(chars[0]), ord(chars[-1]) + 1))}
)  # fmt: skip


def random_words(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, word) of every word that looks random, digests and ids left out."""
    for number, line in enumerate(text.split("\n"), 1):
        for match in _WORD.finditer(line):
            word = match[0]
            if not _HARMLESS.match(word) and _is_random(word.rstrip("=")):
                yield number, word


def doubtful_words(text: str) -> list[tuple[int, str]]:
    """(line from 1, word) of every word that looks random, or that its line says is a secret."""
    doubtful = list(random_words(text))
    for number, line in enumerate(text.split("\n"), 1):
        words = [
            "".join(filter(None, m.groups())) for m in sign("told_secret").finditer(line[:LONGEST])
        ]
        if sign("secret_cue").search(line[:LONGEST]):
            words += [match[0] for match in sign("odd_word").finditer(line[:LONGEST])]
        doubtful += [(number, word) for word in words if REDACTED[1:-1] not in word]
    return list(dict.fromkeys(doubtful))


def _is_random(word: str) -> bool:
    piece = max(re.split(r"[+/_-]", word), key=len)
    if len(piece) < PIECE or piece.isalpha() or _HARMLESS.match(piece):
        return False
    changes = sum(a != b for a, b in pairwise(piece.translate(_CLASSES)))
    counts = Counter(piece).values()
    entropy = -sum(n / len(piece) * math.log2(n / len(piece)) for n in counts)
    return changes >= CHANGES * len(piece) and entropy >= BITS

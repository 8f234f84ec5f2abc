"""Tokens of a text without a tokenizer file: an estimate from above, named in every figure."""

from __future__ import annotations

import re
from functools import lru_cache

TOKENIZER = "harness-upper-estimate-1"
_PIECES = re.compile(r"[A-Za-z]+|[0-9]|[ \t]{2,}|[^\sA-Za-z0-9]")


def count_tokens(text: str) -> int:
    """A conservative count: at least what common BPE tokenizers give on English Markdown.

    A run of letters counts one token per started five letters, every digit and every other
    visible character one (characters beyond ASCII two), every line end and every run of spaces
    one. Single spaces merge into the word behind them. Against SmolLM2's tokenizer it gave 1.09
    to 1.63 times as many on Markdown, code and 223 recorded skill edits, never fewer.
    """
    lines = text.split("\n")
    return sum(map(_line_cost, lines)) + len(lines) - 1


@lru_cache(maxsize=65536)  # a patch is tried edit by edit: most lines come back every time
def _line_cost(line: str) -> int:
    return sum(_cost(piece) for piece in _PIECES.findall(line))


def _cost(piece: str) -> int:
    if piece[0].isascii() and piece[0].isalpha():
        return -(-len(piece) // 5)
    return 1 if piece[0].isascii() else 2

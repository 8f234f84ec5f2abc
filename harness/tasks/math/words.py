"""Answers that are words: what math-verify would read as a product of letters."""

from __future__ import annotations

import re

from harness.corpora import last_box

_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[^\W\d_][^\W\d_' -]*")


def same_words(gold: str, reply: str) -> bool:
    """Whether gold and the reply's last box, or the whole reply, are the same words.

    Only a gold answer that is text alone counts: letters outside `\\text{}` are variables, and `xy`
    is not `yx` as a word.
    """
    if _TEXT.sub("", gold).strip():
        return False
    wanted = _plain(gold)
    if not _WORDS.fullmatch(wanted):
        return False
    boxed = last_box(reply)
    return wanted == _plain(reply if boxed is None else boxed)


def _plain(text: str) -> str:
    inner = _TEXT.sub(r"\1", text).strip().strip("$").strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    return " ".join(inner.rstrip(".").casefold().split())

"""The thoughts that a model writes into its reply, and the reply without them.

Servers with a parser for it send a model's reasoning in a field of its own. Others leave it in the
text, between marks that depend on the model, of which the opening one may stand in the prompt and
the closing one may be cut off by the limit of tokens. A mark that the text only mentions, in code,
in quotes or in a sentence, is no thought.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning")
# Opening and closing marks; those of tags may have a prefix, such as `seed:`.
_PAIRS = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE))
    for opening, closing in (
        *((rf"<(?:\w+:)?{tag}>", rf"</(?:\w+:)?{tag}>") for tag in _TAGS),
        (r"\[THINK\]", r"\[/THINK\]"),
        ("◁think▷", "◁/think▷"),
        (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
        (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    )
)
# The channels of gpt-oss, also where a server has dropped the special tokens.
_CHANNEL = re.compile(
    r"\s*(?:<\|start\|>assistant)?<\|channel\|>|analysis(?=.*assistantfinal)", re.DOTALL
)
_FINAL = re.compile(
    r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>\w+\s*)?<\|message\|>|assistantfinal"
)
_TOKEN = re.compile(r"<\|(?:start|channel|message|end|return)\|>(?:assistant|analysis)?")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_QUOTES = frozenset("`'\"\u201c\u201d\u2018\u2019")
_BLANK, _LINE_END = re.compile(r"\s*"), re.compile(r"[ \t]*(?:\n|\Z)")
_LOOK_BACK = 100
_WITHIN = re.compile(r"[\w,;:(] ?\Z")
_ANY = re.compile(
    "|".join(
        [
            r"\Aanalysis(?=(?s:.*)assistantfinal)",
            *(mark.pattern for pair in _PAIRS for mark in pair),
            _FINAL.pattern,
            _TOKEN.pattern,
        ]
    ),
    re.IGNORECASE,
)


def separated(text: str) -> tuple[str, str]:
    """Return the thoughts in a reply, without their marks, and the reply without them."""
    spans = _spans(text)
    if not spans:
        return "", text
    thoughts, passages, position = list[str](), list[str](), 0
    for start, end in spans:
        thoughts.append(_ANY.sub("", text[start:end]).strip())
        passages.append(text[position:start])
        position = end
    remainder = "".join([*passages, text[position:]])
    return "\n\n".join(filter(None, thoughts)), remainder.strip()


def _spans(text: str) -> list[tuple[int, int]]:
    """Start and end of the thoughts in a reply, marks included, in order."""
    if _CHANNEL.match(text):
        final = _FINAL.search(text)
        if final is None:
            return [(0, len(text))]
        return [(0, final.end()), *(token.span() for token in _TOKEN.finditer(text, final.end()))]
    spans = list(_leading(text))
    if not spans and (end := _orphan_end(text)):
        spans = [(0, end)]
    return [*spans, *_on_own_lines(text, spans[-1][1] if spans else 0)]


def _leading(text: str) -> Iterator[tuple[int, int]]:
    """Thoughts that a reply begins with; without a closing mark all of it is thoughts."""
    start = 0
    while blank := _BLANK.match(text, start):
        pair = next((pair for pair in _PAIRS if pair[0].match(text, blank.end())), None)
        if pair is None:
            return
        opening, closing = pair
        end, position, depth = len(text), blank.end(), 0
        for mark in closing.finditer(text, position):
            if _quoted(text, mark):
                continue
            # Thoughts within thoughts close as often as they open, where they do.
            depth += len(opening.findall(text, position, mark.start())) - 1
            end = position = mark.end()
            if depth <= 0:
                break
        yield start, end
        start = end


def _orphan_end(text: str) -> int:
    """The end of thoughts whose opening mark stood in the prompt; 0 without any."""
    masked = _masked(text)
    for opening, closing in _PAIRS:
        first = opening.search(text)
        for mark in closing.finditer(masked, 0, first.start() if first else len(text)):
            if not _mentioned(masked, mark):
                with suppress(ValueError, RecursionError):
                    json.loads(text)
                    return 0
                return mark.end()
    return 0


def _on_own_lines(text: str, position: int) -> Iterator[tuple[int, int]]:
    """Thoughts between two parts of an answer: on lines of their own, and no example of some."""
    masked = _masked(text)
    spans: list[tuple[int, int]] = []
    for opening, closing in _PAIRS:
        end = position
        while (begun := opening.search(masked, end)) and (
            ended := closing.search(masked, begun.end())
        ):
            end = ended.end()
            before = masked[max(0, begun.start() - _LOOK_BACK) : begun.start()].rstrip(" \t")
            example = before.rstrip().endswith(":")
            if before.endswith("\n") and not example and _LINE_END.match(masked, end):
                spans.append((begun.start(), end))
    yield from sorted(spans)


def _masked(text: str) -> str:
    """The text with its code blotted out."""
    return _CODE.sub(lambda code: "\0" * len(code[0]), text)


def _quoted(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return before in _QUOTES and after in _QUOTES


def _mentioned(text: str, mark: re.Match[str]) -> bool:
    """Return True if a sentence speaks of the mark."""
    before = text[max(0, mark.start() - 2) : mark.start()]
    after = text[mark.end() : mark.end() + 2]
    sentence = _WITHIN.search(before) and re.match(r" [a-z]| ?[.,;:)]", after)
    return _quoted(text, mark) or bool(sentence)

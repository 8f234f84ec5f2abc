"""Text from elsewhere: as it may reach a terminal, and as it is compared.

On a terminal it moves no cursor and hides nothing.
Models, skills, documents and logs may hold control characters, escapes among them, and marks that
turn the direction of writing. All of them are shown as codes; only lines and tabs stay.

Models, word processors and keyboards also write one sign in several ways: a minus as U+2212, an
apostrophe as U+2019, a thousands separator as a narrow space. Before texts and numbers are compared
:func:`plain` makes these one; what says something else stays: superscripts (10² is not 102) and
fractions.
"""

from __future__ import annotations

import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

KNOWN = 3
"""Items that say how long the next ones take."""
_CONTROL = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    "|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

SAME_SIGN: dict[int, int] = {
    **dict(zip(range(0xFF01, 0xFF5F), range(0x21, 0x7F), strict=True)),  # full-width forms
    **str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९", "0123456789" * 3),
    **dict.fromkeys((0x2212, 0x2010, 0x2011, 0xFE63), ord("-")),
    **dict.fromkeys((0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), ord(" ")),
    **dict.fromkeys((0x2019, 0x02BC), ord("'")),
    **str.maketrans("\u066b\u066c\u2044", ".,/"),
}
"""Characters that are an ASCII one in another font or script; one for one, so offsets hold."""
_INVISIBLES = (
    "\xad\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
PRINTS_ALIKE: dict[int, int] = {
    **SAME_SIGN,
    **str.maketrans("\u2012\u2013\u2014\u2015。、", "----.,"),
    **dict.fromkeys(map(ord, "\u2018\u201a\u201b\u2032\u2039\u203a\u00b4"), ord("'")),
    **dict.fromkeys(
        map(ord, "\u201c\u201d\u201e\u201f\u2033«»「」『』《》〈〉\u301d\u301e"), ord('"')
    ),
}
"""The same with dashes and quotation marks; one for one, too."""
_PLAIN: dict[int, int | None] = {**PRINTS_ALIKE, **dict.fromkeys(map(ord, _INVISIBLES))}
_SAFE = ("<compat>", "<wide>", "<narrow>", "<noBreak>", "<font>", "<square>", "<small>")
# A space that stands in a number parts thousands; LaTeX writes the same as {,} and \,
_SPACED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:[\u00a0\u2006-\u200a\u202f]\d{3})+(?![\d\u00a0\u2006-\u200a\u202f]\d)"
)
_LATEX = re.compile(r"(?<=\d)(?:\{,\}|\\[,;:!])(?=\d{3}(?!\d))")


class Shown(str):
    """Text whose foreign parts are printable already: escapes in it are ours."""

    __slots__ = ()


def printable(text: str) -> str:
    """A text with control characters as codes such as `\\x1b`; one that is `Shown` stays."""

    def code(match: re.Match[str]) -> str:
        number = ord(match[0])
        return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

    return text if isinstance(text, Shown) else _CONTROL.sub(code, text)


def printable_json(text: str) -> str:
    """JSON in which such characters are written as JSON's own escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def hyperlink(text: str, uri: str) -> Shown:
    """A text that opens a URI where the terminal can do that (OSC 8)."""
    return Shown(f"\x1b]8;;{printable(uri)}\x1b\\{printable(text)}\x1b]8;;\x1b\\")


def shown(parts: Iterable[str], separator: str = "\n") -> Shown:
    """Parts, each printable, as one text."""
    return Shown(separator.join(map(printable, parts)))


def command_line(*words: object) -> str:
    """A command of ours as it is typed: every word quoted for the shell."""
    return shlex.join(["harness", *map(str, words)])


def dollars(cost_usd: float | None) -> str:
    """A cost for people; None is unknown, which is not nothing."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}"


def tokens_text(tokens: int, calls: int, unreported: int) -> str:
    """Tokens of so many calls, of which the server did not report the usage of `unreported`."""
    if not unreported:
        return f"{tokens:,} tokens"
    if unreported == calls:
        return f"usage not reported by the server ({calls:,} calls)"
    return f"{tokens:,} tokens, usage of {unreported:,} of {calls:,} calls not reported"


def span(seconds: float) -> str:
    """A time as people say it: `40 s`, `12 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def time_left(seconds: float, done: int, total: int) -> str:
    """`3 min left` once that is known, at the end the time used, "" before."""
    if done == total:
        return span(seconds)
    return f"{span(seconds / done * (total - done))} left" if done >= KNOWN else ""


def plain(text: str) -> str:
    """Return `text` with one form of characters that print alike; twice is as once.

    Compatibility forms (NFKC) are taken where they keep the meaning: full-width forms, ligatures
    and units in one character, no superscripts and no fractions. Dashes and minus signs become
    "-", quotation marks ' or ", invisible characters go, and so do spaces that part thousands.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = _SPACED.sub(lambda number: re.sub(r"\D", "", number[0]), text)
        text = "".join(map(_wide, text.translate(_PLAIN)))
        text = unicodedata.normalize("NFC", text)
    return _LATEX.sub(",", text)


def _wide(sign: str) -> str:
    """A character by its compatibility form, where that keeps the meaning."""
    tag, *codes = unicodedata.decomposition(sign).split() or [""]
    if tag not in _SAFE or (codes[0] == "0020" and len(codes) > 1):  # an accent by itself
        return sign
    return plain("".join(chr(int(code, 16)) for code in codes))


@contextmanager
def prompted(
    prompt: str, complete: Callable[[str], list[str]], history: Path
) -> Generator[Iterable[str]]:
    """Lines that the user types, until the end of the input; the history is kept in a file.

    GNU readline edits and completes them, where Python has it and a terminal is there.
    """
    if not sys.stdin.isatty() or find_spec("readline") is None:
        yield _lines(prompt)
        return
    import readline

    if history.is_file():
        readline.read_history_file(history)
    readline.set_completer(lambda start, number: [*complete(start), None][number])
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield _lines(prompt)
    finally:
        history.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(1000)
        readline.write_history_file(history)


def _lines(prompt: str) -> Generator[str]:
    while True:
        try:
            yield input(prompt)
        except EOFError:
            return
        except KeyboardInterrupt:
            print()

"""Bytes to characters."""

from __future__ import annotations

import codecs
from importlib import import_module
from typing import Any

from harness.core import BadInput

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 20


def decode(name: str, data: bytes, encoding: str | None) -> tuple[str, str | None]:
    """(text, warning): UTF-8, or what a byte-order mark says, or a named or guessed encoding.

    A guess (charset-normalizer) always comes with a warning.

    Raises:
        BadInput: if the bytes are not of the named encoding, or nothing fits them.
    """
    marked = next((known for mark, known in _MARKS if data.startswith(mark)), None)
    chosen = encoding or marked or "utf-8"
    try:
        return data.decode(chosen), None
    except LookupError as error:
        raise BadInput(f"unknown encoding {chosen!r}: expected a name such as cp1252") from error
    except UnicodeDecodeError as error:
        if encoding or marked:
            raise BadInput(f"{name!r} is not {chosen} text: {error}") from error
        fault = str(error)
    guess: Any = import_module("charset_normalizer").from_bytes(data[:_SAMPLE]).best()
    if guess is not None:
        try:
            text = data.decode(guess.encoding)
        except UnicodeDecodeError:
            guess = None
        else:
            return text, f"not UTF-8: read as {guess.encoding}, which is a guess (--encoding)"
    raise BadInput(
        f"{name!r} is neither UTF-8 nor any encoding that could be guessed ({fault}): "
        "name its encoding (--encoding)"
    )

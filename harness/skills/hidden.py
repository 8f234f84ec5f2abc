"""Text that a model reads and a person does not see, or cannot read."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

# Zero-width and format characters, bidirectional controls, blank letters, tag characters and the
# variation selectors that can carry bytes. U+200D stays out: emoji are joined by it (see below).
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_JOINED = re.compile("(?:[\\w\\s]\u200d|\u200d[\\w\\s])")
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_LINK_COMMENT = re.compile(r"(?m)^[ ]{0,3}\[(?://|comment|_)\]:\s*\S+\s+(.+)$", re.IGNORECASE)
_BASE64 = re.compile(r"(?<![\w/+-])[A-Za-z0-9+/_-]{64,}={0,2}")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}){16,}|(?:%[0-9a-fA-F]{2}){16,}")
HEX = re.compile(r"[0-9a-fA-F]+")


def invisible(line: str) -> bool:
    """Whether a line holds characters that are not shown, or that reorder what is shown."""
    return bool(_INVISIBLE.search(line) or _JOINED.search(line))


def comments(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, text) of HTML comments and of link definitions used as comments."""
    for pattern in (_COMMENT, _LINK_COMMENT):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def encoded_blobs(line: str) -> list[str]:
    """Long runs that decode as base64, or long runs of byte escapes; digests are none."""
    return [
        match.group() for match in _BASE64.finditer(line) if _is_base64(match.group())
    ] + _ESCAPES.findall(line)


def _is_base64(text: str) -> bool:
    """Words and paths are long runs too: base64 mixes cases and digits, and decodes."""
    bare = text.rstrip("=")
    if HEX.fullmatch(bare):
        return len(bare) > 128  # SHA-512 is 128 digits
    kinds = (any(map(str.isupper, bare)), any(map(str.islower, bare)), any(map(str.isdigit, bare)))
    if not all(kinds) or max(map(len, re.split(r"[^a-z]", bare))) > 12:
        return False
    plain = bare.replace("-", "+").replace("_", "/")
    try:
        base64.b64decode(plain[: len(plain) // 4 * 4], validate=True)
    except binascii.Error:
        return False
    return True

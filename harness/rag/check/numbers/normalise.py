"""Characters as the readers expect them, one for one, so that offsets stay those of the text."""

from __future__ import annotations

_ONE_FOR_ONE = {
    **{0xFF10 + digit: str(digit) for digit in range(10)},  # full-width digits
    **{0x0660 + digit: str(digit) for digit in range(10)},  # Arabic-Indic digits
    **{0x06F0 + digit: str(digit) for digit in range(10)},
    **{0x0966 + digit: str(digit) for digit in range(10)},  # Devanagari digits
    **dict.fromkeys((0x2212, 0xFF0D, 0x2010, 0x2011, 0xFE63), "-"),
    **dict.fromkeys((0x00A0, 0x2007, 0x2009, 0x202F, 0x2008, 0x3000), " "),
    **dict.fromkeys((0x2019, 0x02BC, 0xFF07), "'"),
    **{code: chr(code - 0xFEE0) for code in (0xFF0C, 0xFF0E, 0xFF05, 0xFF0B, 0xFF04, 0xFF0F)},
    **{0xFF21 + at: chr(ord("A") + at) for at in range(26)},
    **{0xFF41 + at: chr(ord("a") + at) for at in range(26)},
    0x066B: ".",
    0x066C: ",",
    0x2044: "/",
    0xFF08: "(",
    0xFF09: ")",
}


def normalise(text: str) -> str:
    """`text` with full-width and foreign digits, signs and spaces as ASCII; of the same length."""
    return text if text.isascii() else text.translate(_ONE_FOR_ONE)

"""An answer as one static HTML file: its citations open the passage, highlighted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from harness.core import render_page, write_atomic
from harness.rag.ask.types import Answer, Citation

TEMPLATE = Path(__file__).parent / "templates" / "answer.html.j2"
_MARK = re.compile(r"\[(\d+)\]")


class Piece(NamedTuple):
    """Text of the answer, or the number of a citation in it."""

    text: str
    number: int | None


def write_answer(answer: Answer, out: Path) -> None:
    """Write an answer as the HTML file `out`; nothing is loaded from elsewhere.

    Raises:
        BadInput: if it cannot be written.
    """
    write_atomic(
        out, render_page(TEMPLATE, answer=answer, pieces=pieces(answer), shown=shown(answer))
    )


def pieces(answer: Answer) -> list[Piece]:
    """The answer, cut at its citations."""
    known = {one.number for one in answer.citations}
    parts = _MARK.split(answer.answer or "")
    found: list[Piece] = []
    for at, part in enumerate(parts):
        if at % 2 and int(part) in known:
            found.append(Piece(f"[{part}]", int(part)))
        elif part:
            found.append(Piece(f"[{part}]" if at % 2 else part, None))
    return found


def shown(answer: Answer) -> list[tuple[Citation, bool]]:
    """What the page lists, and whether the answer cites it: citations first, then the rest."""
    cited = list(answer.citations)
    if answer.method == "extract":  # its numbers are those of sentences, not of passages
        return [(one, True) for one in cited]
    numbers = {one.number for one in cited}
    rest = [(one, False) for one in answer.passages if one.number not in numbers]
    return [(one, True) for one in cited] + rest

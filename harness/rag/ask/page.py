"""An answer as one static HTML file: its citations open the passage, highlighted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from harness.core import render_page, write_atomic
from harness.rag.ask.types import Answer, Citation

TEMPLATE = Path(__file__).parent / "templates" / "answer.html.j2"


class Piece(NamedTuple):
    """Text of the answer, or the number of a citation in it."""

    text: str
    number: int | None


def write_answer(answer: Answer, out: Path) -> None:
    """Write an answer as the HTML file `out`; nothing is loaded from elsewhere.

    Raises:
        BadInput: if it cannot be written.
    """
    page = render_page(TEMPLATE, answer=answer, pieces=pieces(answer), shown=shown(answer))
    write_atomic(out, page)


def pieces(answer: Answer) -> list[Piece]:
    """The answer, cut at its citations."""
    numbers = {f"[{citation.number}]": citation.number for citation in answer.citations}
    parts = re.split(r"(\[\d+\])", answer.answer or "")
    return [Piece(part, numbers.get(part)) for part in parts if part]


def shown(answer: Answer) -> list[tuple[Citation, bool]]:
    """List the page's passages, citations first, and mark those that the answer cites."""
    cited = [(citation, True) for citation in answer.citations]
    if answer.method == "extract":  # its numbers are those of sentences, not of passages
        return cited
    numbers = {citation.number for citation in answer.citations}
    return cited + [
        (passage, False) for passage in answer.passages if passage.number not in numbers
    ]

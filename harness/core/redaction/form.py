"""Forms of secrets, and the kinds that a text can hold.

Every search takes time in proportion to the text: a pattern starts only where a run of its
characters starts, or it looks at a bounded number of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

Span = tuple[int, int]
Find = Callable[[str], Iterator[Span]]

SHORTEST_RUN = 14
"""Characters of the shortest token that its first ones give away."""
_RUN_BYTES = bytes(
    code if code < 128 and (chr(code).isalnum() or chr(code) in "_-.~") else ord(" ")
    for code in range(256)
)


@dataclass(frozen=True)
class Form:
    """The form of a kind of secret.

    Attributes:
        kind: its name; several forms may share one.
        find: where it stands in a text.
        hints: a text that holds none of these, in lower case, holds no secret of this form. Without
            any, every text is searched.
        run: of a token, what a long run of letters, digits and `_-.~` must hold, too; its hints are
            looked for in those runs, as they are written.
    """

    kind: str
    find: Find
    hints: tuple[str, ...] = ()
    run: str = ""


class FormTable:
    """Forms in the order in which they are searched.

    Args:
        forms: of all kinds that are looked for.
    """

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self._by_word: dict[str, list[int]] = {}
        self._by_run: dict[str, list[int]] = {}
        for index, form in enumerate(forms):
            table = self._by_run if form.run else self._by_word
            for hint in form.hints:
                table.setdefault(hint, []).append(index)
        self._always = [n for n, form in enumerate(forms) if not form.hints and not form.run]

    def possible(self, text: str) -> list[Form]:
        """The forms that a text can hold."""
        folded = text.lower()
        numbers = set(self._always)
        for hint, indices in self._by_word.items():
            if hint in folded:
                numbers.update(indices)
        words = text.encode("latin-1", "replace").translate(_RUN_BYTES).split()
        if long := [word for word in words if len(word) >= SHORTEST_RUN]:
            runs = b" ".join(long).decode()
            for hint, indices in self._by_run.items():
                if hint in runs:
                    numbers.update(n for n in indices if compiled(self._forms[n].run).search(runs))
        return [self._forms[number] for number in sorted(numbers)]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed."""
    return re.compile(pattern)


def by(pattern: str) -> Find:
    """Finds a pattern: its group `value` or `bare` where it has one of them, else all of it."""

    def find(text: str) -> Iterator[Span]:
        for match in compiled(pattern).finditer(text):
            groups = match.groupdict()
            name = next((name for name in ("value", "bare") if groups.get(name) is not None), 0)
            yield match.span(name)

    return find


def form(kind: str, *pattern: str, hints: str | tuple[str, ...] = ()) -> Form:
    """A form of a pattern, written in pieces.

    Args:
        kind: its name.
        pattern: joined.
        hints: words between blanks, or a tuple of them.
    """
    words = tuple(hints.split()) if isinstance(hints, str) else hints
    return Form(kind, by("".join(pattern)), words)

"""Output for people on a terminal: bars, tables and colour; plain lines in pipes.

Bars and tables are rich's, which is imported when there is one to draw. Every text of others goes
through the filter of :mod:`harness.core.terminal`, and none is read as markup.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

import click

from harness.core.terminal import Shown, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

GOOD, BAD, DOUBT = "green", "red", "yellow"
STYLES = {
    "pass": GOOD, "passed": GOOD, "accepted": GOOD, "ok": GOOD, "pulled": GOOD, "helps": GOOD,
    "fail": BAD, "failed": BAD, "refused": BAD, "hurts": BAD, "error": BAD,
    "invalid": DOUBT, "warning": DOUBT, "missing": DOUBT,
}  # fmt: skip
"""Colours of the words that say how something ended."""
SHORT = 16
"""Characters of cells that are never cut, such as a date's."""


def on_terminal(*, err: bool = False) -> bool:
    """Return True if stdout, or stderr, is a terminal that can rewrite a line."""
    stream = sys.stderr if err else sys.stdout
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def tinted(text: str, style: str | None = None) -> Shown:
    """A text in a colour, by default that of its first word; without `NO_COLOR`, on a terminal.

    Where a stream is no terminal, what prints it takes the colour out.
    """
    first = (text.split() or [""])[0]
    colour = STYLES.get(first, "") if style is None else style
    if not colour or os.environ.get("NO_COLOR"):
        return Shown(printable(text))
    return Shown(click.style(printable(text), fg=colour))


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, str] = STYLES,
) -> str:
    """Rows under heads; of a column whose head ends in `#` the numbers are aligned.

    A table on a terminal, whose colours are those of whole cells in `styles`; elsewhere a line a
    row, with columns of the same width.
    """
    numeric = [head.endswith("#") for head in heads]
    heads = [head.removesuffix("#") for head in heads]
    rows = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
    if not on_terminal():
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        aligned = [
            [
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, numeric, strict=True)
            ]
            for row in (heads, *rows)
        ]
        return "\n".join("  ".join(row).rstrip() for row in aligned)
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for head, number, *column in zip(heads, numeric, *rows, strict=True):
        # Names in the first column are there to be copied.
        short = head == heads[0] or max(map(len, column), default=0) <= SHORT
        side = "right" if number else "left"
        drawn.add_column(Text(head), justify=side, overflow="fold", no_wrap=short)
    for row in rows:
        drawn.add_row(*(Text(cell, style=styles.get(cell, "")) for cell in row))
    screen = Console(file=StringIO(), force_terminal=True)
    with screen.capture() as capture:
        screen.print(drawn)
    return Shown("\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n")))


def fact_lines(pairs: Iterable[tuple[str, Any]]) -> list[str]:
    """`name: value` for people, without what there is none of; a list has a line an item."""
    return [
        f"{name.replace('_', ' ')}: {_in_words(value)}"
        for name, value in pairs
        if value is not None and value not in ("", [], (), {})
    ]


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return ", ".join(f"{name.replace('_', ' ')} {_in_words(inner)}" for name, inner in pairs)
    if isinstance(value, list | tuple):
        return "".join(f"\n  {_in_words(item)}" for item in cast("list[Any]", value))
    return str(value)


class Bars:
    """Bars on stderr, one for each label, while work is going on."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._tasks: dict[str, TaskID] = {}
        self._progress: Progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}", markup=False),
            TextColumn("{task.fields[passed]}", markup=False, style=GOOD),
            TextColumn("{task.fields[invalid]}", markup=False, style=DOUBT),
            TextColumn("{task.fields[more]}", markup=False, style="dim"),
            console=Console(stderr=True, highlight=False),
            refresh_per_second=4,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._progress.start()

    def show(
        self,
        label: str,
        done: int,
        total: int,
        *,
        passed: int | None = None,
        invalid: int = 0,
        more: str,
    ) -> None:
        """Draw how far the work of a label is; the bars end when all of it is done."""
        fields: dict[str, Any] = {
            "count": f"{done}/{total}",
            "passed": "" if passed is None else f"{passed} passed",
            "invalid": f"{invalid} invalid" if invalid else "",
            "more": printable(more),
        }
        if label not in self._tasks:
            self._tasks[label] = self._progress.add_task(printable(label), total=total, **fields)
        self._progress.update(self._tasks[label], completed=done, total=total, **fields)

    def above(self, text: str) -> None:
        """Print a text, printable already, above the bars."""
        from rich.text import Text

        self._progress.console.print(Text.from_ansi(text), soft_wrap=True)

    def end(self) -> None:
        """Leave the bars as they are, and the cursor below them."""
        self._progress.stop()


_drawn: list[Bars] = []


def bars() -> Bars | None:
    """The bars of this process, begun where there are none; None where stderr is no terminal."""
    if not _drawn:
        if not on_terminal(err=True):
            return None
        _drawn.append(Bars())
        context = click.get_current_context(silent=True)
        (atexit.register if context is None else context.call_on_close)(end_bars)
    return _drawn[0]


def drawn_bars() -> Bars | None:
    """The bars that are there now."""
    return _drawn[0] if _drawn else None


def end_bars() -> None:
    """End the bars: what is printed next begins on a line of its own."""
    while _drawn:
        _drawn.pop().end()

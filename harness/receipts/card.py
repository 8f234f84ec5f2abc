"""A receipt as one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from harness.core import write_atomic
from harness.core.pages import render_page
from harness.receipts.receipt import Receipt

TEMPLATE = Path(__file__).parent / "templates" / "receipt.html.j2"


def write_card(receipt: Receipt, path: Path) -> None:
    """Write the card of a receipt."""
    write_atomic(path, card(receipt))


def card(receipt: Receipt) -> str:
    """The card: the same receipt, the same bytes."""
    ends = [abs(end) for unit in receipt.units for end in (unit.effect.low, unit.effect.high)]
    return render_page(TEMPLATE, receipt=receipt, most=max([5.0, *ends]))

"""Finished attempts of eval and evolve runs: replayed from what was recorded, then gone on with."""

from __future__ import annotations

from harness.debug.attempts.finding import Found, find_item
from harness.debug.attempts.opening import Item, Settings, open_item

__all__ = ["Found", "Item", "Settings", "find_item", "open_item"]

"""Indexes kept by other stores, for what outgrows a machine: Qdrant and LanceDB (extras)."""

from __future__ import annotations

from harness.retrieve.stores.base import Found, Store, StoreIndex, TermCounts
from harness.retrieve.stores.lance import open_lance
from harness.retrieve.stores.qdrant import open_qdrant

__all__ = ["Found", "Store", "StoreIndex", "TermCounts", "open_lance", "open_qdrant"]

"""Graph state on disk: a LangGraph checkpoint saver that keeps each value once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.checkpoints.opening import open_saver, open_store

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore as CheckpointStore

__all__ = ["open_saver", "open_store"]

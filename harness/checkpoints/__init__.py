"""Graph state on disk."""

from __future__ import annotations

from harness.checkpoints.sqlite import open_saver

__all__ = ["open_saver"]

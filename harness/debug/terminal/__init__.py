"""The debugger in a terminal."""

from __future__ import annotations

from harness.debug.terminal.session import Terminal

__all__ = ["Terminal"]

"""Where things that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`HARNESS_CACHE`, else `agent-skill-harness` in the user's cache folder (XDG)."""
    chosen = os.environ.get("HARNESS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "agent-skill-harness"

"""How benchmarks hand over what they measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core import write_atomic


def report(result: Mapping[str, Any], out: Path | None) -> None:
    """Print a result as JSON, and write it to a file where one is named."""
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        write_atomic(out, text + "\n")

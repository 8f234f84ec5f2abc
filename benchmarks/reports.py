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


def add_run(found: Mapping[str, Any], out: Path, *same: str, **head: Any) -> None:
    """Add a run to a file of runs; it takes the place of one that is equal in the fields `same`."""
    old: dict[str, Any] = json.loads(out.read_text()) if out.is_file() else {}
    kept = [one for one in old.get("runs", []) if any(one[key] != found[key] for key in same)]
    write_atomic(out, json.dumps({**head, "runs": [*kept, found]}, indent=1) + "\n")

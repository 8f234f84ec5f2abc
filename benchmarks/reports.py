"""What benchmarks share: their options, and how they hand over what they measured."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import write_atomic


def option(**settings: Any) -> dict[str, Any]:
    """An option that needs more than a default, as `ArgumentParser.add_argument` takes it."""
    return settings


def read_options(description: str | None, **options: Any) -> argparse.Namespace:
    """Read the options of a benchmark from its command line.

    Args:
        description: shown by `--help`.
        options: by name, each the default that is used without it; True or False is a flag, a
            list takes several values, a type is a required value of that type; else :func:`option`.
    """
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=style)
    settings: dict[str, Any]
    for name, default in options.items():
        if isinstance(default, dict):
            settings = cast("dict[str, Any]", default)
        elif isinstance(default, type):
            settings = {"type": default, "required": True}
        elif isinstance(default, bool):
            settings = {"action": "store_false" if default else "store_true"}
        elif isinstance(default, list):
            values = cast("list[Any]", default)
            settings = {"nargs": "*", "default": values, "type": type(values[0])}
        else:
            settings = {"type": type(default), "default": default}
        parser.add_argument(f"--{name.replace('_', '-')}", **settings)
    return parser.parse_args()


def report(result: Mapping[str, Any], out: Path | None) -> None:
    """Print a result as JSON, and write it to a file where one is named."""
    text = json.dumps(result, indent=1)
    print(text)
    if out is not None:
        write_atomic(out, text + "\n")


def add_run(run: Mapping[str, Any], out: Path, *same: str, **head: Any) -> None:
    """Add a run to a file of runs; it takes the place of one that is equal in the fields `same`."""
    old: dict[str, Any] = json.loads(out.read_text()) if out.is_file() else {}
    others_of_kind = [
        earlier for earlier in old.get("runs", []) if any(earlier[key] != run[key] for key in same)
    ]
    write_atomic(out, json.dumps({**head, "runs": [*others_of_kind, run]}, indent=1) + "\n")

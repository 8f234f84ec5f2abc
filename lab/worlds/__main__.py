"""Dump the world of a seed as JSON: `python -m lab.worlds SEED [RANGES.json] > world.json`."""

from __future__ import annotations

import sys
from pathlib import Path

from lab.worlds.world import load_ranges, make_world

if __name__ == "__main__":
    seed, *files = sys.argv[1:]
    ranges = load_ranges(Path(files[0]) if files else None)
    print(make_world(int(seed), ranges).model_dump_json(indent=1))

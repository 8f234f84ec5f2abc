"""Dump the world of a seed as JSON: `python -m lab.worlds SEED [--ranges FILE] [--words FILE]`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from lab.worlds.world import load_ranges, make_world

if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--ranges", type=Path)
    parser.add_argument("--words", type=Path)
    arguments = parser.parse_args()
    print(
        make_world(arguments.seed, load_ranges(arguments.ranges), arguments.words).model_dump_json(
            indent=1
        )
    )

"""Train the packaged classifier anew.

    python -m harness.train.verifier --data FOLDER --wordnet FOLDER [--out FILE] [--cache FOLDER]

The data folder is that of `benchmarks/check/quality.py`; the WordNet folder holds the database
files of release 3.1 (`data.noun`, ...). The same files and seed give the same bytes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from harness.rag.check.verify import WEIGHTS
from harness.train.verifier.session import train, write


def main() -> None:
    """Train, write, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m harness.train.verifier")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    trained = train(given.data, given.wordnet, given.cache, given.seed)
    write(trained, given.out)
    print(json.dumps(trained.report, indent=1))


if __name__ == "__main__":
    main()

"""The part of roster that ships, as the suite `tables`: it runs in minutes.

    python -m lab.corpora.roster.excerpt

All train tasks, which teach; of selection and test the first tasks of the kinds that train has.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from harness.core import assets, write_atomic
from harness.corpora import Split, generate

TASKS: dict[Split, int] = {"train": 72, "selection": 24, "test": 24}


def write_excerpt(out: Path) -> None:
    """Write `<split>.jsonl` with the files that its tasks name, the same bytes every time."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        generate("roster", Path(folder))
        for split, count in TASKS.items():
            source = (Path(folder) / f"{split}.jsonl").read_text("utf-8")
            rows = [
                row for line in source.splitlines() if (row := json.loads(line))["meta"]["seen"]
            ]
            rows = rows[:count]
            for path in (path for row in rows for path in (*row["files"].values(), row["answer"])):
                (out / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(folder) / path, out / path)
            lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
            write_atomic(out / f"{split}.jsonl", "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    write_excerpt(assets.root() / "evals" / "tables")

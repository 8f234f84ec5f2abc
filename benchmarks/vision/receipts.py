"""Key fields of SROIE receipts by recognition and rules: how many are exact.

`python -m benchmarks.vision.receipts ROWS.jsonl [--state FILE] [--seconds S] [--out FILE]`; a row
has `id`, `key` and `_image`, a path beside the file. Recognition takes 3 to 7 s of CPU a receipt.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.reports import report
from harness.core import read_rows
from harness.stats import wilson
from harness.vision.eyes.ocr import read_lines
from harness.vision.eyes.receipt import read_receipt

FIELDS = ("date", "total", "company", "address")


def main() -> None:
    """Read, compare, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--state", type=Path, help="kept from run to run, to go on")
    parser.add_argument("--seconds", type=float, default=1e9, help="CPU seconds of this run")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: Path = options.rows
    state: Path | None = options.state
    finished: dict[str, Any] = json.loads(state.read_text()) if state and state.is_file() else {}
    for _, row in read_rows(rows):
        if row["id"] in finished:
            continue
        if time.process_time() > options.seconds:
            print(f"{len(finished)} receipts so far: run again to go on")
            return
        finished[row["id"]] = read(rows.parent / row["_image"], row["key"])
        if state:
            state.write_text(json.dumps(finished))
    result = {"command": "python -m benchmarks.vision.receipts", **summary(list(finished.values()))}
    report(result, options.out)


def read(image: Path, key: dict[str, str]) -> dict[str, Any]:
    """Field -> whether it was read exactly, but for runs of spaces."""
    with Image.open(image) as handle:
        pixels = np.asarray(handle.convert("RGB"), dtype=np.uint8)
    begin = time.process_time()
    fields = read_receipt(read_lines(pixels))._asdict()
    seconds = time.process_time() - begin
    return {name: _plain(fields[name]) == _plain(key[name]) for name in FIELDS} | {"cpu_s": seconds}


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Exact fields with their intervals."""
    fields = {}
    for name in FIELDS:
        right = sum(bool(row[name]) for row in rows)
        low, high = wilson(right, len(rows)) or (0.0, 1.0)
        fields[name] = {"exact": right, "ci95": [round(low, 3), round(high, 3)]}
    seconds = sorted(float(row["cpu_s"]) for row in rows)
    return {"receipts": len(rows), "cpu_s": seconds[len(seconds) // 2], "fields": fields}


if __name__ == "__main__":
    main()

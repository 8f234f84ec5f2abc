"""How many values of our rendered charts the chart reader reads within 5 %, by style family.

No model takes part but the optical character recognition. The reader shares no code with the
generator, and the family `newsprint` (test split only) was not looked at in development. Beside it,
the trivial reader: every value is the middle of the true values of its chart.
`python -m benchmarks.vision.charts [--split test] [--state FILE] [--seconds S] [--out FILE]`
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image

from benchmarks.reports import option, read_options, report
from harness.stats import wilson
from harness.vision.eyes.chart import Chart, read_chart
from lab.corpora.folio import Picture, folio_tasks

TOLERANCE = 0.05
Values = dict[str, dict[str, int]]


def main() -> None:
    """Read, compare, print, and write the result."""
    options = read_options(
        __doc__,
        split="test",
        state=option(type=Path, help="kept from run to run, to go on"),
        seconds=option(type=float, default=1e9, help="CPU seconds of this run"),
        out=option(type=Path),
    )
    state: Path | None = options.state
    finished: dict[str, Any] = json.loads(state.read_text()) if state and state.is_file() else {}
    for picture in charts(options.split):
        if picture.id in finished:
            continue
        if time.process_time() > options.seconds:
            print(f"{len(finished)} charts so far: run again to go on")
            return
        finished[picture.id] = one(picture)
        if state:
            state.write_text(json.dumps(finished))
    result = summary(list(finished.values()))
    command = f"python -m benchmarks.vision.charts --split {options.split}"
    result = {"command": command, "split": options.split} | result
    report(result, options.out)


def charts(split: str) -> Iterator[Picture]:
    """Every chart of a split, once."""
    seen: set[str] = set()
    for _, picture in folio_tasks(split):
        if picture.kind == "chart" and picture.id not in seen:
            seen.add(picture.id)
            yield picture


def one(picture: Picture) -> dict[str, Any]:
    """Read one chart and count the values that are near enough."""
    begin = time.process_time()
    pixels = np.asarray(Image.open(BytesIO(picture.data)).convert("RGB"), dtype=np.uint8)
    chart = read_chart(pixels)
    seconds = time.process_time() - begin
    truth = cast(dict[str, Any], picture.scene.truth["chart"])
    values: Values = truth["values"]
    middle = statistics.median(value for row in values.values() for value in row.values())
    gold = [
        (name, category, value) for name, row in values.items() for category, value in row.items()
    ]
    several = len(values) > 1
    right = sum(near(found(chart, name if several else None, category), value)
                for name, category, value in gold)  # fmt: skip
    trivial = sum(near(middle, value) for _, _, value in gold)
    return {
        "family": picture.family,
        "shape": truth["shape"],
        "labelled": truth["labelled"],
        "values": len(gold),
        "right": right,
        "trivial": trivial,
        "cpu_s": seconds,
    }


def found(chart: Chart | None, series: str | None, category: str) -> float | None:
    """The value that was read for a category; None for none or several."""
    if chart is None:
        return None
    values = [
        reading.value
        for reading in chart.readings
        if reading.category == category and (series is None or reading.series == series)
    ]
    return values[0] if len(values) == 1 else None


def near(value: float | None, truth: float) -> bool:
    """Within 5 % of the truth."""
    return value is not None and abs(value - truth) <= TOLERANCE * abs(truth)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Shares over all, and by family and shape."""
    groups = {"all": rows}
    for key in ("family", "shape"):
        for row in rows:
            groups.setdefault(f"{row[key]}", []).append(row)
    return {
        "charts": len(rows),
        "cpu_s_a_chart": round(statistics.median(row["cpu_s"] for row in rows), 2),
        "groups": {name: shares(chosen) for name, chosen in groups.items()},
    }


def shares(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Share of values read within the tolerance, with its interval, and of the trivial reader."""
    total, right = (sum(row[key] for row in rows) for key in ("values", "right"))
    low, high = wilson(right, total) or (0.0, 1.0)
    return {
        "charts": len(rows),
        "values": total,
        "within_5_percent": round(right / total, 4),
        "ci95": [round(low, 4), round(high, 4)],
        "trivial": round(sum(row["trivial"] for row in rows) / total, 4),
    }


if __name__ == "__main__":
    main()

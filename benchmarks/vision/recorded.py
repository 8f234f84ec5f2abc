"""Our readers on published pictures: tables of TabMWP to cells, charts of ChartQA to values.

No language model takes part. `python -m benchmarks.vision.recorded tables|charts ROWS.jsonl
[--state FILE] [--seconds S] [--out FILE]`; a row has the fields of its set and `_image`, a path
beside the file. Recognition takes 1 s of CPU a table and 3 s a chart.

Tables: a cell counts if the text at its row and column is the true one but for spaces, commas and
the kind of minus (leaves of a stem are drawn with spaces and written with commas). Rows that are
not divided, such as titles, are left out. Beside it, the trivial reader: lines on one height
are a row, the n-th of them is in column n.

Charts: the set has no values, only questions. Those that the set calls simple and whose answer is a
number ask for one value of the chart; the answer should be among the values that were read, within
5 %. Beside it: among the numbers that the recognition alone gives; how often the answer of another
question is (what chance gives to a reader of many values); and what a rule finds that takes the
value whose names stand in the question. `all` are all questions with a number for an answer, most
of which ask for a computation.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.reports import report
from harness.core import read_rows
from harness.stats import wilson
from harness.vision.eyes.axis import number_of
from harness.vision.eyes.chart import chart_of
from harness.vision.eyes.grid import grid_of
from harness.vision.eyes.ocr import Line, Pixels, read_lines, upright
from harness.vision.eyes.shapes import find_solids

TOLERANCE = 0.05
Record = dict[str, Any]


def main() -> None:
    """Read, compare, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tables", "charts"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--state", type=Path, help="kept from run to run, to go on")
    parser.add_argument("--seconds", type=float, default=1e9, help="CPU seconds of this run")
    parser.add_argument(
        "--so-far", action="store_true", help="summarise what was read, read no more"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.so_far:
        options.seconds = 0.0
    tables = options.what == "tables"
    rows = [row for _, row in read_rows(options.rows)]
    # A run that is cut short has then measured what asks for a value.
    rows.sort(key=lambda row: row.get("question_type") != "simple")
    finished = read_all(rows, options, read_table if tables else read_values)
    if len(finished) < len({row["_image"] for row in rows}) and not options.so_far:
        print(f"{len(finished)} pictures so far: run again to go on")
        return
    read = [row for row in rows if row["_image"] in finished]
    summary = tables_summary(finished) if tables else charts_summary(read, finished)
    command = f"python -m benchmarks.vision.recorded {options.what}"
    result = {"command": command, "of_pictures": len({row["_image"] for row in rows}), **summary}
    report(result, options.out)


def read_all(
    rows: list[Record], options: argparse.Namespace, read: Callable[[Pixels, Record], Record]
) -> dict[str, Record]:
    """What `read` makes of every picture, by its path; of fewer if the time ran out."""
    state: Path | None = options.state
    finished: dict[str, Record] = json.loads(state.read_text()) if state and state.is_file() else {}
    for row in rows:
        if row["_image"] in finished:
            continue
        if time.process_time() > options.seconds:
            break
        with Image.open(options.rows.parent / row["_image"]) as handle:
            pixels = np.asarray(handle.convert("RGB"), dtype=np.uint8)
        begin = time.process_time()
        finished[row["_image"]] = read(pixels, row) | {"cpu_s": time.process_time() - begin}
        if state:
            state.write_text(json.dumps(finished))
    return finished


def read_table(pixels: Pixels, row: Record) -> Record:
    """Cells of one table that were read, by our reader and the trivial one."""
    columns = list(row["table_for_pd"].items())
    gold = [list(cells) for cells in zip(*(cells for _, cells in columns), strict=True)]
    if columns[0][0] != "Column 1":  # the set's name for a column without one
        gold.insert(0, [name for name, _ in columns])
    lines = read_lines(pixels)
    ours = [[cell.text for cell in cells] for cells in grid_of(lines, pixels)]
    cells = sum(map(len, gold))
    right = count(divided(ours), gold)
    trivial = count(divided([[line.text for line in band] for band in by_height(lines)]), gold)
    return {"cells": cells, "right": right, "trivial": trivial}


def divided(rows: list[list[str]]) -> list[list[str]]:
    """Without the undivided rows at the top."""
    first = next((number for number, row in enumerate(rows) if len(row) > 1), 0)
    return rows[first:]


def by_height(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines on one height, from left to right."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and abs(rows[-1][0].y - line.y) < 0.6 * (line.bottom - line.top):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]


def count(cells: list[list[str]], gold: list[list[str]]) -> int:
    """Cells that are right where they are."""
    pairs = zip(cells, gold, strict=False)
    return sum(plain(cell) == plain(two) for row, true in pairs
               for cell, two in zip(row, true, strict=False))  # fmt: skip


def plain(text: str) -> str:
    """A text without what the set writes otherwise than it draws."""
    return re.sub(r"[\s,]", "", text).replace("\u2212", "-").replace("\u2013", "-")


def tables_summary(finished: dict[str, Record]) -> Record:
    """Shares of cells and of whole tables."""
    rows = list(finished.values())
    cells = sum(row["cells"] for row in rows)
    return {
        "tables": len(rows),
        "cells": cells,
        "cpu_s_a_table": middle([row["cpu_s"] for row in rows]),
        **{
            name: {
                "cells_right": share(sum(row[name] for row in rows), cells),
                "tables_right": share(sum(row[name] == row["cells"] for row in rows), len(rows)),
            }
            for name in ("right", "trivial")
        },
    }


def read_values(pixels: Pixels, row: Record) -> Record:
    """The values of one chart, and the numbers that stand in it."""
    level, tilt = upright(pixels)
    lines = read_lines(level)
    chart = chart_of(lines, find_solids(level), tilt)
    printed = [value for line in lines if (value := number_of(line.text)) is not None]
    readings = (
        [[reading.series, reading.category, reading.value] for reading in chart.readings]
        if chart
        else []
    )
    return {"shape": chart.shape if chart else None, "readings": readings, "printed": printed}


def charts_summary(rows: list[Record], finished: dict[str, Record]) -> Record:
    """How often the answer is among what was read."""
    numeric = [row for row in rows if answer(row) is not None]
    simple = [row for row in numeric if row["question_type"] == "simple"]
    shapes = [
        record["shape"] if len(record["readings"]) > 1 else None for record in finished.values()
    ]
    return {
        "charts": len(finished),
        "cpu_s_a_chart": middle(
            [record["cpu_s"] for record in finished.values() if "cpu_s" in record]
        ),
        "charts_read_as": {str(shape): shapes.count(shape) for shape in dict.fromkeys(shapes)},
        "simple": group(simple, finished),
        "all": group(numeric, finished),
    }


def group(rows: list[Record], finished: dict[str, Record]) -> Record:
    """The measures over some questions."""
    read = [[value for _, _, value in finished[row["_image"]]["readings"]] for row in rows]
    answers = [answer(row) or 0.0 for row in rows]
    own = list(zip(read, answers, strict=True))
    distractors = [
        any(near(value, distractor) for value in values)
        for position, values in enumerate(read)
        for number, distractor in enumerate(answers)
        if number != position
    ]
    printed = [finished[row["_image"]]["printed"] for row in rows]
    return {
        "questions": len(rows),
        "among_values_read": share(
            sum(any(near(value, true) for value in values) for values, true in own), len(rows)
        ),
        "among_printed_numbers": share(
            sum(any(near(value, true) for value in values)
                for values, true in zip(printed, answers, strict=True)), len(rows)
        ),
        "by_chance_among_values_read": round(sum(distractors) / max(1, len(distractors)), 3),
        "looked_up": share(
            sum(near(looked_up(row["query"], finished[row["_image"]]["readings"]), true)
                for row, true in zip(rows, answers, strict=True)), len(rows)
        ),
        "middle_of_values_read": share(
            sum(bool(values) and near(float(np.median(values)), true) for values, true in own),
            len(rows),
        ),
    }  # fmt: skip


def answer(row: Record) -> float | None:
    """The answer if it is a number that is no year."""
    value = number_of(str(row["label"]))
    year = value is not None and value == int(value) and 1900 <= value <= 2100
    return None if year and re.search(r"\byears?\b", row["query"], re.IGNORECASE) else value


def looked_up(question: str, readings: list[list[Any]]) -> float | None:
    """The value whose category and series are named best in the question; None for a tie."""
    words = set(re.findall(r"\w+", question.lower()))
    scored = [(named(category, words) + named(series or "", words), value)
              for series, category, value in readings]  # fmt: skip
    best = max((score for score, _ in scored), default=0.0)
    chosen = {value for score, value in scored if score == best}
    return chosen.pop() if best > 0 and len(chosen) == 1 else None


def named(name: str, words: set[str]) -> float:
    """Share of a name's words that are in the question."""
    own = re.findall(r"\w+", name.lower())
    return sum(word in words for word in own) / len(own) if own else 0.0


def near(value: float | None, truth: float) -> bool:
    """Within 5 % of the truth."""
    return value is not None and abs(value - truth) <= TOLERANCE * abs(truth)


def share(right: int, total: int) -> Record:
    """A count with its share and interval."""
    low, high = wilson(right, total) or (0.0, 1.0)
    return {"right": right, "share": round(right / max(1, total), 3),
            "ci95": [round(low, 3), round(high, 3)]}  # fmt: skip


def middle(seconds: list[float]) -> float:
    """The median."""
    return round(float(np.median(seconds)), 2)


if __name__ == "__main__":
    main()

"""Accuracy of our readers of pictures: charts to values, tables to cells, receipts to fields.

No language model takes part but the optical character recognition, of which every part also says
what it gives alone.

`python -m benchmarks.vision.readers --read folio [--split test]`: how many values of our rendered
charts are read within 5 %, by style family and shape. The reader shares no code with the generator,
and the family `newsprint` (test split only) was not looked at in development. Beside it: the middle
of the true values of the chart; whether the value is among the numbers that recognition gives; and
the number that stands in line with the category's name, nearest to it.

`... --read values --rows ROWS.jsonl`: the same for charts by others whose values are known. A row
has `values` (series -> category -> value), `family` and `shape`.

`... --read chartqa --rows ROWS.jsonl`: ChartQA has no values, only questions. Those that the set
calls simple and whose answer is a number ask for one value: it should be among the values that were
read, within 5 %. Beside it: among the numbers that recognition gives; how often the answer of
another question is (chance); what a rule finds that takes the value whose names stand in the
question, and what it finds by recognition alone, in line with the name. `all` are all questions
with a number for an answer, most of which ask for a computation.

`... --read tabmwp --rows ROWS.jsonl`: a cell of TabMWP counts if the text at its row and column is
the true one but for spaces, commas and the kind of minus. Undivided rows, such as titles, are left
out. Beside it: recognised lines on one height are a row, the n-th of them is in column n.

`... --read sroie --rows ROWS.jsonl`: fields of SROIE receipts that are exact but for spaces.

A row has the fields of its set and `_image`, a path beside the file. Recognition takes seconds of
CPU a picture; with `--state` a run that was stopped resumes.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from PIL import Image

from benchmarks.reports import (
    Journal,
    Options,
    Result,
    benchmark,
    option,
    read_jsonl,
    share_interval,
)
from harness.vision.eyes.axis import number_of
from harness.vision.eyes.chart import chart_of, levelled
from harness.vision.eyes.grid import grid_of, lines_by_height
from harness.vision.eyes.ocr import Line, Pixels, read_lines
from harness.vision.eyes.receipt import read_receipt
from harness.vision.eyes.shapes import find_solids
from lab.corpora.folio import folio_tasks

TOLERANCE = 0.05
Record = dict[str, Any]


class Sample(NamedTuple):
    """A picture with what is true of it."""

    key: str
    row: Record
    image: Callable[[], bytes]


def timed(read: Callable[[Pixels, Record], Record], sample: Sample) -> Record:
    """Read a picture, and count its CPU seconds."""
    with Image.open(BytesIO(sample.image())) as handle:
        pixels = np.asarray(handle.convert("RGB"), dtype=np.uint8)
    begin = time.process_time()
    return read(pixels, sample.row) | {"cpu_s": time.process_time() - begin}


def charts(split: str) -> Iterator[Sample]:
    """Every chart of a split of the folio, once."""
    pictures = {picture.id: picture for _, picture in folio_tasks(split)}
    for picture in pictures.values():
        if picture.kind == "chart":
            truth = cast(Record, picture.scene.truth["chart"])
            yield Sample(
                picture.id, truth | {"family": picture.family}, partial(bytes, picture.data)
            )


def published(path: Path) -> Iterator[Sample]:
    """Rows of a public set; simple questions first, so that a run cut short has measured these."""
    rows = read_jsonl(path)
    for row in sorted(rows, key=lambda row: row.get("question_type") != "simple"):
        yield Sample(row["_image"], row, (path.parent / row["_image"]).read_bytes)


def read_values(pixels: Pixels, row: Record) -> Record:
    """The values of one chart, and the lines that recognition gives."""
    level, tilt, _ = levelled(pixels)
    lines = read_lines(level)
    chart = chart_of(lines, find_solids(level), tilt, level)
    readings = chart.readings if chart else ()
    return {
        "shape": chart.shape if chart else None,
        "readings": [[reading.series, reading.category, reading.value] for reading in readings],
        "lines": lines,
    }


def numbers(lines: Iterable[Sequence[Any]]) -> list[tuple[Line, float]]:
    """The lines that are numbers."""
    parsed = [Line(*line) for line in lines]
    return [(line, value) for line in parsed if (value := number_of(line.text)) is not None]


def in_line(name: Line, lines: Iterable[Sequence[Any]]) -> float | None:
    """The number nearest to a name, above it in its column or right of it in its row."""
    candidates = [(line, value) for line, value in numbers(lines) if line != name]
    aligned = [
        (line, value)
        for line, value in candidates
        if (abs(line.x - name.x) < max(14, (name.right - name.left) / 2) and line.y < name.y)
        or (abs(line.y - name.y) < 9 and line.x > name.x)
    ]
    nearest = min(
        aligned or candidates,
        key=lambda pair: (pair[0].x - name.x) ** 2 + (pair[0].y - name.y) ** 2,
        default=None,
    )
    return nearest[1] if nearest else None


def folio_summary(rows: Sequence[tuple[Record, Record]]) -> Record:
    """Shares over all, and by family and shape, of the reader, of recognition, and of chance."""
    groups: dict[str, list[dict[str, bool]]] = {}
    for truth, record in rows:
        values: dict[str, dict[str, int]] = truth["values"]
        middle = statistics.median(value for row in values.values() for value in row.values())
        printed = [value for _, value in numbers(record["lines"])]
        for series, row in values.items():
            for category, value in row.items():
                readings = [
                    reading
                    for series_name, name, reading in record["readings"]
                    if name == category and (len(values) == 1 or series_name == series)
                ]
                names = [Line(*line) for line in record["lines"] if line[0] == category]
                outcome = {
                    "within_5_percent": len(readings) == 1 and near(readings[0], value),
                    "printed_anywhere": any(near(number, value) for number in printed),
                    "printed_in_line": bool(names)
                    and near(in_line(names[0], record["lines"]), value),
                    "trivial": near(middle, value),
                }
                for group in ("all", truth["family"], truth["shape"]):
                    groups.setdefault(group, []).append(outcome)
    return {
        "groups": {
            name: {"values": len(outcomes)}
            | {arm: share([outcome[arm] for outcome in outcomes]) for arm in outcomes[0]}
            for name, outcomes in groups.items()
        }
    }


def chartqa_summary(rows: Sequence[tuple[Record, Record]]) -> Record:
    """Count how often the answer is among what was read."""
    shapes = [
        record["shape"] if len(record["readings"]) > 1 else None
        for record in {row["_image"]: record for row, record in rows}.values()
    ]
    answered = [(row, record, value) for row, record in rows if (value := answer(row)) is not None]
    simple = [row for row in answered if row[0]["question_type"] == "simple"]
    return {
        "charts_read_as": {str(shape): shapes.count(shape) for shape in dict.fromkeys(shapes)},
        "simple": among(simple),
        "all": among(answered),
    }


def among(questions: Sequence[tuple[Record, Record, float]]) -> Record:
    """The measures over some questions."""
    arms: dict[str, list[bool]] = {}
    chance: list[bool] = []
    for number, (row, record, truth) in enumerate(questions):
        values = [value for _, _, value in record["readings"]]
        lines = [Line(*line) for line in record["lines"]]
        words = set(re.findall(r"\w+", row["query"].lower()))
        by_names = {
            (named(category, words) + named(series or "", words), value)
            for series, category, value in record["readings"]
        }
        by_lines = {(named(line.text, words), in_line(line, lines)) for line in lines}
        outcome = {
            "among_values_read": any(near(value, truth) for value in values),
            "among_printed_numbers": any(near(value, truth) for _, value in numbers(lines)),
            "looked_up": near(best_named(by_names), truth),
            "looked_up_by_recognition_alone": near(best_named(by_lines), truth),
            "middle_of_values_read": bool(values) and near(statistics.median(values), truth),
        }
        for arm, right in outcome.items():
            arms.setdefault(arm, []).append(right)
        chance += [
            any(near(value, distractor) for value in values)
            for index, (_, _, distractor) in enumerate(questions)
            if index != number
        ]
    return {
        "questions": len(questions),
        "by_chance_among_values_read": round(sum(chance) / max(1, len(chance)), 3),
        **{arm: share(outcomes) for arm, outcomes in arms.items()},
    }


def answer(row: Record) -> float | None:
    """The answer if it is a number that is no year."""
    value = number_of(str(row["label"]))
    year = value is not None and value == int(value) and 1900 <= value <= 2100
    return None if year and re.search(r"\byears?\b", row["query"], re.IGNORECASE) else value


def best_named(scored: Iterable[tuple[float, float | None]]) -> float | None:
    """The value with the best score; None for a tie or without a name."""
    pairs = list(scored)
    best = max((score for score, _ in pairs), default=0.0)
    best_values = {value for score, value in pairs if score == best}
    return best_values.pop() if best > 0 and len(best_values) == 1 else None


def named(name: str, words: set[str]) -> float:
    """Share of a name's words that are in the question."""
    name_words = re.findall(r"\w+", name.lower())
    return sum(word in words for word in name_words) / len(name_words) if name_words else 0.0


def near(value: float | None, truth: float) -> bool:
    """Within 5 % of the truth."""
    return value is not None and abs(value - truth) <= TOLERANCE * abs(truth)


def read_table(pixels: Pixels, row: Record) -> Record:
    """Cells of one table that are right, by our reader and by recognition alone."""
    columns = list(row["table_for_pd"].items())
    gold = [list(cells) for cells in zip(*(cells for _, cells in columns), strict=True)]
    if columns[0][0] != "Column 1":  # the set's name for a column without one
        gold.insert(0, [name for name, _ in columns])
    lines = read_lines(pixels)
    rows = {"right": grid_of(lines, pixels), "trivial": lines_by_height(lines)}
    counts = {"cells": sum(map(len, gold))}
    for reader, cells in rows.items():
        first = next((number for number, cell in enumerate(cells) if len(cell) > 1), 0)
        counts[reader] = sum(
            plain(cell.text) == plain(true)
            for read_cells, golden in zip(cells[first:], gold, strict=False)
            for cell, true in zip(read_cells, golden, strict=False)
        )
    return counts


def plain(text: str) -> str:
    """A text without what the set writes otherwise than it draws."""
    return re.sub(r"[\s,]", "", text).replace("\u2212", "-").replace("\u2013", "-")


def tables_summary(rows: Sequence[tuple[Record, Record]]) -> Record:
    """Shares of cells and of whole tables."""
    records = [record for _, record in rows]
    cells = sum(record["cells"] for record in records)
    shares: Record = {"cells": cells}
    for reader in ("right", "trivial"):
        hits = sum(record[reader] for record in records)
        complete = [record[reader] == record["cells"] for record in records]
        cell_share = {"right": hits, "share": round(hits / cells, 3)}
        shares[reader] = {
            "cells_right": cell_share | {"ci95": share_interval(hits, cells)},
            "tables_right": share(complete),
        }
    return shares


def read_fields(pixels: Pixels, row: Record) -> Record:
    """Field -> whether it was read exactly, but for runs of spaces."""
    fields = read_receipt(read_lines(pixels))._asdict()
    return {
        name: (fields[name] or "").split() == row["key"][name].split()
        for name in ("date", "total", "company", "address")
    }


def receipts_summary(rows: Sequence[tuple[Record, Record]]) -> Record:
    """Exact fields with their intervals."""
    names = [name for name in rows[0][1] if name != "cpu_s"]
    return {"fields": {name: share([record[name] for _, record in rows]) for name in names}}


def share(outcomes: Sequence[bool]) -> Record:
    """A count with its share and interval."""
    right = sum(outcomes)
    interval = share_interval(right, len(outcomes))
    return {"right": right, "share": round(right / max(1, len(outcomes)), 3), "ci95": interval}


READERS: dict[
    str,
    tuple[Callable[[Pixels, Record], Record], Callable[[Sequence[tuple[Record, Record]]], Record]],
] = {
    "folio": (read_values, folio_summary),
    "values": (read_values, folio_summary),
    "chartqa": (read_values, chartqa_summary),
    "tabmwp": (read_table, tables_summary),
    "sroie": (read_fields, receipts_summary),
}


@benchmark(
    read=option(choices=tuple(READERS), required=True),
    rows=option(type=Path),
    split="test",
    state=option(type=Path, help="kept from run to run, to resume"),
    seconds=option(type=float, default=1e9, help="CPU seconds of this run"),
    so_far=option(action="store_true", help="summarise what was read, read no more"),
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Read, compare, print, and write the result."""
    read, summary = READERS[options.read]
    samples = list(charts(options.split) if options.read == "folio" else published(options.rows))
    journal = Journal(options.state)
    for sample in samples:
        if options.so_far or time.process_time() > options.seconds:
            break
        journal.result(sample.key, partial(timed, read, sample))
    finished = {sample.key: sample.row for sample in samples if sample.key in journal.rows}
    if len(finished) < len({sample.key for sample in samples}) and not options.so_far:
        print(f"{len(finished)} pictures so far: run again to resume")
        return None
    records = [journal.rows[key] for key in finished]
    rows = [(sample.row, journal.rows[sample.key]) for sample in samples if sample.key in finished]
    return {
        "command": f"python -m benchmarks.vision.readers --read {options.read}",
        "pictures": len(records),
        "cpu_s_a_picture": round(statistics.median(record["cpu_s"] for record in records), 2),
        **summary(rows),
    }

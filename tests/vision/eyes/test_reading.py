"""Readers of pictures on things drawn here: scales, shapes, receipts, charts."""

from __future__ import annotations

from collections import Counter
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from harness.vision.eyes.axis import find_axis, number_of
from harness.vision.eyes.chart import chart_of
from harness.vision.eyes.ocr import Line, Pixels, read_cut, read_lines, upright
from harness.vision.eyes.receipt import read_receipt
from harness.vision.eyes.shapes import count_shapes, find_shapes, find_solids
from lab.corpora.folio import folio_tasks


def _pixels(image: Image.Image) -> Pixels:
    return np.asarray(image.convert("RGB"), dtype=np.uint8)


def _line(text: str, x: float, y: float, width: float = 0.0) -> Line:
    half = (width or 8.0 * len(text)) / 2
    return Line(text, x - half, y - 7, x + half, y + 7, 1.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,200", 1200.0), ("1 200", 1200.0), ("12.5", 12.5), ("-3", -3.0), ("45%", 45.0),
     ("1O0", 100.0), ("12,5", 12.5), ("Jan", None), ("", None), ("3 x", None)],
)  # fmt: skip
def test_numbers(text: str, value: float | None) -> None:
    assert number_of(text) == value


def test_lines_are_found_after_a_cut_was_recognised() -> None:
    """The engine keeps what it was last told: a second table in one process was not read."""
    image = Image.new("RGB", (300, 80), "white")
    ImageDraw.Draw(image).text((20, 20), "Total 42", fill="black", font=ImageFont.load_default(28))
    pixels = _pixels(image)
    read_cut(pixels)
    assert [line.text.replace(" ", "") for line in read_lines(pixels)] == ["Total42"]


def test_a_scale_is_found_among_other_numbers() -> None:
    ticks = [_line(str(value), 40, 300 - value) for value in (0, 50, 100, 150, 200)]
    others = [_line("137", 200, 150), _line("2021", 120, 320), _line("2022", 220, 320)]
    axis = find_axis([*others, *ticks])
    assert axis is not None
    assert axis.along == "up"
    assert axis.value(200) == pytest.approx(100, abs=0.5)
    assert find_axis(ticks[:2]) is None


def test_columns_without_recognition() -> None:
    """Three columns, one with a printed value that agrees and one with one that does not."""
    image = Image.new("RGB", (400, 360), "white")
    pen = ImageDraw.Draw(image)
    values = {"A": 50, "B": 120, "C": 180}
    for at, value in enumerate(values.values()):
        pen.rectangle((90 + 90 * at, 300 - value, 140 + 90 * at, 300), fill=(30, 110, 180))
    lines = [_line(str(value), 40, 300 - value) for value in (0, 50, 100, 150, 200)]
    lines += [_line(name, 115 + 90 * at, 320) for at, name in enumerate(values)]
    lines += [_line("121", 205, 170), _line("90", 295, 110), _line("Title", 200, 20)]
    chart = chart_of(lines, find_solids(_pixels(image)))
    assert chart is not None
    assert chart.shape == "columns"
    found = {reading.category: reading for reading in chart.readings}
    assert found["A"].value == pytest.approx(50, abs=1.5)
    assert (found["B"].value, found["B"].how) == (121.0, "printed")
    assert found["C"].value == pytest.approx(180, abs=1.5)
    assert found["C"].how == "measured"
    left, top, right, bottom = found["A"].box
    assert abs(left - 90) + abs(right - 141) + abs(top - 250) + abs(bottom - 301) < 8


def test_a_tilt_is_undone() -> None:
    image = Image.new("RGB", (500, 400), "white")
    pen = ImageDraw.Draw(image)
    for y in range(60, 360, 40):
        pen.line((40, y, 460, y), fill="black", width=2)
    pen.line((40, 40, 40, 360), fill="black", width=2)
    tilted = image.rotate(1.4, Image.Resampling.BICUBIC, fillcolor="white")
    _, turned = upright(_pixels(tilted))
    assert turned == pytest.approx(-1.4, abs=0.3)
    assert upright(_pixels(image))[1] == 0.0


def test_shapes_of_the_folio_are_counted() -> None:
    """Every picture of shapes in the development splits, by what it was drawn from."""
    seen: set[str] = set()
    right = total = 0
    for split in ("train", "selection"):
        for _, picture in folio_tasks(split):
            if picture.kind != "shapes" or picture.id in seen:
                continue
            seen.add(picture.id)
            pixels = _pixels(Image.open(BytesIO(picture.data)))
            rows = picture.scene.truth["shapes"]
            assert isinstance(rows, list)
            wanted = Counter(str(one) for row in rows if isinstance(row, list) for one in row)
            found = Counter(count_shapes(find_shapes(pixels)))
            right += sum((wanted & found).values())
            total += sum(wanted.values())
    assert len(seen) >= 4
    assert right / total >= 0.95


def test_receipts_by_rules() -> None:
    rows = [
        ("GREEN LEAF TRADING SDN BHD", "", 10), ("NO 7, JALAN BUNGA", "", 30),
        ("81100 JOHOR BAHRU", "", 50), ("TEL 07-1234567", "", 70), ("DATE", "25/12/2018", 90),
        ("TOTAL QTY", "3", 110), ("SUB TOTAL", "31.02", 130), ("TOTAL", "31.02", 150),
        ("ROUNDING ADJUSTMENT", "-0.02", 170), ("TOTAL ROUNDED", "31.00", 190),
        ("CASH", "50.00", 210),
    ]  # fmt: skip
    lines = [
        line
        for label, value, y in rows
        for line in (_line(label, 100, y), *([_line(value, 300, y)] if value else []))
    ]
    assert read_receipt(lines)._asdict() == {
        "company": "GREEN LEAF TRADING SDN BHD",
        "date": "25/12/2018",
        "address": "NO 7, JALAN BUNGA 81100 JOHOR BAHRU",
        "total": "31.00",
    }
    assert read_receipt([]).total is None
    spoken = read_receipt([_line("27 MAR 201818:24", 90, 10), _line("NETT TOTAL:$6.90", 90, 30)])
    assert (spoken.date, spoken.total) == ("27 MAR 2018", "$6.90")


def test_years_under_a_chart_are_no_scale_and_joined_names_are_taken_apart() -> None:
    image = Image.new("RGB", (400, 360), "white")
    pen = ImageDraw.Draw(image)
    for at, value in enumerate((50, 120, 180)):
        pen.rectangle((90 + 90 * at, 300 - value, 140 + 90 * at, 300), fill=(30, 110, 180))
    ticks = [_line(str(value), 40, 300 - value) for value in (50, 100, 150)]
    years = [_line(str(2019 + at), 115 + 90 * at, 320) for at in range(3)]
    chart = chart_of([*ticks, *years, _line("T", 200, 20)], find_solids(_pixels(image)))
    assert chart is not None
    assert [reading.category for reading in chart.readings] == ["2019", "2020", "2021"]
    joined = [_line("Brennick Dunmere", 160, 320, 150), _line("Elsholm", 295, 320)]
    chart = chart_of([*ticks, *joined, _line("T", 200, 20)], find_solids(_pixels(image)))
    assert chart is not None
    assert [one.category for one in chart.readings] == ["Brennick", "Dunmere", "Elsholm"]
    assert chart.readings[1].value == pytest.approx(120, abs=2)

"""Kinds of charts that the folio does not have: stacked bars, bars without a scale, cut scales."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from harness.vision.eyes.chart import Chart, chart_of, read_chart
from harness.vision.eyes.ocr import Line
from harness.vision.eyes.shapes import find_solids

BLUE, RED, GREEN = (40, 110, 200), (190, 50, 40), (70, 150, 60)


def _line(text: str, x: float, y: float) -> Line:
    half = 4.0 * len(text)
    return Line(text, x - half, y - 7, x + half, y + 7, 1.0)


class _Drawing:
    """A picture with its texts as a perfect recogniser would give them."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (520, 400), "white")
        self.pen = ImageDraw.Draw(self.image)
        self.lines = [_line("A title", 260, 12)]

    def text(self, text: str, x: float, y: float) -> None:
        self.lines.append(_line(text, x, y))

    def read(self) -> Chart:
        pixels = np.asarray(self.image, dtype=np.uint8)
        chart = chart_of(sorted(self.lines, key=lambda line: (line.y, line.x)), find_solids(pixels))
        assert chart is not None
        return chart


@pytest.mark.parametrize("seed", range(4))
def test_stacked_rows_with_the_legend_below(seed: int) -> None:
    rng, drawing = Random(seed), _Drawing()
    truth: dict[tuple[str | None, str], float] = {}
    for tick in range(0, 101, 20):
        drawing.text(str(tick), 120 + 3.5 * tick, 330)
    for at, name in enumerate(("Elsholm", "Brennick", "Dunmere")):
        left, y = 120.0, 60 + 80 * at
        drawing.text(name, 70, y + 20)
        for series, colour in (("Yes", BLUE), ("No", RED), ("Both", GREEN)):
            value = rng.randint(8, 33)
            drawing.pen.rectangle((left, y, left + 3.5 * value - 1, y + 40), fill=colour)
            left += 3.5 * value
            truth[series, name] = value
    for at, (series, colour) in enumerate((("Yes", BLUE), ("No", RED), ("Both", GREEN))):
        drawing.pen.ellipse((100 + 120 * at, 370, 110 + 120 * at, 380), fill=colour)
        drawing.text(series, 118 + 120 * at + 4 * len(series), 375)
    chart = drawing.read()
    assert chart.shape == "rows"
    found = {(one.series, one.category): one.value for one in chart.readings}
    assert found == {key: pytest.approx(value, abs=1.2) for key, value in truth.items()}


@pytest.mark.parametrize("seed", range(3))
def test_stacked_columns(seed: int) -> None:
    rng, drawing = Random(seed), _Drawing()
    truth: dict[str, list[int]] = {}
    for tick in range(0, 101, 25):
        drawing.text(str(tick), 30, 340 - 3 * tick)
    for at, name in enumerate(("2019", "2020", "2021")):
        values = [rng.randint(10, 45), rng.randint(10, 45)]
        x, y = 90 + 130 * at, 340
        for value, colour in zip(values, (BLUE, RED), strict=True):
            drawing.pen.rectangle((x, y - 3 * value + 1, x + 60, y), fill=colour)
            y -= 3 * value
        drawing.text(name, x + 30, 358)
        truth[name] = values
    chart = drawing.read()
    for name, values in truth.items():
        found = sorted(
            (one for one in chart.readings if one.category == name), key=lambda one: -one.box[3]
        )
        assert [one.value for one in found] == [pytest.approx(one, abs=1.2) for one in values]


@pytest.mark.parametrize("up", [True, False])
def test_bars_without_a_scale_are_read_by_their_numbers(up: bool) -> None:
    """One bar has no number: it is measured by the scale of the others."""
    drawing, values = _Drawing(), {"Ina": 62, "Ole": 35, "Per": 48, "Una": 20}
    for at, (name, value) in enumerate(values.items()):
        if up:
            x = 60 + 100 * at
            drawing.pen.rectangle((x, 330 - 4 * value, x + 50, 330), fill=BLUE)
            drawing.text(name, x + 25, 350)
            if name != "Una":
                drawing.text(f"{value}%", x + 25, 330 - 4 * value - 10)
        else:
            y = 50 + 70 * at
            drawing.pen.rectangle((110, y, 110 + 5 * value, y + 36), fill=BLUE)
            drawing.text(name, 70, y + 18)
            if name != "Una":
                drawing.text(str(value), 110 + 5 * value - 20, y + 18)
    found = {one.category: (one.value, one.how) for one in drawing.read().readings}
    assert found.pop("Una") == (pytest.approx(20, abs=1), "measured")
    assert found == {name: (value, "printed") for name, value in values.items() if name != "Una"}


def test_a_scale_that_does_not_begin_at_zero() -> None:
    columns, points = _Drawing(), _Drawing()
    values = {"2018": 4600, "2019": 5900, "2020": 5200}
    for drawing in (columns, points):
        for tick in range(4000, 6001, 500):
            drawing.text(f"{tick:,}", 30, 330 - (tick - 4000) / 8)
        for at, name in enumerate(values):
            drawing.text(name, 120 + 120 * at, 352)
    for at, value in enumerate(values.values()):
        x, y = 120 + 120 * at, 330 - (value - 4000) / 8
        columns.pen.rectangle((x - 30, y, x + 30, 330), fill=BLUE)
        points.pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=BLUE)
    for drawing, shape in ((columns, "columns"), (points, "points")):
        chart = drawing.read()
        assert chart.shape == shape
        found = {one.category: one.value for one in chart.readings}
        assert found == {name: pytest.approx(value, abs=15) for name, value in values.items()}


def test_the_title_of_an_axis_is_no_name() -> None:
    rows, columns = _Drawing(), _Drawing()
    for tick in range(0, 101, 20):
        rows.text(str(tick), 120 + 3.5 * tick, 330)
        columns.text(str(tick), 60, 300 - 2.5 * tick)
    rows.text("Year", 20, 184)
    columns.text("Year", 260, 338)
    for place, (name, value) in enumerate((("2019", 70), ("2020", 45), ("2021", 90))):
        y, x = 60 + 90 * place, 120 + 110 * place
        rows.text(name, 95, y + 20)
        rows.pen.rectangle((120, y, 120 + 3.5 * value, y + 40), fill=BLUE)
        columns.text(name, x + 30, 320)
        columns.pen.rectangle((x, 300 - 2.5 * value, x + 60, 300), fill=BLUE)
    for drawing in (rows, columns):
        assert [one.category for one in drawing.read().readings] == ["2019", "2020", "2021"]


def test_a_large_picture_whose_legend_is_read_as_one_line() -> None:
    """By the real recognition; boxes are pixels of the large picture."""
    image = Image.new("RGB", (2600, 1700), "white")
    pen = ImageDraw.Draw(image)
    small, large = ImageFont.load_default(40), ImageFont.load_default(60)
    pen.text((1000, 20), "Sales by quarter", "black", large)
    for tick in range(0, 21, 5):
        pen.text((120, 1400 - 60 * tick), str(tick), "black", small, anchor="rm")
    truth = {"Company A": (12, 8, 17), "Company B": (6, 15, 10)}
    colours = ((220, 90, 20), (30, 90, 170))
    for place, ((series, values), colour) in enumerate(zip(truth.items(), colours, strict=True)):
        pen.ellipse((900 + 320 * place, 1545, 924 + 320 * place, 1569), fill=colour)
        pen.text((932 + 320 * place, 1557), series, "black", small, anchor="lm")
        for quarter, value in enumerate(values):
            x = 300 + 750 * quarter + 160 * place
            pen.rectangle((x, 1400 - 60 * value, x + 150, 1400), fill=colour)
    for quarter in range(3):
        pen.text((455 + 750 * quarter, 1440), f"Q{quarter + 1}", "black", small, anchor="mm")
    chart = read_chart(np.asarray(image, dtype=np.uint8))
    assert chart is not None
    found = {(one.series, one.category): one for one in chart.readings}
    for series, values in truth.items():
        for quarter, value in enumerate(values):
            reading = found[series, f"Q{quarter + 1}"]
            assert reading.value == pytest.approx(value, abs=0.3)
            assert reading.box[1] == pytest.approx(1400 - 60 * value, abs=8)


def test_names_of_two_lines() -> None:
    drawing = _Drawing()
    for tick in (0, 50, 100):
        drawing.text(str(tick), 130 + 3 * tick, 300)
    for at, (first, second) in enumerate((("Angela", "Merkel"), ("Vladimir", "Putin"))):
        y = 60 + 90 * at
        drawing.pen.rectangle((130, y, 130 + 150 + 60 * at, y + 40), fill=BLUE)
        drawing.text(first, 80, y + 12)
        drawing.text(second, 80, y + 28)
    assert [one.category for one in drawing.read().readings] == ["Angela Merkel", "Vladimir Putin"]


def test_labels_of_a_pie() -> None:
    drawing = _Drawing()
    drawing.pen.pieslice((150, 80, 350, 280), 0, 250, fill=BLUE)
    drawing.text("Not safe", 240, 150)
    drawing.text("76%", 240, 164)
    drawing.text("Safe 19.5 %", 420, 200)
    chart = drawing.read()
    assert chart.shape == "shares"
    found = [(one.category, one.value) for one in chart.readings]
    assert found == [("Not safe", 76), ("Safe", 19.5)]
    assert chart_of(drawing.lines[:-1], []) is None


def test_the_first_numbers_of_a_scale_may_be_unread() -> None:
    drawing, values = _Drawing(), {"Ina": 12, "Ole": 25, "Per": 8}
    for tick in (10, 15, 20, 25, 30):  # 0 and 5 are not among the texts
        drawing.text(str(tick), 110 + 12 * tick, 330)
    for at, (name, value) in enumerate(values.items()):
        y = 60 + 80 * at
        drawing.pen.rectangle((110, y, 110 + 12 * value, y + 40), fill=BLUE)
        drawing.text(name, 70, y + 20)
    found = {one.category: one.value for one in drawing.read().readings}
    assert found == {name: pytest.approx(value, abs=0.2) for name, value in values.items()}

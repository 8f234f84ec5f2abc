"""Charts: columns, rows and lines of one or two series, and the values they were drawn from."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

from pydantic import JsonValue

from lab.corpora.folio.canvas import Canvas, Point
from lab.corpora.folio.scene import Asked, Scene
from lab.corpora.folio.style import Style
from lab.corpora.world import CITIES, DEPARTMENTS, REGIONS

_YEARS = tuple(str(year) for year in range(2014, 2026))
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ORDERED = {"year": _YEARS, "month": _MONTHS}
_NAMED = {"region": REGIONS, "city": CITIES, "department": DEPARTMENTS}
_MEASURES = ("Orders", "Visitors", "Parcels", "Repairs", "Tonnes", "Members")
_SERIES = (("North", "South"), ("Planned", "Actual"), ("Online", "Shop"))
_STEPS = (2, 5, 10, 20, 25, 50, 100, 200)
# Series -> category -> value.
Values = dict[str, dict[str, int]]


class Plan(NamedTuple):
    """A chart before it is drawn."""

    shape: str
    noun: str
    categories: tuple[str, ...]
    values: Values
    step: int
    ticks: int
    labelled: bool
    title: str

    @property
    def top(self) -> int:
        """Value at the end of the axis."""
        return self.step * self.ticks


class Plot(NamedTuple):
    """Pixel box of the plot: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float


def chart(rng: Random, style: Style) -> Scene:
    """Draw a chart, and ask about it."""
    plan = _plan(rng)
    width, height = rng.randrange(520, 760), rng.randrange(360, 500)
    canvas = style.canvas(width, height)
    plot = Plot(96.0 if plan.shape == "rows" else 66.0, 56.0, width - 30.0, height - 54.0)
    canvas.text(width / 2, 20, plan.title, style.size + 3, style.ink, "middle", bold=True)
    _axis(canvas, plan, plot, style)
    {"columns": draw_columns, "rows": draw_rows, "lines": draw_lines}[plan.shape](
        canvas, plan, plot, style
    )
    several = len(plan.values) > 1
    x = plot.left + 8
    for number, name in enumerate(plan.values if several else ()):
        canvas.box(x, 37, x + 12, 47, style.colours[number])
        canvas.text(x + 18, 42, name, style.size - 1, style.ink)
        x += 34 + 9 * len(name)
    facts = tuple(
        f"{name} for {category} is {value}" if several else f"{category} is {value}"
        for name, row in plan.values.items()
        for category, value in row.items()
    )
    values: dict[str, JsonValue] = {name: {**row} for name, row in plan.values.items()}
    truth: dict[str, JsonValue] = {
        "shape": plan.shape,
        "values": values,
        "labelled": plan.labelled,
    }
    return Scene(canvas, _questions(plan, rng), facts, {"chart": truth})


def _plan(rng: Random) -> Plan:
    shape = rng.choice(("columns", "columns", "rows", "lines"))
    nouns = _ORDERED if shape == "lines" or rng.random() < 0.4 else _NAMED
    noun = rng.choice(list(nouns))
    count = rng.randint(4, 6)
    if nouns is _ORDERED:
        begin = rng.randrange(len(nouns[noun]) - count + 1)
        categories = nouns[noun][begin : begin + count]
    else:
        categories = tuple(rng.sample(nouns[noun], count))
    measure = rng.choice(_MEASURES)
    two = shape != "rows" and rng.random() < 0.35
    names = rng.choice(_SERIES) if two else (measure,)
    step, ticks = rng.choice(_STEPS), rng.randint(4, 6)
    top = step * ticks
    values = {name: dict(zip(categories, _spread(rng, count, top), strict=True)) for name in names}
    labelled = rng.random() < 0.5 and not (two and shape == "lines")
    return Plan(shape, noun, categories, values, step, ticks, labelled, f"{measure} by {noun}")


def _spread(rng: Random, count: int, top: int) -> list[int]:
    """Values between 15 and 97 % of the axis, no two nearer than 4 % of it."""
    while True:
        values = [rng.randint(max(2, round(0.15 * top)), int(0.97 * top)) for _ in range(count)]
        ordered = sorted(values)
        gaps = [after - before for before, after in pairwise(ordered)]
        if min(gaps) >= max(1, 0.04 * top):
            return values


def _axis(canvas: Canvas, plan: Plan, plot: Plot, style: Style) -> None:
    for tick in range(plan.ticks + 1):
        share, label = tick / plan.ticks, f"{tick * plan.step:,}"
        if plan.shape == "rows":
            x = plot.left + share * (plot.right - plot.left)
            ends, mark = [(x, plot.top), (x, plot.bottom)], [(x, plot.bottom), (x, plot.bottom + 4)]
            canvas.text(x, plot.bottom + 16, label, style.size - 1, style.ink, "middle")
        else:
            y = plot.bottom - share * (plot.bottom - plot.top)
            ends, mark = [(plot.left, y), (plot.right, y)], [(plot.left - 4, y), (plot.left, y)]
            canvas.text(plot.left - 9, y, label, style.size - 1, style.ink, "right")
        if style.grid:
            canvas.line(ends, style.faint)
        canvas.line(mark, style.ink)
    canvas.line([(plot.left, plot.top), (plot.left, plot.bottom), (plot.right, plot.bottom)],
                style.ink, 1.4)  # fmt: skip


def draw_columns(canvas: Canvas, plan: Plan, plot: Plot, style: Style) -> None:
    slot = (plot.right - plot.left) / len(plan.categories)
    wide = 0.68 * slot / len(plan.values)
    for position, category in enumerate(plan.categories):
        begin = plot.left + (position + 0.16) * slot
        for number, row in enumerate(plan.values.values()):
            x0 = begin + number * wide
            y = plot.bottom - row[category] / plan.top * (plot.bottom - plot.top)
            canvas.box(x0, y, x0 + 0.92 * wide, plot.bottom - 1, style.colours[number])
            if plan.labelled:
                canvas.text(x0 + 0.46 * wide, y - 9, f"{row[category]:,}", style.size - 2.5,
                            style.ink, "middle")  # fmt: skip
        x = plot.left + (position + 0.5) * slot
        canvas.text(x, plot.bottom + 18, category, style.size - 1.5, style.ink, "middle")


def draw_rows(canvas: Canvas, plan: Plan, plot: Plot, style: Style) -> None:
    slot = (plot.bottom - plot.top) / len(plan.categories)
    (row,) = plan.values.values()
    for position, category in enumerate(plan.categories):
        middle = plot.top + (position + 0.5) * slot
        x = plot.left + row[category] / plan.top * (plot.right - plot.left)
        top, bottom = middle - 0.32 * slot, middle + 0.32 * slot
        canvas.box(plot.left + 1, top, x, bottom, style.colours[0])
        canvas.text(plot.left - 8, middle, category, style.size - 1.5, style.ink, "right")
        if plan.labelled:
            inside = x > plot.right - 40
            colour = style.background if inside else style.ink
            canvas.text(x - 6 if inside else x + 6, middle, f"{row[category]:,}", style.size - 2,
                        colour, "right" if inside else "left")  # fmt: skip


def draw_lines(canvas: Canvas, plan: Plan, plot: Plot, style: Style) -> None:
    slot = (plot.right - plot.left) / len(plan.categories)
    for number, row in enumerate(plan.values.values()):
        points: list[Point] = [
            (plot.left + (position + 0.5) * slot,
             plot.bottom - row[category] / plan.top * (plot.bottom - plot.top))
            for position, category in enumerate(plan.categories)
        ]  # fmt: skip
        canvas.line(points, style.colours[number], 2.2)
        for (x, y), category in zip(points, plan.categories, strict=True):
            canvas.disc(x, y, 4.2, style.colours[number])
            if plan.labelled:
                canvas.text(x, y - 13, f"{row[category]:,}", style.size - 2, style.ink, "middle")
    for position, category in enumerate(plan.categories):
        x = plot.left + (position + 0.5) * slot
        canvas.text(x, plot.bottom + 18, category, style.size - 1.5, style.ink, "middle")


def _questions(plan: Plan, rng: Random) -> list[Asked]:
    name = rng.choice(list(plan.values))
    row = plan.values[name]
    whose = f" of {name}" if len(plan.values) > 1 else ""
    first, two = rng.sample(plan.categories, 2)
    best = max(row, key=lambda category: row[category])
    least = min(row, key=lambda category: row[category])
    superlative, extreme = rng.choice((("highest", best), ("lowest", least)))
    total = row[first] + row[two]
    compare = f"Which {plan.noun} has the {superlative} value{whose}?"
    return [
        Asked("read", f"What is the value{whose} for {first}?", str(row[first]), "relaxed"),
        Asked("compare", compare, extreme),
        Asked("add", f"What do {first} and {two}{whose} come to together?", str(total), "relaxed"),
    ]

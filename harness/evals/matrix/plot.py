"""A plot of quality against cost as SVG: no library of plots, readable without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.core import Value, render_page

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 736, 44, 398
"""Edges of the plot inside the image."""
LETTER = 6.6
"""Width of a letter of a label, on average."""
TEMPLATE = Path(__file__).parent / "templates" / "plot.svg.j2"


class Point(Value):
    """One run.

    Attributes:
        label: beside the point.
        cost: per attempt, at least 0.
        quality: pass rate.
        low: lower end of its interval.
        high: upper end.
    """

    label: str
    cost: float
    quality: float
    low: float
    high: float


def pareto(points: Sequence[Point]) -> list[int]:
    """Indexes of the points that none beats in cost and quality, ties too, the cheapest first."""

    def beaten(point: Point) -> bool:
        figures = point.cost, point.quality
        rivals = (rival for rival in points if (rival.cost, rival.quality) != figures)
        return any(rival.cost <= figures[0] and rival.quality >= figures[1] for rival in rivals)

    front = (index for index, point in enumerate(points) if not beaten(point))
    return sorted(front, key=lambda index: points[index].cost)


def cost_plot(points: Sequence[Point], title: str, unit: str) -> str:
    """The plot: intervals as bars, the Pareto front as a line through filled points.

    Costs stand on a logarithmic scale where the dearest is more than 30 times the cheapest.
    """
    least, most = min(point.cost for point in points), max(point.cost for point in points)
    logarithmic = least > 0 and most / least > 30
    if logarithmic:
        low, high = math.log10(least) - 0.1, math.log10(most) + 0.25
        powers = range(math.ceil(low), math.floor(high) + 1)
        ticks = [10.0**power for power in powers]
        if len(ticks) < 2:
            ticks = [10**low * 1.3, 10**high / 1.3]
    else:
        low, high = 0.0, (most or 1.0) * 1.15
        step = 10 ** math.floor(math.log10(high / 2))
        step = next(step * by for by in (1, 2, 5, 10) if high / (step * by) <= 6)
        ticks = [step * number for number in range(int(high / step) + 1)]

    def x_of(cost: float) -> float:
        value = math.log10(cost) if logarithmic else cost
        return round(LEFT + (value - low) / (high - low) * (RIGHT - LEFT), 1)

    def y_of(rate: float) -> float:
        return round(TOP + (1 - rate) * (BOTTOM - TOP), 1)

    front = pareto(points)
    labels: list[tuple[float, float, float]] = []
    marks: list[dict[str, Any]] = []
    for index, point in enumerate(points):
        x, y, width = x_of(point.cost), y_of(point.quality), LETTER * len(point.label)
        on_left = x + 9 + width > WIDTH - 4
        start = x - 9 - width if on_left else x + 9
        row = _free_row(start, start + width, y + 4, labels)
        labels.append((start, start + width, row))
        marks.append({
            "x": x, "y": y, "low": y_of(point.low), "high": y_of(point.high),
            "best": index in front, "label": point.label, "label_y": round(row, 1),
            "label_x": round(x - 9 if on_left else x + 9, 1),
            "anchor": "end" if on_left else "start",
        })  # fmt: skip
    return render_page(
        TEMPLATE,
        title=title, unit=unit, logarithmic=logarithmic, points=marks,
        width=WIDTH, height=HEIGHT, left=LEFT, right=RIGHT, bottom=BOTTOM,
        rows=[(y_of(percent / 100), f"{percent} %") for percent in (0, 25, 50, 75, 100)],
        ticks=[(x_of(tick), f"{tick:.3g}") for tick in ticks],
        front=" ".join(f"{marks[index]['x']},{marks[index]['y']}" for index in front),
    ) + "\n"  # fmt: skip


def _free_row(
    begin: float, end: float, y: float, labels: Sequence[tuple[float, float, float]]
) -> float:
    """The row nearest to `y` where no label lies yet between `begin` and `end`."""
    for shift in range(0, HEIGHT, 15):
        for row in (y + shift, y - shift):
            inside = TOP + 6 <= row <= BOTTOM - 4
            if inside and all(
                abs(row - used) >= 14 or end < first or begin > last for first, last, used in labels
            ):
                return row
    return y

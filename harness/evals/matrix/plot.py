"""A plot of quality against cost as SVG, written by hand: no library, readable without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from harness.core import Value

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 44, 62
LETTER = 6.6
"""Width of a letter of a label, on average."""
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1c2024; } .soft { fill: #5b6570; font-size: 12px; }
.line { stroke: #d5dae0; } .error { stroke: #8a94a0; } .front { stroke: #0b57d0; fill: none; }
.dot { fill: #ffffff; stroke: #5b6570; } .best { fill: #0b57d0; stroke: #0b57d0; }
.back { fill: #ffffff; } .title { font-size: 15px; font-weight: 600; }
@media (prefers-color-scheme: dark) { .back { fill: #16191d; } text { fill: #e8eaed; }
.soft { fill: #a3adb8; } .line { stroke: #343b43; } .front { stroke: #8ab4f8; }
.dot { fill: #16191d; stroke: #a3adb8; } .best { fill: #8ab4f8; stroke: #8ab4f8; } }
"""


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
    """Indexes of the points that no other beats in cost and quality, the cheapest first."""
    order = sorted(
        range(len(points)), key=lambda index: (points[index].cost, -points[index].quality)
    )
    best, front = -1.0, list[int]()
    for index in order:
        if points[index].quality > best:
            best = points[index].quality
            front.append(index)
    return front


def cost_plot(points: Sequence[Point], title: str, unit: str) -> str:
    """The plot: intervals as bars, the Pareto front as a line through filled points.

    Costs stand on a logarithmic scale where the dearest is more than 30 times the cheapest.
    """
    costs = [point.cost for point in points]
    scale = _Scale(costs)
    front = pareto(points)
    steps = [(scale.x(points[index].cost), _y(points[index].quality)) for index in front]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in steps)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
        _text(LEFT, 22, title, "title"),
        *_grid(scale, unit),
        f'<polyline class="front" stroke-width="2" points="{path}"/>',
        *_points(points, scale, frozenset(front)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Scale:
    """From costs to places; logarithmic where they differ much."""

    def __init__(self, costs: Sequence[float]) -> None:
        least, most = min(costs), max(costs)
        self.log = least > 0 and most / least > 30
        if self.log:
            self.low, self.high = math.log10(least) - 0.1, math.log10(most) + 0.25
        else:
            self.low, self.high = 0.0, (most or 1.0) * 1.15

    def x(self, cost: float) -> float:
        value = math.log10(cost) if self.log else cost
        return LEFT + (value - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        if self.log:
            powers = range(math.ceil(self.low), math.floor(self.high) + 1)
            if len(powers) > 1:
                return [10.0**power for power in powers]
            return [10**self.low * 1.3, 10**self.high / 1.3]
        step = 10 ** math.floor(math.log10(self.high / 2))
        step = next(step * by for by in (1, 2, 5, 10) if self.high / (step * by) <= 6)
        return [step * number for number in range(int(self.high / step) + 1)]


def _y(rate: float) -> float:
    return TOP + (1 - rate) * (HEIGHT - TOP - BOTTOM)


def _grid(scale: _Scale, unit: str) -> list[str]:
    parts: list[str] = []
    for percent in (0, 25, 50, 75, 100):
        y = _y(percent / 100)
        parts.append(
            f'<line class="line" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(LEFT - 8, y + 4, f"{percent} %", "soft", "end"))
    row = HEIGHT - BOTTOM + 20
    parts += [_text(scale.x(tick), row, f"{tick:.3g}", "soft", "middle") for tick in scale.ticks()]
    kind = ", logarithmic" if scale.log else ""
    parts.append(
        _text((LEFT + WIDTH) / 2, HEIGHT - 14, f"{unit} per attempt{kind}", "soft", "middle")
    )
    parts.append(_text(8, TOP - 10, "passed", "soft"))
    return parts


def _points(points: Sequence[Point], scale: _Scale, front: frozenset[int]) -> list[str]:
    parts: list[str] = []
    labels: list[tuple[float, float, float]] = []
    for index, point in enumerate(points):
        x, y = scale.x(point.cost), _y(point.quality)
        kind = "best" if index in front else "dot"
        parts.append(
            f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(point.low):.1f}" '
            f'y2="{_y(point.high):.1f}"/><circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        )
        width = LETTER * len(point.label)
        on_left = x + 9 + width > WIDTH - 4
        left = x - 9 - width if on_left else x + 9
        row = _free_row(left, left + width, y + 4, labels)
        labels.append((left, left + width, row))
        anchor = "end" if on_left else ""
        parts.append(_text(x - 9 if on_left else x + 9, row, point.label, "", anchor))
    return parts


def _free_row(
    left: float, right: float, y: float, labels: Sequence[tuple[float, float, float]]
) -> float:
    """The row nearest to `y` where no label lies yet between `left` and `right`."""
    for shift in range(0, HEIGHT, 15):
        for row in (y + shift, y - shift):
            inside = TOP + 6 <= row <= HEIGHT - BOTTOM - 4
            if inside and all(
                abs(row - used) >= 14 or right < start or left > end for start, end, used in labels
            ):
                return row
    return y


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'

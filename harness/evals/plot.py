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
    """Places of the points that no other one beats in cost and quality, the cheapest first."""
    order = sorted(range(len(points)), key=lambda at: (points[at].cost, -points[at].quality))
    best, front = -1.0, list[int]()
    for at in order:
        if points[at].quality > best:
            best = points[at].quality
            front.append(at)
    return front


def cost_plot(points: Sequence[Point], title: str, unit: str) -> str:
    """The plot: intervals as bars, the Pareto front as a line through filled points.

    Costs stand on a logarithmic scale where the dearest is more than 30 times the cheapest.
    """
    costs = [one.cost for one in points]
    scale = _Scale(costs)
    front = pareto(points)
    steps = [(scale.x(points[at].cost), _y(points[at].quality)) for at in front]
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
            whole = range(math.ceil(self.low), math.floor(self.high) + 1)
            found = [10.0**power for power in whole]
            return found if len(found) > 1 else [10**self.low * 1.3, 10**self.high / 1.3]
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
    parts += [_text(scale.x(one), row, f"{one:.3g}", "soft", "middle") for one in scale.ticks()]
    kind = ", logarithmic" if scale.log else ""
    parts.append(
        _text((LEFT + WIDTH) / 2, HEIGHT - 14, f"{unit} per attempt{kind}", "soft", "middle")
    )
    parts.append(_text(8, TOP - 10, "passed", "soft"))
    return parts


def _points(points: Sequence[Point], scale: _Scale, front: frozenset[int]) -> list[str]:
    parts: list[str] = []
    places = [(scale.x(one.cost), _y(one.quality)) for one in points]
    taken: list[tuple[float, float, float]] = []
    for at, (one, (x, y)) in enumerate(zip(points, places, strict=True)):
        kind = "best" if at in front else "dot"
        parts.append(
            f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{_y(one.low):.1f}" '
            f'y2="{_y(one.high):.1f}"/><circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        )
        wide = LETTER * len(one.label)
        right = x + 9 + wide > WIDTH - 4
        left = x - 9 - wide if right else x + 9
        row = _free(left, left + wide, y + 4, taken)
        parts.append(_text(x - 9 if right else x + 9, row, one.label, "", "end" if right else ""))
    return parts


def _free(left: float, right: float, y: float, taken: list[tuple[float, float, float]]) -> float:
    """The nearest row where no label lies yet between these places."""
    rows = (y + sign * shift for shift in range(0, HEIGHT, 15) for sign in (1, -1))
    inside = (row for row in rows if TOP + 6 <= row <= HEIGHT - BOTTOM - 4)
    free = (
        row for row in inside
        if all(abs(row - other) >= 14 or right < start or left > end for start, end, other in taken)
    )  # fmt: skip
    row = next(free, y)
    taken.append((left, right, row))
    return row


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'

"""Where scenes are drawn: one set of verbs, two renderers that share no drawing code.

Coordinates are pixels of the finished image, from the left and from the top. Texts are anchored at
half their height.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from harness.core import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]
Point = tuple[float, float]
Anchor = Literal["left", "middle", "right"]


class Canvas(Protocol):
    """What a scene draws on."""

    def box(
        self,
        x0: float,
        top: float,
        right: float,
        bottom: float,
        fill: Colour | None = None,
        edge: Colour | None = None,
    ) -> None:
        """A rectangle, filled, outlined or both."""
        ...  # fmt: skip

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1.0) -> None:
        """A line through points."""
        ...

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """A filled circle."""
        ...

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
        ...

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: Colour,
        anchor: Anchor = "left",
        *,
        bold: bool = False,
    ) -> None:
        """A line of text."""
        ...  # fmt: skip

    def image(self) -> Image:
        """The finished picture, mode RGB."""
        ...


def module(name: str) -> Any:
    """A module that drawing needs.

    Raises:
        BadInput: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise BadInput(
            f"drawing pictures needs {name.partition('.')[0]} ({error}): "
            "pip install 'agent-skill-harness[vqa]'"
        ) from error


class PillowCanvas:
    """Draws with Pillow, in its own typeface.

    Args:
        width: in pixels.
        height: in pixels.
        background: colour of the paper.
        finer: drawn so many times larger and reduced, for smooth edges; 1 leaves them hard.
    """

    _ANCHORS = {"left": "lm", "middle": "mm", "right": "rm"}

    def __init__(self, width: int, height: int, background: Colour, finer: int = 1) -> None:
        self._finer, self._size = finer, (width, height)
        drawing = module("PIL.Image").new("RGB", (width * finer, height * finer), background)
        self._image: Image = drawing
        self._pen = module("PIL.ImageDraw").Draw(drawing)

    def box(
        self,
        x0: float,
        top: float,
        right: float,
        bottom: float,
        fill: Colour | None = None,
        edge: Colour | None = None,
    ) -> None:
        """See :class:`Canvas`."""  # fmt: skip
        corners = self._at([(x0, top), (right, bottom)])
        self._pen.rectangle(corners, fill=fill, outline=edge, width=self._finer)

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1.0) -> None:
        """See :class:`Canvas`."""
        thick = max(1, round(width * self._finer))
        self._pen.line(self._at(points), fill=colour, width=thick)

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """See :class:`Canvas`."""
        corners = self._at([(x - radius, y - radius), (x + radius, y + radius)])
        self._pen.ellipse(corners, fill=fill)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """See :class:`Canvas`."""
        self._pen.polygon(self._at(points), fill=fill)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        colour: Colour,
        anchor: Anchor = "left",
        *,
        bold: bool = False,
    ) -> None:
        """See :class:`Canvas`."""  # fmt: skip
        font = module("PIL.ImageFont").load_default(size * self._finer)
        self._pen.text(
            self._at([(x, y)])[0], text, fill=colour, font=font, anchor=self._ANCHORS[anchor],
            stroke_width=0.35 * self._finer if bold else 0,
        )  # fmt: skip

    def image(self) -> Image:
        """See :class:`Canvas`."""
        if self._finer == 1:
            return self._image
        return self._image.resize(self._size, module("PIL.Image").Resampling.LANCZOS)

    def _at(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self._finer, y * self._finer) for x, y in points]

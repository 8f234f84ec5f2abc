"""Style families: renderer, typeface, colours, grid, and what copying did to the picture."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, Literal

from lab.corpora.folio.canvas import Canvas, Colour, Face, PdfCanvas, PillowCanvas, module

if TYPE_CHECKING:
    from PIL.Image import Image

Family = Literal["plain", "print", "slide", "newsprint"]
# Families of all splits.
KNOWN: tuple[Family, ...] = ("plain", "print", "slide")
# The family that only the test split has.
UNSEEN: Family = "newsprint"
_FACES: tuple[Face, ...] = ("Helvetica", "Times", "Courier")
_BRIGHT: tuple[Colour, ...] = (
    (31, 119, 180), (214, 84, 32), (44, 140, 60), (148, 70, 170), (190, 150, 20), (20, 150, 160),
    (200, 50, 90), (90, 90, 200),
)  # fmt: skip
_MUTED: tuple[Colour, ...] = (
    (86, 110, 140), (160, 96, 80), (104, 130, 90), (130, 104, 150), (170, 150, 100), (80, 130, 130),
)  # fmt: skip
_GLOWING: tuple[Colour, ...] = (
    (90, 200, 250), (255, 160, 90), (140, 230, 140), (240, 130, 200), (250, 220, 100),
)  # fmt: skip
_GREYS: tuple[Colour, ...] = ((60, 56, 50), (130, 124, 112), (95, 90, 80))


@dataclass(frozen=True)
class Style:
    """Look of a picture.

    Attributes:
        family: which family it belongs to.
        background: colour of the paper.
        ink: colour of text and axes.
        faint: colour of the grid.
        colours: of what is shown, in order.
        face: typeface of the PDF renderer; None draws with Pillow.
        finer: oversampling of Pillow.
        size: of ordinary text, in pixels.
        grid: whether charts have grid lines.
        noise: standard deviation of the grain, in grey values.
        tilt: degrees by which the picture lies askew.
        quality: of the JPEG; None saves PNG.
    """

    family: Family
    background: Colour
    ink: Colour
    faint: Colour
    colours: tuple[Colour, ...]
    face: Face | None
    finer: int
    size: float
    grid: bool
    noise: float
    tilt: float
    quality: int | None

    def canvas(self, width: int, height: int) -> Canvas:
        """An empty canvas of the family's renderer."""
        if self.face is None:
            return PillowCanvas(width, height, self.background, self.finer)
        return PdfCanvas(width, height, self.background, self.face)


def draw_style(family: Family, rng: Random) -> Style:
    """A style of the family."""
    size, grid = rng.uniform(12.5, 16.0), rng.random() < 0.6
    if family == "plain":
        white = (255, 255, 255)
        colours = tuple(rng.sample(_BRIGHT, 4))
        quality = rng.choice((None, 80, 90))
        return Style(family, white, (20, 20, 20), (215, 215, 215), colours, None, 1, size, grid,
                     rng.choice((0.0, 2.0)), 0.0, quality)  # fmt: skip
    if family == "print":
        paper = rng.choice(((255, 255, 255), (252, 250, 242), (244, 246, 250)))
        colours = tuple(rng.sample(_MUTED, 4))
        return Style(family, paper, (40, 40, 44), (205, 205, 200), colours, rng.choice(_FACES), 1,
                     size, grid, rng.uniform(0, 4), 0.0, rng.randint(65, 92))  # fmt: skip
    if family == "slide":
        night = rng.choice(((24, 28, 40), (16, 42, 54), (40, 26, 44)))
        colours = tuple(rng.sample(_GLOWING, 4))
        return Style(family, night, (236, 238, 242), (72, 78, 92), colours, None, 3, size + 1, grid,
                     rng.uniform(0, 3), 0.0, rng.randint(70, 95))  # fmt: skip
    paper = rng.choice(((226, 220, 204), (236, 232, 220)))
    face: Face = rng.choice(("Times", "Courier"))
    return Style(family, paper, (44, 40, 36), (190, 184, 168), _GREYS, face, 1, size + 1, grid,
                 rng.uniform(5, 9), rng.uniform(-0.8, 0.8), rng.randint(50, 70))  # fmt: skip


def finished(image: Image, style: Style, rng: Random) -> tuple[str, bytes]:
    """The picture as a file: tilted, grained, compressed; its suffix and its bytes."""
    if style.tilt:
        resample = module("PIL.Image").Resampling.BICUBIC
        image = image.rotate(style.tilt, resample, fillcolor=style.background)
    if style.noise:
        import numpy as np

        values = np.asarray(image, dtype=np.float64)
        draws = np.random.default_rng(rng.randrange(2**32))
        grain = draws.normal(0.0, style.noise, size=values.shape[:2])[:, :, None]
        image = module("PIL.Image").fromarray(np.clip(values + grain, 0, 255).astype(np.uint8))
    out = BytesIO()
    if style.quality is None:
        image.save(out, "PNG", compress_level=9)
        return ".png", out.getvalue()
    image.save(out, "JPEG", quality=style.quality)
    return ".jpg", out.getvalue()

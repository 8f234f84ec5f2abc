"""Canvases for scenes: two renderers with the same verbs that share no drawing code.

Coordinates are pixels of the finished image, from the left and from the top. Texts are anchored at
half their height.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from harness.core import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]
Point = tuple[float, float]
Anchor = Literal["left", "middle", "right"]
Face = Literal["Helvetica", "Times", "Courier"]
_NAMES: dict[Face, tuple[str, str]] = {
    "Helvetica": ("Helvetica", "Helvetica-Bold"),
    "Times": ("Times-Roman", "Times-Bold"),
    "Courier": ("Courier", "Courier-Bold"),
}
# Length of the handles of a quarter circle as a Bezier curve, in radii.
_CIRCLE = 0.5523
# Widths of characters in ems where they are not near 0.54; within a few per cent of the faces.
_WIDE: dict[str, float] = {
    **dict.fromkeys("ijl'|", 0.22),
    **dict.fromkeys(" .,:;/!It-()fr", 0.29),
    **dict.fromkeys("mMW@%", 0.86),
    **dict.fromkeys("ABCDEFGHKNOPQRSUVXYZw&", 0.7),
}


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
        """A rectangle, filled, outlined or both."""
        corners = self._at([(x0, top), (right, bottom)])
        self._pen.rectangle(corners, fill=fill, outline=edge, width=self._finer)

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1.0) -> None:
        """A line through points."""
        thick = max(1, round(width * self._finer))
        self._pen.line(self._at(points), fill=colour, width=thick)

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """A filled circle."""
        corners = self._at([(x - radius, y - radius), (x + radius, y + radius)])
        self._pen.ellipse(corners, fill=fill)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
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
        """A line of text."""
        font = module("PIL.ImageFont").load_default(size * self._finer)
        self._pen.text(
            self._at([(x, y)])[0], text, fill=colour, font=font, anchor=self._ANCHORS[anchor],
            stroke_width=0.35 * self._finer if bold else 0,
        )  # fmt: skip

    def image(self) -> Image:
        """The finished picture, mode RGB."""
        if self._finer == 1:
            return self._image
        return self._image.resize(self._size, module("PIL.Image").Resampling.LANCZOS)

    def _at(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self._finer, y * self._finer) for x, y in points]


class PdfCanvas:
    """Draws with pdfium.

    Args:
        width: in pixels.
        height: in pixels.
        background: colour of the paper.
        face: typeface.
    """

    def __init__(self, width: int, height: int, background: Colour, face: Face) -> None:
        self._size = (width, height)
        self._face: Face = face
        self._drawn: list[str] = []
        self.box(0, 0, width, height, fill=background)

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
        area = f"{x0:.2f} {self._up(bottom):.2f} {right - x0:.2f} {bottom - top:.2f} re"
        if fill is not None:
            self._drawn.append(f"{_rgb(fill)} rg {area} f")
        if edge is not None:
            self._drawn.append(f"{_rgb(edge)} RG 1 w {area} S")

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1.0) -> None:
        """A line through points."""
        self._drawn.append(f"{_rgb(colour)} RG {width:.2f} w {self._path(points)} S")

    def disc(self, x: float, y: float, radius: float, fill: Colour) -> None:
        """A filled circle."""
        up, reach = self._up(y), radius * _CIRCLE
        quarters = [
            (x + radius, up + reach, x + reach, up + radius, x, up + radius),
            (x - reach, up + radius, x - radius, up + reach, x - radius, up),
            (x - radius, up - reach, x - reach, up - radius, x, up - radius),
            (x + reach, up - radius, x + radius, up - reach, x + radius, up),
        ]
        curves = " ".join(
            " ".join(f"{value:.2f}" for value in quarter) + " c" for quarter in quarters
        )
        self._drawn.append(f"{_rgb(fill)} rg {x + radius:.2f} {up:.2f} m {curves} f")

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
        self._drawn.append(f"{_rgb(fill)} rg {self._path(points)} h f")

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
        share = {"left": 0.0, "middle": 0.5, "right": 1.0}[anchor]
        x0 = x - share * self._length(text, size)
        base = self._up(y + 0.35 * size)
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        font = "F2" if bold else "F1"
        position = f"BT /{font} {size:.2f} Tf {x0:.2f} {base:.2f} Td"
        self._drawn.append(f"{_rgb(colour)} rg {position} ({escaped}) Tj ET")

    def image(self) -> Image:
        """The finished picture, mode RGB."""
        document = module("pypdfium2").PdfDocument(self._file())
        try:
            return document[0].render(scale=1).to_pil().convert("RGB")
        finally:
            document.close()

    def _length(self, text: str, size: float) -> float:
        if self._face == "Courier":
            return 0.6 * size * len(text)
        narrow = 0.9 if self._face == "Times" else 1.0
        return narrow * size * sum(_WIDE.get(character, 0.54) for character in text)

    def _up(self, y: float) -> float:
        """PDF counts from the bottom."""
        return self._size[1] - y

    def _path(self, points: Sequence[Point]) -> str:
        pairs = [f"{x:.2f} {self._up(y):.2f}" for x, y in points]
        return " ".join([f"{pairs[0]} m", *(f"{pair} l" for pair in pairs[1:])])

    def _file(self) -> bytes:
        plain, bold = _NAMES[self._face]
        stream = "\n".join(self._drawn).encode("latin-1", "replace")
        fonts = " ".join(
            f"/F{number} << /Type /Font /Subtype /Type1 /BaseFont /{name} "
            "/Encoding /WinAnsiEncoding >>"
            for number, name in enumerate((plain, bold), 1)
        )
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self._size[0]} {self._size[1]}] "
            f"/Contents 4 0 R /Resources << /Font << {fonts} >> >> >>".encode(),
            f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream",
        ]
        return pdf_file(objects)


def pdf_file(objects: Sequence[bytes]) -> bytes:
    """A PDF of these objects, the first of them its catalogue."""
    out, starts = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, body in enumerate(objects, 1):
        starts.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(out)
    rows = "".join(f"{start:010} 00000 n \n" for start in starts)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    return bytes(out + trailer.encode())


def _rgb(colour: Colour) -> str:
    return " ".join(f"{value / 255:.3f}" for value in colour)


# What a scene draws on.
Canvas = PillowCanvas | PdfCanvas

"""Run one reader on one picture: `python eyes OPERATION JSON`; prints one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from .chart import read_chart
from .grid import read_grid
from .ocr import Line, Pixels, read_lines
from .receipt import read_receipt
from .shapes import count_shapes, find_shapes

_MOST_PIXELS = 64_000_000
_MOST_ZOOM = 1600
Arguments = dict[str, Any]


def opened(arguments: Arguments) -> tuple[Pixels, tuple[int, int]]:
    """The picture, or the box of it that is asked for, and where that box begins."""
    with Image.open(arguments["file"]) as handle:
        if handle.width * handle.height > _MOST_PIXELS:
            raise ValueError(f"the picture has more than {_MOST_PIXELS:,} pixels")
        image = ImageOps.exif_transpose(handle).convert("RGB")
    box = arguments.get("box") or [0, 0, image.width, image.height]
    x0, y0, x1, y1 = (round(float(value)) for value in box)
    x0, y0 = max(0, x0), max(0, y0)
    x1, y1 = min(image.width, x1), min(image.height, y1)
    if x1 - x0 < 2 or y1 - y0 < 2:
        raise ValueError(f"the box {box} is empty; the picture is {image.width} x {image.height}")
    part = image.crop((x0, y0, x1, y1))
    return np.asarray(part, dtype=np.uint8), (x0, y0)


def zoom(arguments: Arguments) -> Any:
    """Cut a box out and enlarge it into a file of its own."""
    pixels, (x, y) = opened(arguments)
    height, width = pixels.shape[:2]
    scale = min(8.0, _MOST_ZOOM / max(width, height))
    part = Image.fromarray(pixels)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    name = f"zoom-{x}-{y}-{x + width}-{y + height}.png"
    part.resize(size, Image.Resampling.LANCZOS).save(name)
    return {"file": name, "box": [x, y, x + width, y + height], "size": list(size)}


def ocr(arguments: Arguments) -> Any:
    """Lines of text with their boxes."""
    return [_shown(line) for line in _lines(arguments)]


def table(arguments: Arguments) -> Any:
    """Rows of cells, from top to bottom and from left to right."""
    pixels, corner = opened(arguments)
    return [[_shown(cell, corner) for cell in row] for row in read_grid(pixels)]


def chart(arguments: Arguments) -> Any:
    """The values of a chart."""
    reading = read_chart(opened(arguments)[0])
    if reading is None:
        return {
            "error": "no scale of three numbers was found, and no bars or shares with printed ones"
        }
    values = [value._asdict() for value in reading.readings]
    return {"shape": reading.shape, "title": reading.title, "tilt": reading.tilt, "values": values}


def receipt(arguments: Arguments) -> Any:
    """Company, date, address and total of a receipt."""
    return read_receipt(_lines(arguments))._asdict()


def shapes(arguments: Arguments) -> Any:
    """Coloured shapes and how many there are of each."""
    pixels, (x, y) = opened(arguments)
    shape_list = find_shapes(pixels)
    placed = [
        shape._asdict() | {"box": [end + (x, y)[axis % 2] for axis, end in enumerate(shape.box)]}
        for shape in shape_list
    ]
    return {"counts": count_shapes(shape_list), "shapes": placed}


def _lines(arguments: Arguments) -> list[Line]:
    """Lines in coordinates of the whole picture."""
    pixels, (x, y) = opened(arguments)
    return [
        line._replace(left=line.left + x, right=line.right + x, top=line.top + y,
                      bottom=line.bottom + y)
        for line in read_lines(pixels)
    ]  # fmt: skip


def _shown(line: Line, corner: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    x, y = corner
    box = [
        round(line.left) + x, round(line.top) + y, round(line.right) + x, round(line.bottom) + y,
    ]  # fmt: skip
    return {"text": line.text, "box": box, "sure": line.sure}


_OPERATIONS: dict[str, Callable[[Arguments], Any]] = {
    "zoom": zoom,
    "ocr": ocr,
    "table": table,
    "chart": chart,
    "receipt": receipt,
    "shapes": shapes,
}

if __name__ == "__main__":
    try:
        print(json.dumps(_OPERATIONS[sys.argv[1]](json.loads(sys.argv[2])), ensure_ascii=False))
    except (OSError, ValueError, KeyError, SyntaxError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))

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

MOST_PIXELS = 64_000_000
MOST_ZOOM = 1600
Arguments = dict[str, Any]


def opened(arguments: Arguments) -> tuple[Pixels, tuple[int, int]]:
    """The picture, or the box of it that is asked for, and where that box begins."""
    with Image.open(arguments["file"]) as handle:
        if handle.width * handle.height > MOST_PIXELS:
            raise ValueError(f"the picture has more than {MOST_PIXELS:,} pixels")
        image = ImageOps.exif_transpose(handle).convert("RGB")
    box = arguments.get("box") or [0, 0, image.width, image.height]
    left, top, right, bottom = (round(float(value)) for value in box)
    left, top = max(0, left), max(0, top)
    right, bottom = min(image.width, right), min(image.height, bottom)
    if right - left < 2 or bottom - top < 2:
        raise ValueError(f"the box {box} is empty; the picture is {image.width} x {image.height}")
    part = image.crop((left, top, right, bottom))
    return np.asarray(part, dtype=np.uint8), (left, top)


def zoom(arguments: Arguments) -> Any:
    """Cut a box out and enlarge it into a file of its own."""
    pixels, (left, top) = opened(arguments)
    height, width = pixels.shape[:2]
    scale = min(8.0, MOST_ZOOM / max(width, height))
    part = Image.fromarray(pixels)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    name = f"zoom-{left}-{top}-{left + width}-{top + height}.png"
    part.resize(size, Image.Resampling.LANCZOS).save(name)
    return {"file": name, "box": [left, top, left + width, top + height], "size": list(size)}


def ocr(arguments: Arguments) -> Any:
    """Lines of text with their boxes."""
    return [_shown(line) for line in _lines(arguments)]


def table(arguments: Arguments) -> Any:
    """Rows of cells, from top to bottom and from left to right."""
    pixels, corner = opened(arguments)
    return [[_shown(cell, corner) for cell in row] for row in read_grid(pixels)]


def chart(arguments: Arguments) -> Any:
    """The values of a chart."""
    found = read_chart(opened(arguments)[0])
    if found is None:
        return {
            "error": "no scale of three numbers was found, and no bars or shares with printed ones"
        }
    readings = [reading._asdict() for reading in found.readings]
    return {"shape": found.shape, "title": found.title, "tilt": found.tilt, "values": readings}


def receipt(arguments: Arguments) -> Any:
    """Company, date, address and total of a receipt."""
    return read_receipt(_lines(arguments))._asdict()


def shapes(arguments: Arguments) -> Any:
    """Coloured shapes and how many there are of each."""
    pixels, (left, top) = opened(arguments)
    found = find_shapes(pixels)
    boxes = [
        one._replace(box=(one.box[0] + left, one.box[1] + top, one.box[2] + left, one.box[3] + top))
        for one in found
    ]
    return {"counts": count_shapes(found), "shapes": [one._asdict() for one in boxes]}


def _lines(arguments: Arguments) -> list[Line]:
    """Lines in coordinates of the whole picture."""
    pixels, (left, top) = opened(arguments)
    return [
        line._replace(left=line.left + left, right=line.right + left, top=line.top + top,
                      bottom=line.bottom + top)
        for line in read_lines(pixels)
    ]  # fmt: skip


def _shown(line: Line, corner: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    left, top = corner
    box = [
        round(line.left) + left, round(line.top) + top,
        round(line.right) + left, round(line.bottom) + top,
    ]  # fmt: skip
    return {"text": line.text, "box": box, "sure": line.sure}


OPERATIONS: dict[str, Callable[[Arguments], Any]] = {
    "zoom": zoom,
    "ocr": ocr,
    "table": table,
    "chart": chart,
    "receipt": receipt,
    "shapes": shapes,
}

if __name__ == "__main__":
    try:
        print(json.dumps(OPERATIONS[sys.argv[1]](json.loads(sys.argv[2])), ensure_ascii=False))
    except (OSError, ValueError, KeyError, SyntaxError) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))

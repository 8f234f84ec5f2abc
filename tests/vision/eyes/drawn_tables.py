"""Tables drawn at random: rulings, bands, bare columns or a stem, with and without a title."""

from __future__ import annotations

from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from harness.vision.eyes.ocr import Pixels

_NAMES = ("Elsholm", "Brennick", "paper kite", "wool scarf", "Dunmere Hall", "train ticket", "Ina")
_HEADS = (("Town", "Bikes", "Cars"), ("Thing", "Price", "Weight (kg)"), ("Name", "Age", "Hours"))


def drawn(seed: int) -> tuple[Pixels, list[list[str]], bool]:
    """A picture of a table, the texts of its rows, and whether a title stands over them."""
    rng = Random(seed)
    kind = rng.choice(("ruled", "banded", "bare", "stem"))
    rows = _texts(rng, kind)
    title = kind != "banded" and rng.random() < 0.5
    size = rng.choice((15, 17, 20))
    font, tall = ImageFont.load_default(size), size + rng.randint(8, 14)
    pad = rng.randint(5, 9) if kind in ("ruled", "stem") else rng.randint(9, 16)
    wide = [
        round(max(font.getlength(row[at]) for row in rows)) + 2 * pad for at in range(len(rows[0]))
    ]
    ends = [sum(wide[:at]) for at in range(len(wide) + 1)]
    margin = rng.choice((0, 14))
    width, height = ends[-1] + 2 * margin + 2, (len(rows) + title) * tall + 2 * margin + 2
    image = Image.new("RGB", (max(width, 150), height), "white")
    pen = ImageDraw.Draw(image)
    colour = tuple(rng.randrange(60, 150) for _ in range(3))
    if title:
        pen.text((width / 2, margin + tall / 2), "Data", fill="black", font=font, anchor="mm")
    top = margin + title * tall
    for number, row in enumerate(rows):
        y = top + number * tall
        if kind == "banded":
            shade = (205, 235, 215) if number % 2 else (228, 246, 234)
            pen.rectangle((margin, y, margin + ends[-1], y + tall - 1), fill=shade)
        for at, text in enumerate(row):
            place = (margin + ends[at] + pad, y + tall / 2)
            pen.text(place, text, fill="black", font=font, anchor="lm")
            if kind == "ruled":
                corners = (margin + ends[at], y, margin + ends[at + 1], y + tall)
                pen.rectangle(corners, outline=colour)
    if kind == "stem":
        pen.line((margin + ends[1], top, margin + ends[1], height - margin), fill=colour, width=2)
    if kind in ("stem", "bare"):
        pen.line((margin, top + tall, margin + ends[-1], top + tall), fill=colour, width=1)
    return np.asarray(image, dtype=np.uint8), rows, title


def _texts(rng: Random, kind: str) -> list[list[str]]:
    count = rng.randint(3, 7)
    if kind == "stem":
        leaves = ["" if rng.random() < 0.25 else _leaves(rng) for _ in range(count)]
        return [["Stem", "Leaf"], *([str(at), leaf] for at, leaf in enumerate(leaves))]
    head = list(rng.choice(_HEADS))[: rng.randint(2, 3)]
    names = rng.sample(_NAMES, min(count, len(_NAMES)))
    money = rng.random() < 0.5
    rows = [
        [name, *(f"${rng.randrange(1, 90)}.{rng.randrange(10, 99)}" if money
                 else str(rng.randrange(1, rng.choice((10, 1000)))) for _ in head[1:])]
        for name in names
    ]  # fmt: skip
    return rows if kind == "banded" else [head, *rows]


def _leaves(rng: Random) -> str:
    return " ".join(str(rng.randrange(10)) for _ in range(rng.randint(1, 6)))

"""CPU time of packing images for a model that sees, by kind of file.

CPU milliseconds of the process, kinds in turn, every file packed `--repeats` times; beside it the
plain alternative: decode at full size, convert to RGB, resize, PNG as Pillow saves it.
`python -m benchmarks.vision.images [--folder IMAGES...] [--repeats N] [--out FILE]`
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from itertools import chain
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw

from benchmarks.reports import Options, Result, benchmark, option
from harness.vision.images import IMAGE_SUFFIXES, fit, pack_file
from harness.vision.profiles import vision_profile

LIMITS = vision_profile("Qwen2.5-VL-7B-Instruct").images
Row = dict[str, str | float | int]


def made(folder: Path) -> dict[str, list[Path]]:
    """Files of the kinds that users have: charts, screenshots, photographs, receipts."""
    rng = Random(1)
    files: dict[str, list[Path]] = {"chart": [], "screenshot": [], "photograph": [], "receipt": []}
    for number in range(6):
        drawn(rng, 850, 600, 80).save(path := folder / f"chart-{number}.png")
        files["chart"].append(path)
        drawn(rng, 1920, 1080, 900).save(path := folder / f"screen-{number}.png")
        files["screenshot"].append(path)
        photo = Image.effect_noise((1000, 750), 60).resize((4000, 3000)).convert("RGB")
        photo.save(path := folder / f"photo-{number}.jpg", quality=90)
        files["photograph"].append(path)
        drawn(rng, 600, 1500, 300).save(path := folder / f"receipt-{number}.jpg", quality=70)
        files["receipt"].append(path)
    return files


def drawn(rng: Random, width: int, height: int, marks: int) -> Image.Image:
    """Rectangles and text on white."""
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(marks):
        x, y = rng.randrange(width), rng.randrange(height)
        shade = tuple(rng.randrange(256) for _ in range(3))
        if rng.random() < 0.3:
            pen.rectangle((x, y, x + rng.randrange(90), y + rng.randrange(90)), fill=shade)
        else:
            pen.text((x, y), f"{rng.randrange(10**6):,} units", fill=shade)
    return image


def measure(files: dict[str, list[Path]], repeats: int) -> list[Row]:
    """Medians by kind, and over the files of all kinds."""
    ours: dict[str, list[float]] = {kind: [] for kind in files}
    plain: dict[str, list[float]] = {kind: [] for kind in files}
    for _ in range(repeats):
        for kind, paths in files.items():
            for path in paths:
                ours[kind].append(cpu_ms(lambda path=path: pack_file(path, LIMITS)))
                plain[kind].append(cpu_ms(lambda path=path: as_others_do(path)))
    rows = [row(kind, len(paths), ours[kind], plain[kind]) for kind, paths in files.items()]
    everything, reference = (list(chain(*times.values())) for times in (ours, plain))
    return [*rows, row("all", sum(map(len, files.values())), everything, reference)]


def row(kind: str, count: int, ours: list[float], plain: list[float]) -> Row:
    """One line of the result."""
    ours_median, right = statistics.median(ours), statistics.median(plain)
    return {
        "kind": kind,
        "files": count,
        "cpu_ms": round(ours_median, 2),
        "plain_ms": round(right, 2),
        "ratio": round(ours_median / right, 3),
    }


def as_others_do(path: Path) -> bytes:
    """Decode, convert, resize, save: what a script does in four lines."""
    image = Image.open(path).convert("RGB")
    out = BytesIO()
    image.resize(fit(*image.size, LIMITS), Image.Resampling.LANCZOS).save(out, "PNG")
    return out.getvalue()


def cpu_ms(work: Callable[[], object]) -> float:
    """CPU milliseconds of one call."""
    begin = time.process_time()
    work()
    return 1000 * (time.process_time() - begin)


@benchmark(
    folder=option(type=Path, action="append", default=[]),
    repeats=3,
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Measure, print, and write the result."""
    with tempfile.TemporaryDirectory() as folder:
        files = made(Path(folder))
        for source in options.folder:
            files[source.name] = sorted(
                path for path in source.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES
            )
        rows = measure(files, options.repeats)
    return {
        "command": " ".join(["python", *sys.argv]), "pixels": LIMITS.most_pixels,
        "repeats": options.repeats, "unit": "CPU ms, median", "rows": rows,
    }  # fmt: skip

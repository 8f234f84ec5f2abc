"""Opening image files of any origin: upright, eight bits, no transparency, never a bomb."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.core import BadInput
from harness.vision.images.sizing import fit
from harness.vision.profiles import ImageLimits

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_SOURCE_PIXELS = 64_000_000
"""Larger ones are refused before they are decoded: 64 megapixels take 256 MB."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO", "MPO")
"""Decoders that may run. None of them starts another program, as EPS would."""
_ORIENTATION = 0x0112
_PALE = 230
"""Mean brightness above which what is drawn would vanish on a white ground."""


class Opened(NamedTuple):
    """One image in the size in which it is sent.

    Attributes:
        image: mode L or RGB.
        source: (width, height) of the upright original.
        lossy: whether the source format had lost detail already.
        notes: what was done to it.
    """

    image: Image
    source: tuple[int, int]
    lossy: bool
    notes: tuple[str, ...]


def open_images(data: bytes, name: str, limits: ImageLimits) -> Iterator[Opened]:
    """Decode a file: one image, or the pages of a TIFF one by one; of an animation the first frame.

    Args:
        data: the file.
        name: for messages.
        limits: what the model takes.

    Raises:
        BadInput: if it is no image, damaged, cut off, or has too many pixels.
    """
    handle = _handle(data, name)
    frame = 0
    while True:
        yield _decoded(handle, name, limits, frame)
        frame += 1
        if not _has_page(handle, frame):
            return


def library(name: str) -> Any:
    """A module of Pillow.

    Raises:
        BadInput: if Pillow is not installed.
    """
    try:
        return import_module(f"PIL.{name}")
    except ImportError as error:
        raise BadInput(
            f"reading images needs pillow ({error}): pip install 'agent-skill-harness[vqa]'"
        ) from error


def _handle(data: bytes, name: str) -> Any:
    try:
        return library("Image").open(BytesIO(data), formats=FORMATS)
    except BadInput:
        raise
    except Exception as error:  # decoders fail in any way on damaged bytes
        raise _damaged(name, data, error) from error


def _damaged(name: str, data: bytes, error: Exception) -> BadInput:
    if "ecompression" in type(error).__name__:
        return BadInput(f"{name!r}: {error}; reduce it to at most {MOST_SOURCE_PIXELS:,} pixels")
    return BadInput(
        f"{name!r}: expected an image ({', '.join(FORMATS[:7])}), found {len(data)} bytes that "
        f"begin with {data[:8]!r} and cannot be read ({type(error).__name__}: {error!s:.120})"
    )


def _has_page(handle: Any, frame: int) -> bool:
    """Whether there is another page. Only a TIFF has pages; frames of an animation are none."""
    try:
        return handle.format == "TIFF" and frame < handle.n_frames
    except Exception:  # noqa: BLE001  # a damaged directory: what was read stays
        return False


def _decoded(handle: Any, name: str, limits: ImageLimits, frame: int) -> Opened:
    try:
        if frame:
            handle.seek(frame)
        return _upright(handle, name, limits)
    except BadInput:
        raise
    except Exception as error:  # decoders fail in any way on damaged bytes
        raise BadInput(
            f"{name!r}: a damaged or unfinished {handle.format} image "
            f"({type(error).__name__}: {error!s:.120}); save it again with another program"
        ) from error


def _upright(handle: Any, name: str, limits: ImageLimits) -> Opened:
    width, height = handle.size
    if width < 1 or height < 1 or width * height > MOST_SOURCE_PIXELS:
        raise BadInput(
            f"{name!r}: expected at most {MOST_SOURCE_PIXELS:,} pixels, found {width} x {height}; "
            "reduce it, or cut out the part that matters"
        )
    target = fit(width, height, limits)
    if handle.format in ("JPEG", "MPO"):
        # The decoder can leave out detail that would be thrown away: much faster on photographs.
        scale = max(target[0] / width, target[1] / height, target[1] / width, target[0] / height)
        handle.draft(None, (ceil(width * scale), ceil(height * scale)))
    handle.load()
    turned = _orientation(handle)
    if turned >= 5 or (handle.format == "TIFF" and handle.size == (height, width)):
        width, height = height, width
        target = fit(width, height, limits)
    plain, notes = _plain(handle)
    if turned > 1:
        plain = plain.transpose(_turns()[turned])
        notes.append("turned upright")
    if getattr(handle, "is_animated", False) and handle.format not in ("TIFF", "MPO"):
        notes.append("first frame of an animation")
    if plain.size != target:
        plain = plain.resize(target, library("Image").Resampling.LANCZOS, reducing_gap=2.0)
    flat = _flat(plain, notes) if plain.mode == "RGBA" else plain
    lossy = handle.format in ("JPEG", "MPO", "WEBP")
    return Opened(flat, (width, height), lossy, tuple(notes))


def _orientation(handle: Any) -> int:
    """EXIF orientation, 1 (upright) where there is none or it cannot be read."""
    try:
        value = handle.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001  # damaged metadata does not make an image unreadable
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _turns() -> dict[int, Any]:
    """EXIF orientation -> the turn that undoes it (Exif 2.32, tag 0x0112)."""
    turn = library("Image").Transpose
    return {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_270,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_90,
    }


def _plain(image: Any) -> tuple[Any, list[str]]:
    """The image in mode L, RGB or RGBA, and what that took."""
    mode: str = image.mode
    if mode.startswith("I;16"):
        return _shifted(image), ["16 bits reduced to 8"]
    if mode in ("I", "F"):
        return _stretched(image), ["values stretched to 8 bits"]
    if image.has_transparency_data:
        return image.convert("RGBA"), []
    if mode in ("L", "RGB"):
        return image, []
    if mode == "1":
        return image.convert("L"), []
    return image.convert("RGB"), [f"{mode} colours to RGB"] if mode in ("CMYK", "YCbCr") else []


def _shifted(image: Any) -> Any:
    import numpy as np

    high = np.asarray(image).astype(np.uint16) >> 8
    return library("Image").fromarray(high.astype(np.uint8))


def _stretched(image: Any) -> Any:
    import numpy as np

    values = np.nan_to_num(np.asarray(image, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 255:
        low, high = 0.0, 255.0  # eight bits in a wide type
    elif low >= 0 and image.mode == "I" and high <= 65_535:
        low, high = 0.0, 65_535.0
    scaled = (values - low) * (255.0 / max(high - low, 1e-300))
    return library("Image").fromarray(np.clip(np.rint(scaled), 0, 255).astype(np.uint8))


def _flat(image: Any, notes: list[str]) -> Any:
    """Transparent areas on white, or on grey where what is drawn is itself nearly white."""
    alpha = image.getchannel("A")
    if alpha.getextrema()[0] == 255:
        return image.convert("RGB")
    seen = alpha.point([255 if value > 127 else 0 for value in range(256)])
    stat = library("ImageStat").Stat(image.convert("L"), seen)
    pale = bool(seen.getbbox()) and stat.mean[0] > _PALE
    ground = library("Image").new("RGB", image.size, (96, 96, 96) if pale else (255, 255, 255))
    ground.paste(image, mask=alpha)
    notes.append(f"transparent areas on {'grey' if pale else 'white'}")
    return ground

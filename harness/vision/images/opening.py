"""Opening image and PDF files of any origin: upright, eight bits, no transparency, never a bomb."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.core import BadInput
from harness.core.plugins import install_command
from harness.vision.profiles import ImageLimits

if TYPE_CHECKING:
    from PIL.Image import Image

# Larger ones are refused before they are decoded: 64 megapixels take 256 MB.
_MOST_PIXELS = 64_000_000
# Decoders that may run. None of them starts another program, as EPS would.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO", "MPO")
_ORIENTATION = 0x0112
# Turns that undo the EXIF orientations 2 to 8 (Exif 2.32, tag 0x0112).
_TURNS = (
    "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_270", "TRANSVERSE",
    "ROTATE_90",
)  # fmt: skip
# Mean brightness above which what is drawn would vanish on a white ground.
_PALE = 230
# Finer rendering of a page shows no more text.
_MOST_DPI = 200
_POINTS_PER_INCH = 72


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


def fit(width: int, height: int, limits: ImageLimits) -> tuple[int, int]:
    """Size within the limits, both sides multiples of `limits.multiple`, near the same shape.

    An area in bounds is kept but for rounding; one too large is reduced to the pixel budget, one
    too small is enlarged. Shapes beyond `limits.aspect` are compressed along the longer side.

    Args:
        width: of the upright image, in pixels, at least 1.
        height: of the upright image, in pixels, at least 1.
        limits: what the model takes.

    Returns:
        (width, height) with `width * height <= most_pixels` and no side above `longest_side`.
    """
    side = limits.longest_side // limits.multiple
    cells = limits.most_pixels // limits.multiple**2
    area = width * height
    scale = min(1.0, sqrt(limits.most_pixels / area), limits.longest_side / max(width, height))
    if area * scale * scale < limits.least_pixels:
        scale = sqrt(limits.least_pixels / area)
    enlarged = scale > 1.0
    across, down = (
        # Enlarging rounds up, to reach the least area.
        min(side, max(1, ceil(length - 1e-9) if enlarged else round(length)))
        for length in (width * scale / limits.multiple, height * scale / limits.multiple)
    )
    if across * down > cells:
        if across >= down:
            across = max(1, cells // min(down, cells))
            down = min(down, cells)
        else:
            down = max(1, cells // min(across, cells))
            across = min(across, cells)
    across, down = min(across, down * limits.aspect), min(down, across * limits.aspect)
    return across * limits.multiple, down * limits.multiple


def open_images(data: bytes, name: str, limits: ImageLimits) -> Iterator[Opened]:
    """Decode a file: one image, or the pages of a TIFF one by one; of an animation the first frame.

    Args:
        data: the file.
        name: for messages.
        limits: what the model takes.

    Raises:
        BadInput: if it is no image, damaged, cut off, or has too many pixels.
    """
    pillow = _module("PIL.Image", "reading images needs pillow")
    try:
        handle = pillow.open(BytesIO(data), formats=_FORMATS)
    except Exception as error:  # decoders fail in any way on damaged bytes
        if "ecompression" in type(error).__name__:
            raise BadInput(
                f"{name!r}: {error}; reduce it to at most {_MOST_PIXELS:,} pixels"
            ) from error
        raise BadInput(
            f"{name!r}: expected an image ({', '.join(_FORMATS[:7])}), found {len(data)} bytes "
            f"that begin with {data[:8]!r} and cannot be read "
            f"({type(error).__name__}: {error!s:.120})"
        ) from error
    frame = 0
    while frame == 0 or _has_page(handle, frame):
        try:
            if frame:
                handle.seek(frame)
            opened = _upright(handle, name, limits)
        except BadInput:
            raise
        except Exception as error:  # decoders fail in any way on damaged bytes
            raise BadInput(
                f"{name!r}: a damaged or unfinished {handle.format} image "
                f"({type(error).__name__}: {error!s:.120}); save it again with another program"
            ) from error
        yield opened
        frame += 1


def _module(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise BadInput(f"{purpose} ({error}): {install_command('vqa')}") from error


def _has_page(handle: Any, frame: int) -> bool:
    """Return True if there is another page. Only TIFFs have pages; animations have frames."""
    try:
        return handle.format == "TIFF" and frame < handle.n_frames
    except Exception:  # noqa: BLE001  # a damaged directory: what was read stays
        return False


def _upright(handle: Any, name: str, limits: ImageLimits) -> Opened:
    pillow = import_module("PIL.Image")
    width, height = handle.size
    if width < 1 or height < 1 or width * height > _MOST_PIXELS:
        raise BadInput(
            f"{name!r}: expected at most {_MOST_PIXELS:,} pixels, found {width} x {height}; "
            "reduce it, or cut out the part that matters"
        )
    target = fit(width, height, limits)
    if handle.format in ("JPEG", "MPO"):
        # The decoder can leave out detail that would be thrown away: much faster on photographs.
        scale = max(target[0] / width, target[1] / height, target[1] / width, target[0] / height)
        handle.draft(None, (ceil(width * scale), ceil(height * scale)))
    handle.load()
    try:
        turned = handle.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001  # damaged metadata does not make an image unreadable
        turned = 1
    turned = turned if isinstance(turned, int) and 1 <= turned <= 8 else 1
    if turned >= 5 or (handle.format == "TIFF" and handle.size == (height, width)):
        width, height = height, width
        target = fit(width, height, limits)
    plain, notes = _plain(handle)
    if turned > 1:
        plain = plain.transpose(getattr(pillow.Transpose, _TURNS[turned - 2]))
        notes.append("turned upright")
    if getattr(handle, "is_animated", False) and handle.format not in ("TIFF", "MPO"):
        notes.append("first frame of an animation")
    if plain.size != target:
        plain = plain.resize(target, pillow.Resampling.LANCZOS, reducing_gap=2.0)
    flat = _flat(plain, notes) if plain.mode == "RGBA" else plain
    lossy = handle.format in ("JPEG", "MPO", "WEBP")
    return Opened(flat, (width, height), lossy, tuple(notes))


def _plain(image: Any) -> tuple[Any, list[str]]:
    """The image in mode L, RGB or RGBA, and what that took."""
    mode: str = image.mode
    if mode.startswith("I;16") or mode in ("I", "F"):
        import numpy as np

        if mode.startswith("I;16"):
            values, note = np.asarray(image).astype(np.uint16) >> 8, "16 bits reduced to 8"
        else:
            values = np.asarray(image, dtype=np.float64)
            values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
            low, high = float(values.min()), float(values.max())
            if low >= 0 and high <= 255:
                low, high = 0.0, 255.0  # eight bits in a wide type
            elif low >= 0 and mode == "I" and high <= 65_535:
                low, high = 0.0, 65_535.0
            scaled = (values - low) * (255.0 / max(high - low, 1e-300))
            values, note = np.clip(np.rint(scaled), 0, 255), "values stretched to 8 bits"
        return import_module("PIL.Image").fromarray(values.astype(np.uint8)), [note]
    if image.has_transparency_data:
        return image.convert("RGBA"), []
    if mode in ("L", "RGB"):
        return image, []
    if mode == "1":
        return image.convert("L"), []
    return image.convert("RGB"), [f"{mode} colours to RGB"] if mode in ("CMYK", "YCbCr") else []


def _flat(image: Any, notes: list[str]) -> Any:
    """Transparent areas on white, or on grey where what is drawn is itself nearly white."""
    alpha = image.getchannel("A")
    if alpha.getextrema()[0] == 255:
        return image.convert("RGB")
    opaque = alpha.point([255 if value > 127 else 0 for value in range(256)])
    stat = import_module("PIL.ImageStat").Stat(image.convert("L"), opaque)
    pale = bool(opaque.getbbox()) and stat.mean[0] > _PALE
    ground = import_module("PIL.Image").new(
        "RGB", image.size, (96, 96, 96) if pale else (255, 255, 255)
    )
    ground.paste(image, mask=alpha)
    notes.append(f"transparent areas on {'grey' if pale else 'white'}")
    return ground


def is_pdf(data: bytes) -> bool:
    """Return True if a file says that it is a PDF; the mark may stand behind some junk."""
    return b"%PDF-" in data[:1024]


def render_pages(data: bytes, name: str, limits: ImageLimits) -> Iterator[Opened]:
    """Render page after page of a PDF (pypdfium2), each within the limits.

    Args:
        data: the PDF.
        name: for messages.
        limits: what the model takes.

    Raises:
        BadInput: if it is encrypted, damaged or has no page.
    """
    pdfium = _module("pypdfium2", "rendering PDF needs pypdfium2")
    try:
        document = pdfium.PdfDocument(data)
    except Exception as error:  # pdfium's own errors, and those of its binding
        hint = "remove its password" if "assword" in str(error) else "save it again"
        raise BadInput(f"{name!r}: a PDF that cannot be opened ({error}); {hint}") from error
    try:
        if not len(document):
            raise BadInput(f"{name!r}: a PDF without pages")
        for number in range(len(document)):
            try:
                opened = _drawn(document[number], limits)
            except Exception as error:  # pdfium's own errors, and those of its binding
                raise BadInput(
                    f"{name!r}: page {number + 1} cannot be rendered ({error})"
                ) from error
            yield opened
    finally:
        document.close()


def _drawn(page: Any, limits: ImageLimits) -> Opened:
    try:
        across, down = (max(1.0, float(length)) for length in page.get_size())
        finest = _MOST_DPI / _POINTS_PER_INCH
        size = fit(max(1, round(across * finest)), max(1, round(down * finest)), limits)
        # The larger of the two scales, so that resizing only ever reduces; a page of extreme shape
        # is compressed along its longer side, so the smaller one bounds what is drawn.
        scales = size[0] / across, size[1] / down
        large = across * down * max(scales) ** 2 > 4 * limits.most_pixels
        image = page.render(scale=min(scales) if large else max(scales)).to_pil().convert("RGB")
    finally:
        page.close()
    if image.size != size:
        image = image.resize(size, import_module("PIL.Image").Resampling.LANCZOS)
    return Opened(image, (round(across), round(down)), False, ())

"""Images and pages as parts of a message in the form of the OpenAI API."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, digest
from harness.vision.images.opening import Opened, open_images
from harness.vision.images.pages import is_pdf, render_pages
from harness.vision.profiles import ImageLimits

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".ppm", ".pgm", ".pbm",
     ".ico", ".pdf"}
)  # fmt: skip
MOST_FILE_BYTES = 200_000_000
_QUALITIES = (90, 75, 55, 35, 20, 8)

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels; right and bottom are outside."""


@dataclass(frozen=True)
class PackedImage:
    """An image as it is sent.

    Attributes:
        name: file that it came from.
        media_type: `image/png` or `image/jpeg`.
        data: the encoded image.
        size: (width, height) in pixels, as sent.
        source: (width, height) of the upright original; of a PDF page, in points.
        page: from 1, where the file has pages.
        notes: what was done to it.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)
    size: tuple[int, int]
    source: tuple[int, int]
    page: int | None = None
    notes: tuple[str, ...] = ()

    def part(self) -> dict[str, Any]:
        """The part of a user message that carries the image."""
        text = b64encode(self.data).decode("ascii")
        return {"type": "image_url", "image_url": {"url": f"data:{self.media_type};base64,{text}"}}

    def to_source(self, box: Box) -> Box:
        """A box of the image as sent, in coordinates of the upright original."""
        across, down = self.source[0] / self.size[0], self.source[1] / self.size[1]
        left, top, right, bottom = box
        return left * across, top * down, right * across, bottom * down

    def facts(self) -> dict[str, JsonValue]:
        """What a trace keeps of it: everything but the pixels, which the digest stands for."""
        return {
            "name": self.name,
            "page": self.page,
            "size": list(self.size),
            "source": list(self.source),
            "bytes": len(self.data),
            "sha256": digest(self.data),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Packed:
    """The images of one request, and what did not go along.

    Attributes:
        images: in order, at most as many as the model takes.
        left_out: what was left out beyond the count limit, in words.
    """

    images: tuple[PackedImage, ...]
    left_out: tuple[str, ...] = ()

    def parts(self) -> list[dict[str, Any]]:
        """Message parts: every image behind a line that names it, where there are several.

        A last line names what was left out, so that the model does not take a part for the whole.
        """
        named = len(self.images) > 1 or bool(self.left_out)
        parts: list[dict[str, Any]] = []
        for number, image in enumerate(self.images, 1):
            page = f", page {image.page}" if image.page else ""
            if named:
                parts.append({"type": "text", "text": f"Image {number} ({image.name}{page}):"})
            parts.append(image.part())
        if self.left_out:
            left = f"Not sent, beyond the limit of images: {', '.join(self.left_out)}"
            parts.append({"type": "text", "text": left})
        return parts


def pack_file(path: Path, limits: ImageLimits, name: str | None = None) -> Packed:
    """Pack one file: an image, or the pages of a PDF or TIFF.

    Args:
        path: the file.
        limits: what the model takes.
        name: how it is called; None takes the file's name.

    Raises:
        BadInput: if it is missing, too large, damaged, or neither image nor PDF.
    """
    return pack_files([path], limits, [path.name if name is None else name])


def pack_files(
    paths: Sequence[Path], limits: ImageLimits, names: Sequence[str] | None = None
) -> Packed:
    """Pack files in order until the count limit is reached; the rest is named, not decoded.

    Raises:
        BadInput: as :func:`pack_file`, or for no file at all.
    """
    called = [path.name for path in paths] if names is None else list(names)
    if not paths:
        raise BadInput("expected at least one image file, found none")
    images: list[PackedImage] = []
    left_out: list[str] = []
    for path, name in zip(paths, called, strict=True):
        room = limits.images - len(images)
        if not room:
            left_out.append(name)
            continue
        found = list(islice(pack_bytes(_read(path), name, limits), room + 1))
        images += found[:room]
        if len(found) > room:
            left_out.append(f"{name} from page {room + 1}")
    return Packed(tuple(images), tuple(left_out))


def image_files(folder: Path) -> list[Path]:
    """The images and PDF files of a work folder, by name; hidden ones are passed over."""
    found = (path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES)
    return sorted(
        path
        for path in found
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def pack_bytes(data: bytes, name: str, limits: ImageLimits) -> Iterator[PackedImage]:
    """Pack a file's bytes: one image, or page after page.

    Raises:
        BadInput: as :func:`pack_file`.
    """
    if is_pdf(data):
        pages: Iterator[Opened] = render_pages(data, name, limits)
    else:
        pages = open_images(data, name, limits)
    first = next(pages)
    second = next(pages, None)
    yield _packed(first, name, limits, None if second is None and not is_pdf(data) else 1)
    number = 2
    while second is not None:
        yield _packed(second, name, limits, number)
        second, number = next(pages, None), number + 1


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_FILE_BYTES:
            raise BadInput(
                f"{str(path)!r}: expected at most {MOST_FILE_BYTES:,} bytes, has {size:,}"
            )
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the image {str(path)!r}: {error}") from error


def _packed(opened: Opened, name: str, limits: ImageLimits, page: int | None) -> PackedImage:
    media_type, data = _encoded(opened, limits.most_bytes)
    notes = list(opened.notes)
    if opened.image.size != opened.source:
        notes.append("resized")
    return PackedImage(
        name=name,
        media_type=media_type,
        data=data,
        size=opened.image.size,
        source=opened.source,
        page=page,
        notes=tuple(notes),
    )


def _encoded(opened: Opened, most_bytes: int) -> tuple[str, bytes]:
    """PNG, or JPEG where the source had lost detail already or a PNG would be too large."""
    if not opened.lossy:
        data = _saved(opened, format="PNG", compress_level=1)
        if len(data) <= most_bytes:
            return "image/png", data
    data = b""
    for quality in _QUALITIES:
        data = _saved(opened, format="JPEG", quality=quality)
        if len(data) <= most_bytes:
            return "image/jpeg", data
    raise BadInput(
        f"an image of {opened.image.size} takes {len(data):,} bytes at the lowest quality, more "
        f"than the {most_bytes:,} allowed: allow more bytes or fewer pixels"
    )


def _saved(opened: Opened, **options: Any) -> bytes:
    out = BytesIO()
    opened.image.save(out, **options)
    return out.getvalue()

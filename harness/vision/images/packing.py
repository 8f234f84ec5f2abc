"""Images and pages as parts of a message in the form of the OpenAI API."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import BadInput, UnfitFile, digest, read_foreign, read_work_file, work_files
from harness.vision.images.opening import Opened, is_pdf, open_images, render_pages
from harness.vision.profiles import ImageLimits

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".ppm", ".pgm", ".pbm",
     ".ico", ".pdf"}
)  # fmt: skip
_MOST_FILE_BYTES = 200_000_000
_QUALITIES = (90, 75, 55, 35, 20, 8)


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

    def facts(self) -> dict[str, JsonValue]:
        """Return what a trace keeps of it: all but the pixels, which the digest stands for."""
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
        labels = len(self.images) > 1 or bool(self.left_out)
        parts: list[dict[str, Any]] = []
        for number, image in enumerate(self.images, 1):
            page = f", page {image.page}" if image.page else ""
            if labels:
                parts.append({"type": "text", "text": f"Image {number} ({image.name}{page}):"})
            parts.append(image.part())
        if self.left_out:
            note = f"Not sent, beyond the limit of images: {', '.join(self.left_out)}"
            parts.append({"type": "text", "text": note})
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
    paths: Sequence[Path],
    limits: ImageLimits,
    names: Sequence[str] | None = None,
    folder: Path | None = None,
) -> Packed:
    """Pack files in order until the count limit is reached; those after it are named, not decoded.

    Args:
        paths: the files.
        limits: what the model takes.
        names: how they are called; default the names of the files.
        folder: work folder in which they lie under these names; None: the user's own files.

    Raises:
        BadInput: as :func:`pack_file`, or for no file at all.
    """
    if not paths:
        raise BadInput("expected at least one image file, found none")
    images: list[PackedImage] = []
    left_out: list[str] = []
    for path, name in zip(paths, names or [path.name for path in paths], strict=True):
        room = limits.images - len(images)
        if not room:
            left_out.append(name)
            continue
        try:
            data = _content(path) if folder is None else read_work_file(folder, name)
        except (OSError, UnfitFile) as error:
            raise BadInput(f"cannot read the image {str(path)!r}: {error}") from error
        pages = list(islice(pack_bytes(data, name, limits), room + 1))
        images += pages[:room]
        if len(pages) > room:
            left_out.append(f"{name} from page {room + 1}")
    return Packed(tuple(images), tuple(left_out))


def _content(path: Path) -> bytes:
    """The bytes of a user's file, which may be a link."""
    if (size := path.stat().st_size) > _MOST_FILE_BYTES:
        raise BadInput(f"{str(path)!r}: expected at most {_MOST_FILE_BYTES:,} bytes, has {size:,}")
    return read_foreign(path)


def image_files(folder: Path) -> list[Path]:
    """The images and PDF files of a work folder, by name; hidden ones are passed over."""
    return [
        folder / name
        for name in work_files(folder)
        if Path(name).suffix.lower() in IMAGE_SUFFIXES
        and not any(part.startswith(".") for part in name.split("/"))
    ]


def pack_bytes(data: bytes, name: str, limits: ImageLimits) -> Iterator[PackedImage]:
    """Pack a file's bytes: one image, or page after page.

    Raises:
        BadInput: as :func:`pack_file`.
    """
    pdf = is_pdf(data)
    pages = (render_pages if pdf else open_images)(data, name, limits)
    first, second = next(pages), next(pages, None)
    several = pdf or second is not None
    for number, page in enumerate(chain([first], [second] if second else [], pages), 1):
        media_type, encoded = _encoded(page, limits.most_bytes)
        resized = ["resized"] if page.image.size != page.source else []
        yield PackedImage(
            name=name,
            media_type=media_type,
            data=encoded,
            size=page.image.size,
            source=page.source,
            page=number if several else None,
            notes=(*page.notes, *resized),
        )


def _encoded(opened: Opened, most_bytes: int) -> tuple[str, bytes]:
    """PNG, or JPEG where the source had lost detail already or a PNG would be too large."""
    attempts: list[dict[str, Any]] = [
        {"format": "JPEG", "quality": quality} for quality in _QUALITIES
    ]
    if not opened.lossy:
        attempts.insert(0, {"format": "PNG", "compress_level": 1})
    data = b""
    for options in attempts:
        buffer = BytesIO()
        opened.image.save(buffer, **options)
        data = buffer.getvalue()
        if len(data) <= most_bytes:
            return f"image/{options['format'].lower()}", data
    raise BadInput(
        f"an image of {opened.image.size} takes {len(data):,} bytes at the lowest quality, more "
        f"than the {most_bytes:,} allowed: allow more bytes or fewer pixels"
    )

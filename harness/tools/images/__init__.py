"""Images for models: read from any file, brought into a model's limits, made message parts."""

from __future__ import annotations

from harness.tools.images.packing import (
    IMAGE_SUFFIXES,
    Box,
    Packed,
    PackedImage,
    image_files,
    pack_bytes,
    pack_file,
    pack_files,
)
from harness.tools.images.sizing import fit

__all__ = [
    "IMAGE_SUFFIXES",
    "Box",
    "Packed",
    "PackedImage",
    "fit",
    "image_files",
    "pack_bytes",
    "pack_file",
    "pack_files",
]

"""Image files of every kind that the packer meets, whole and damaged, from a seed."""

from __future__ import annotations

import zlib
from io import BytesIO
from random import Random

from PIL import Image

KINDS: tuple[tuple[str, str], ...] = (
    ("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "L"), ("PNG", "LA"), ("PNG", "P"), ("PNG", "1"),
    ("PNG", "I;16"), ("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("GIF", "P"),
    ("GIF", "RGB"), ("WEBP", "RGB"), ("WEBP", "RGBA"), ("TIFF", "RGB"), ("TIFF", "CMYK"),
    ("TIFF", "I;16"), ("TIFF", "F"), ("TIFF", "I"), ("BMP", "RGB"), ("PPM", "L"), ("PNG", "RGB"),
)  # fmt: skip
HARMS = ("none", "none", "none", "cut", "flip", "splice", "junk", "bomb")


def picture(rng: Random, mode: str, width: int, height: int) -> Image.Image:
    """A blotchy picture: few random pixels, enlarged, so that it is cheap to make."""
    small = (rng.randint(1, 12), rng.randint(1, 12))
    raw = Image.frombytes("RGBA", small, rng.randbytes(4 * small[0] * small[1]))
    base = raw.resize((width, height), Image.Resampling.BILINEAR)
    if mode in ("RGBA", "LA"):
        return base.convert(mode)
    if mode == "I;16":
        grey = base.convert("L").convert("I")
        return grey.point(lambda value: value * 257).convert("I;16")
    return base.convert("RGB").convert(mode)


def encoded(rng: Random, form: str, mode: str, width: int, height: int) -> bytes:
    """A file of that form, now and then with an orientation, an animation or several pages."""
    image, out = picture(rng, mode, width, height), BytesIO()
    options: dict[str, object] = {}
    if form in ("JPEG", "PNG", "WEBP", "TIFF") and rng.random() < 0.4:
        exif = Image.Exif()
        exif[0x0112] = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 0))
        options["exif"] = exif
    if form in ("GIF", "TIFF", "WEBP", "PNG") and rng.random() < 0.2:
        options |= {"save_all": True, "append_images": [picture(rng, mode, width, height)] * 2}
    image.save(out, form, **options)
    return out.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims to be huge."""
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\x00\x00\x00"
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    body = b"".join(
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def harmed(rng: Random, data: bytes, harm: str) -> bytes:
    """The file with that harm done to it."""
    if harm == "cut":
        return data[: rng.randrange(len(data))]
    if harm == "flip":
        changed = bytearray(data)
        for _ in range(rng.randint(1, 20)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    if harm == "splice":
        at = rng.randrange(len(data))
        return data[:at] + rng.randbytes(rng.randrange(200)) + data[at:]
    if harm == "junk":
        return rng.randbytes(rng.randrange(2000))
    if harm == "bomb":
        return bomb(rng.randint(9_000, 2**31 - 1), rng.randint(9_000, 2**31 - 1))
    return data


def fuzzed(count: int, seed: int) -> list[tuple[str, bytes]]:
    """(description, file) of `count` images: three in eight whole, the others harmed."""
    found: list[tuple[str, bytes]] = []
    for number in range(count):
        rng = Random(f"fuzz:{seed}:{number}")
        form, mode = rng.choice(KINDS)
        longest = rng.choice((40, 200, 200, 600, 1500))
        width, height = rng.randint(1, longest), rng.randint(1, longest)
        harm = rng.choice(HARMS)
        data = harmed(rng, encoded(rng, form, mode, width, height), harm)
        found.append((f"{number} {form} {mode} {width}x{height} {harm}", data))
    return found

"""The packer: every kind of file, its bounds, and that nothing brings it down."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from harness.core import BadInput
from harness.vision.images import PackedImage, fit, pack_bytes, pack_file, pack_files
from harness.vision.profiles import ImageLimits
from tests.vision.images.fuzzing import bomb, encoded, fuzzed, picture

LIMITS = ImageLimits(images=3, most_pixels=200_000, longest_side=1400)


def _one(data: bytes, limits: ImageLimits = LIMITS) -> PackedImage:
    return next(pack_bytes(data, "x", limits))


def _opened(packed: PackedImage) -> Image.Image:
    image = Image.open(BytesIO(packed.data))
    image.load()
    return image


def _file(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


limits = st.builds(
    ImageLimits,
    least_pixels=st.sampled_from((1, 784, 3136, 65_536)),
    most_pixels=st.integers(70_000, 3_000_000),
    longest_side=st.integers(40, 9000),
    multiple=st.sampled_from((1, 14, 28, 32)),
    aspect=st.integers(1, 200),
)


@given(st.integers(1, 200_000), st.integers(1, 200_000), limits)
def test_sizes_stay_in_bounds(width: int, height: int, limits: ImageLimits) -> None:
    across, down = fit(width, height, limits)
    assert across > 0
    assert down > 0
    assert across % limits.multiple == down % limits.multiple == 0
    assert across * down <= limits.most_pixels
    assert max(across, down) <= limits.longest_side
    assert max(across, down) <= limits.aspect * min(across, down)


@given(st.integers(100, 4000), st.integers(100, 4000))
def test_shapes_are_kept(width: int, height: int) -> None:
    across, down = fit(width, height, ImageLimits())
    assert abs(across / width - down / height) <= 28 * (1 / width + 1 / height)


def test_a_small_image_is_enlarged() -> None:
    across, down = fit(3, 3, ImageLimits(least_pixels=65_536, most_pixels=1_000_000, multiple=32))
    assert across * down >= 65_536


def test_orientation_is_undone_for_every_value() -> None:
    upright = Image.new("RGB", (280, 140), "white")
    upright.paste((255, 0, 0), (0, 0, 70, 35))
    stored = {
        1: upright,
        2: upright.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        3: upright.transpose(Image.Transpose.ROTATE_180),
        4: upright.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: upright.transpose(Image.Transpose.TRANSPOSE),
        6: upright.transpose(Image.Transpose.ROTATE_90),
        7: upright.transpose(Image.Transpose.TRANSVERSE),
        8: upright.transpose(Image.Transpose.ROTATE_270),
    }
    for value, image in stored.items():
        exif = Image.Exif()
        exif[0x0112] = value
        for form in ("JPEG", "PNG", "TIFF", "WEBP"):
            packed = _one(_file(image, form, exif=exif))
            assert packed.source == (280, 140), (value, form)
            seen = _opened(packed).convert("RGB")
            corner, other = seen.getpixel((10, 10)), seen.getpixel((270, 130))
            assert isinstance(corner, tuple)
            assert isinstance(other, tuple)
            assert corner[1] < 90, (value, form)
            assert other[1] > 200, (value, form)


def test_transparency_lies_on_white_or_where_it_would_vanish_on_grey() -> None:
    clear = Image.new("RGBA", (140, 140), (0, 0, 0, 0))
    dark, pale = clear.copy(), clear.copy()
    dark.paste((10, 10, 10, 255), (20, 20, 120, 60))
    pale.paste((255, 255, 255, 255), (20, 20, 120, 60))
    assert _opened(_one(_file(dark))).getpixel((2, 130)) == (255, 255, 255)
    assert _opened(_one(_file(pale))).getpixel((2, 130)) == (96, 96, 96)
    assert _opened(_one(_file(pale))).getpixel((70, 40)) == (255, 255, 255)
    keyed = _file(Image.new("RGB", (56, 56), (9, 9, 9)), transparency=(9, 9, 9))
    assert _opened(_one(keyed)).getpixel((5, 5)) == (255, 255, 255)


def test_sixteen_bits_keep_their_range() -> None:
    wide = Image.new("I;16", (140, 140), 0xC000)
    for form in ("PNG", "TIFF"):
        packed = _one(_file(wide, form))
        assert _opened(packed).convert("L").getpixel((70, 70)) == 0xC0
        assert "16 bits reduced to 8" in packed.notes


def test_cmyk_looks_as_it_was_meant() -> None:
    red = Image.new("CMYK", (140, 140), (0, 255, 255, 0))
    for form in ("JPEG", "TIFF"):
        seen = _opened(_one(_file(red, form))).getpixel((70, 70))
        assert isinstance(seen, tuple)
        assert seen[0] > 200
        assert seen[1] < 60


def test_an_animation_gives_its_first_frame_and_a_tiff_its_pages() -> None:
    frames = [Image.new("RGB", (70, 70), colour) for colour in ("red", "green", "blue", "white")]
    rest = frames[1:]
    for form in ("GIF", "WEBP", "PNG"):
        found = list(
            pack_bytes(_file(frames[0], form, save_all=True, append_images=rest), "x", LIMITS)
        )
        assert len(found) == 1
        assert "first frame of an animation" in found[0].notes
        seen = _opened(found[0]).convert("RGB").getpixel((30, 30))
        assert isinstance(seen, tuple)
        assert seen[0] > 200
        assert seen[2] < 60
    pages = list(
        pack_bytes(_file(frames[0], "TIFF", save_all=True, append_images=rest), "x", LIMITS)
    )
    assert [page.page for page in pages] == [1, 2, 3, 4]


def test_pages_of_a_pdf(tmp_path: Path) -> None:
    sheets = [Image.new("RGB", (850, 1100), shade) for shade in ("white", "silver", "gray", "red")]
    sheets[0].save(tmp_path / "a.pdf", save_all=True, append_images=sheets[1:], resolution=100)
    packed = pack_file(tmp_path / "a.pdf", LIMITS)
    assert [image.page for image in packed.images] == [1, 2, 3]
    assert packed.left_out == ("a.pdf from page 4",)
    first = packed.images[0]
    assert first.source == (612, 792)
    assert first.size[0] * first.size[1] <= LIMITS.most_pixels
    assert first.size[0] * first.size[1] > 0.8 * LIMITS.most_pixels


def test_parts_are_those_of_the_openai_api(tmp_path: Path) -> None:
    for name in ("a.png", "b.png", "c.png", "d.png"):
        picture(Random(1), "RGB", 60, 60).save(tmp_path / name)
    single = pack_file(tmp_path / "a.png", LIMITS)
    (part,) = single.parts()
    assert part["type"] == "image_url"
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    assert b64decode(data, validate=True) == single.images[0].data
    several = pack_files(sorted(tmp_path.iterdir()), LIMITS)
    assert several.left_out == ("d.png",)
    assert [part["type"] for part in several.parts()] == ["text", "image_url"] * 3 + ["text"]
    assert "d.png" in several.parts()[-1]["text"]
    assert several.parts()[2]["text"] == "Image 2 (b.png):"
    assert "data" not in single.images[0].facts()


def test_noise_that_a_png_cannot_hold_becomes_a_jpeg_within_the_bytes() -> None:
    noise = Image.frombytes("RGB", (700, 700), Random(3).randbytes(3 * 700 * 700))
    limits = ImageLimits(most_pixels=500_000, most_bytes=100_000)
    packed = _one(_file(noise), limits)
    assert packed.media_type == "image/jpeg"
    assert len(packed.data) <= 100_000


def test_huge_images_are_refused_before_they_are_decoded() -> None:
    for size in ((9_000, 9_000), (30_000, 30_000), (2**31 - 1, 2**31 - 1), (0, 5)):
        with pytest.raises(BadInput, match="x"):
            _one(bomb(*size))


def test_what_is_no_image_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected an image"):
        _one(b"hello")
    with pytest.raises(BadInput, match="cannot read the image"):
        pack_file(tmp_path / "absent.png", LIMITS)
    with pytest.raises(BadInput, match="cannot be opened"):
        _one(b"%PDF-1.7 nothing behind it")
    with pytest.raises(BadInput, match="at least one image"):
        pack_files([], LIMITS)
    with pytest.raises(BadInput, match="unfinished"):
        _one(encoded(Random(1), "JPEG", "RGB", 300, 300)[:-900])


@pytest.mark.filterwarnings("ignore::UserWarning")  # decoders warn of metadata that they skip
def test_fuzzed_images() -> None:
    _pack_fuzzed(60, seed=9)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::UserWarning")  # decoders warn of metadata that they skip
@pytest.mark.parametrize("part", range(4))
def test_a_thousand_fuzzed_images(part: int) -> None:
    _pack_fuzzed(250, seed=part)


def _pack_fuzzed(count: int, seed: int) -> None:
    """Every file is packed within the limits, or refused as bad input; nothing else happens."""
    limits = ImageLimits(images=3, most_pixels=150_000, longest_side=1400, most_bytes=300_000)
    read = refused = 0
    for name, data in fuzzed(count, seed):
        try:
            packed = list(pack_bytes(data, name, limits))
        except BadInput:
            refused += 1
            continue
        read += 1
        for image in packed:
            width, height = image.size
            assert width * height <= limits.most_pixels, name
            assert max(width, height) <= limits.longest_side, name
            assert width % 28 == height % 28 == 0, name
            assert len(image.data) <= limits.most_bytes, name
            assert _opened(image).size == image.size, name
            assert _opened(image).mode in ("L", "RGB"), name
    assert read > count / 3
    assert refused > count / 5

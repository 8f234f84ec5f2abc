"""Image limits and context of models that see.

Figures are those of the published preprocessor configurations and model cards. A side of an image
is cut into patches that are merged two by two, so one token is a square of `multiple` pixels.
"""

from __future__ import annotations

import re
from typing import Self

from pydantic import Field, model_validator

from harness.core import Value


class ImageLimits(Value):
    """Limits of a model on images.

    Attributes:
        images: most images of one request.
        least_pixels: smaller ones are enlarged to this area.
        most_pixels: larger ones are reduced to this area (the pixel budget).
        longest_side: in pixels.
        multiple: both sides are multiples of it, so that the server need not resize again and
            coordinates that the model gives are coordinates of what was sent.
        aspect: longest side by shortest side, at most.
        most_bytes: of one encoded image.
    """

    images: int = Field(default=8, ge=1)
    least_pixels: int = Field(default=784, ge=1)
    most_pixels: int = Field(default=1_003_520, ge=1)
    longest_side: int = Field(default=8192, ge=1)
    multiple: int = Field(default=28, ge=1)
    aspect: int = Field(default=100, ge=1)
    most_bytes: int = Field(default=10_000_000, ge=20_000)

    @model_validator(mode="after")
    def _one_patch_fits(self) -> Self:
        patch = self.multiple**2
        if self.most_pixels < max(patch, self.least_pixels) or self.longest_side < self.multiple:
            raise ValueError(
                f"a square of {self.multiple} pixels, and {self.least_pixels} pixels, must fit "
                f"into {self.most_pixels} pixels and a side of {self.longest_side}"
            )
        return self

    def tokens(self, width: int, height: int) -> int:
        """Tokens that an image of this size takes."""
        return -(-width // self.multiple) * -(-height // self.multiple)


class VisionProfile(Value):
    """A family of models that see.

    Attributes:
        name: of the profile.
        context: tokens.
        images: image limits.
        temperature: as the model card recommends; None where it names none.
    """

    name: str
    context: int = Field(ge=1)
    images: ImageLimits
    temperature: float | None = None


_QWEN2 = ImageLimits(images=16, least_pixels=3136, most_pixels=1280 * 28 * 28, aspect=200)
_QWEN3 = ImageLimits(
    images=16, least_pixels=65_536, most_pixels=1280 * 32 * 32, multiple=32, aspect=200
)
_KIMI = ImageLimits(images=256, most_pixels=4096 * 14 * 14)

_PROFILES: tuple[tuple[str, VisionProfile], ...] = (
    (
        r"kimi-vl.*thinking",
        VisionProfile(
            name="kimi-vl-thinking",
            context=131_072,
            # Thinking-2506 sees 3.2 megapixels an image, four times the first models.
            images=_KIMI.model_copy(update={"most_pixels": 16_384 * 14 * 14}),
            temperature=0.8,
        ),
    ),
    (
        r"kimi-vl",
        VisionProfile(
            name="kimi-vl-instruct",
            context=131_072,
            images=_KIMI,
            temperature=0.2,
        ),
    ),
    (
        r"qwen3(?:\.\d+)?-?vl.*thinking",
        VisionProfile(name="qwen3-vl-thinking", context=262_144, images=_QWEN3),
    ),
    (
        r"qwen3(?:\.\d+)?-?vl",
        VisionProfile(name="qwen3-vl-instruct", context=262_144, images=_QWEN3, temperature=0.7),
    ),
    (
        r"qwen3\.5",
        VisionProfile(name="qwen3.5", context=262_144, images=_QWEN3),
    ),
    (
        r"qwen2(?:\.5)?-?vl",
        VisionProfile(name="qwen2.5-vl", context=32_768, images=_QWEN2),
    ),
)
_OTHER = VisionProfile(name="other", context=32_768, images=ImageLimits())


def vision_profile(model: str) -> VisionProfile:
    """The profile of a model by its name or spec; cautious limits for a model we do not know."""
    for pattern, profile in _PROFILES:
        if re.search(pattern, model, re.IGNORECASE):
            return profile
    return _OTHER

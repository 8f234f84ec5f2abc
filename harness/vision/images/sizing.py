"""Which size an image is sent in."""

from __future__ import annotations

from math import ceil, sqrt

from harness.vision.profiles import ImageLimits


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
        min(side, _cells(length * scale / limits.multiple, up=enlarged))
        for length in (width, height)
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


def _cells(length: float, *, up: bool) -> int:
    """Whole patches of a side, at least one; enlarging rounds up, to reach the least area."""
    return max(1, ceil(length - 1e-9) if up else round(length))

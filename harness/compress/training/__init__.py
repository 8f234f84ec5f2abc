"""Training of the token critic (QwenLong-CPRS, section 2.2, on a small sentence encoder)."""

from __future__ import annotations

from harness.compress.training.options import TrainOptions
from harness.compress.training.session import Manifest, Report, install, train

__all__ = ["Manifest", "Report", "TrainOptions", "install", "train"]

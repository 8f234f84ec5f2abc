"""Texts to vectors, and exact nearest neighbours among them."""

from __future__ import annotations

from harness.retrieve.encoder import Encoder, EncoderKind, open_encoder
from harness.retrieve.flat import FlatIndex

__all__ = ["Encoder", "EncoderKind", "FlatIndex", "open_encoder"]

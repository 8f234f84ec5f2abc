"""Verdicts on claims without a language model."""

from __future__ import annotations

from harness.check.verify.verifier import TrainedVerifier

__all__ = ["TrainedVerifier"]

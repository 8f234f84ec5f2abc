"""Verdicts on claims without a language model."""

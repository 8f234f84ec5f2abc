"""Analysts: one trajectory in, one patch out."""

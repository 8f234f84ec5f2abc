"""Rivals of our evolution: published optimizers of skill texts, driven as they ship.

Each module has a `learn(arena) -> str`. The packages are optional: `learn` says what to install.
"""

"""Blind checking: roles, the wall between them, and what a wall must stop (MARCH)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

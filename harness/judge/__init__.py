"""Judges whose error is measured: direct, by rubrics, by a reward skill; guards; bias probes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

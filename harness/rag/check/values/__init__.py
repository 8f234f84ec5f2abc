"""Verdicts on values: whose a value is, what states it, what it follows from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

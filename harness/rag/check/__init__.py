"""MARCH: what an answer claims, checked against documents by a reader who has not seen it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

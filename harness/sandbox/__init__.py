"""Isolated execution of model-written code: back ends, probed and limited."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

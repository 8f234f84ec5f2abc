"""The page in a browser, on loopback: a graph under control, and finished runs to look at."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

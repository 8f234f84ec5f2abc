"""One file a format: what is read from it, and how a trajectory is written in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""A skill against controls of the same length: rungs, runs, simultaneous intervals, receipt."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

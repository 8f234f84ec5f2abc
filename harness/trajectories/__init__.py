"""Trajectories: the store, and import and export of other formats. The stored form is ATIF v1.8."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Finished attempts of eval and evolve runs: replayed from what was recorded, then gone on with."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

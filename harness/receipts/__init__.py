"""Which parts of a skill help: units, randomised subsets, effects, receipts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

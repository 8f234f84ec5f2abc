"""Loading of a skill when it should: precision, recall and confusion of its description."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

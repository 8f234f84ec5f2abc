"""Work in many processes and on many machines: who starts workers, what they share, who writes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Speech: recordings as text with times, texts as speech, and scripts that say how to speak."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

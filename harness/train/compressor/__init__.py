"""Training of the token critic (QwenLong-CPRS, section 2.2, on a small sentence encoder)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

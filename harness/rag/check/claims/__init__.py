"""What an answer claims, span by span, and how much of what is checkable was asked about."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

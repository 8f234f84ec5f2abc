"""Graph state on disk: a LangGraph checkpoint saver that keeps each value once."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

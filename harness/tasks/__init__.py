"""Task families: how a task becomes a prompt and a work folder, and how an answer is judged."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

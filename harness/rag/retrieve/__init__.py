"""Files to documents, chunks and vectors; indexes that find them again, with citations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""`ask`: a question to files or an index, an answer with citations that open the passage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

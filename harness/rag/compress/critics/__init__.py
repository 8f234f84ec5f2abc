"""Critics other than BM25: trained, by a sentence encoder, by any language model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

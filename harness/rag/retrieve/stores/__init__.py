"""Indexes kept by another store, for what outgrows a machine: Qdrant (an extra)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

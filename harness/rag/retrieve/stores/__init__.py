"""Indexes kept by other stores, for what outgrows a machine: Qdrant and LanceDB (extras)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Traces of observability tools: spans of model calls, put together to one conversation each."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

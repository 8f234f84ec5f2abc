"""Models: specs, the OpenAI-compatible client, cache, budget, embedded engine, simulator."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Models: specs, the client with its cache and budgets, the gateway, scripted and recorded ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Images for models: read from any file, brought into a model's limits, made message parts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

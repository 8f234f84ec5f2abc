"""`--context compress`: large tool outputs shortened once, and a tool that gives them back."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The numeric engine: values in any form, whether two agree, what can be computed from cells."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Guards in front of and behind agents, after Qwen3Guard (arXiv 2510.14276)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

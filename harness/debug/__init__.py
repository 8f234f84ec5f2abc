"""The graph debugger: step, look, change, fork and replay any LangGraph run, offline."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

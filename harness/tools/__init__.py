"""Tools of agents: python and bash in the sandbox, the files of a skill, and tools of plugins."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

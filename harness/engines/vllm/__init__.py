"""vLLM started, watched and stopped: profiles, command line, warm-up, figures.

vLLM is never imported here: it runs in an interpreter of its own choosing (`--python`), as a
process group of its own.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

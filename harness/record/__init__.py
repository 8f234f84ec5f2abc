"""Users' own agents: a loopback proxy that records, replays and compresses what they ask."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The command line: parse, call, print.

Modules of commands, and with them the rooms, are imported only when their command is used, so
that `harness --help` answers at once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

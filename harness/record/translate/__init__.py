"""Clients of `/v1/messages` and `/v1/responses` before a server that speaks chat completions only.

What chat completions cannot say is refused with its name, not left out: server-side tools,
documents, conversations that the server is to remember. Left out is what changes no answer, or none
that such a server could give: cache hints, thoughts of earlier turns, metadata.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

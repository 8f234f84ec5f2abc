"""The wire formats that agents speak, each read, merged and translated in one file.

With a server that speaks chat completions only, requests for messages and responses are translated
for it. What chat completions cannot say is refused by its name, not left out: server-side tools,
documents, conversations that the server is to remember. Left out is what changes no answer, or none
that such a server could give: cache hints, thoughts of earlier turns, metadata.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Secrets never reach a log, a trajectory or a report: one redactor, with two levels.

Tokens and keys have forms that nothing else has: a match is a secret in any text. The thorough
level also takes what is named like a secret, what programs are given as one, logins and email
addresses: too eager for every text, right for what leaves the machine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

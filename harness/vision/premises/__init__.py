"""Premise verification: are the things that a solution claims to see really in the image? (EVPV)

image ──► extract ──► constraints ─┐
solution in steps ──► premises ──► audit ──► reliability p
                 └──► judge ──► step scores ──► gate(p) ──► aggregate ──► best of N
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

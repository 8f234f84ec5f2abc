"""Trace2Skill: analysts over trajectories, one patch per record, one merge, one skill, one gate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

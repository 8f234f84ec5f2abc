"""The simulator: a scripted model with planted failure modes behind an OpenAI-compatible app.

It exists to test the harness and to measure the evolution loop itself: which failure modes are
planted, how often they strike and which sentence of a skill switches them off is known. Everything
it answers is labelled simulated.
"""

from __future__ import annotations

from harness.models.simulated.profile import FailureMode, Profile, load_profile
from harness.models.simulated.server import app

__all__ = ["FailureMode", "Profile", "app", "load_profile"]

"""The simulator: a scripted model with planted failure modes behind an OpenAI-compatible app.

It exists to test the harness and to measure the evolution loop itself: which failure modes are
planted, how often they strike and which sentence of a skill switches them off is known. Everything
it answers is labelled simulated.
"""

from __future__ import annotations

from harness.models.endpoints import IN_PROCESS_URL, Endpoint
from harness.models.specs import ModelSpec
from lab.simulator.profile import FailureMode, Profile, load_profile
from lab.simulator.server import app

__all__ = ["FailureMode", "Profile", "app", "endpoint", "load_profile"]


def endpoint(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """The endpoint of `simulated/<profile>`.

    Raises:
        BadInput: if there is no such profile, or it is malformed.
    """
    return Endpoint("simulated", spec.name, (IN_PROCESS_URL,), app=app(spec.name), simulated=True)

"""The simulator: a scripted model with planted failure modes, as a back end.

It exists to test the harness and to measure the evolution loop itself: which failure modes are
planted, how often they strike and which sentence of a skill switches them off is known. Everything
it answers is labelled simulated.
"""

from __future__ import annotations

from harness.models import Body, Endpoint, ModelSpec, Refused
from lab.simulator.completion import respond
from lab.simulator.profile import FailureMode, Profile, load_profile

__all__ = ["FailureMode", "Profile", "endpoint", "load_profile", "respond"]


def endpoint(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """The endpoint of `simulated/<profile>`.

    Raises:
        BadInput: if there is no such profile, or it is malformed.
    """
    profile = load_profile(spec.name)

    async def answer(body: Body) -> Body:
        try:
            return respond(profile, body)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            reason = f"not a chat request: {type(error).__name__}: {error}"
            raise Refused(400, reason) from error

    return Endpoint("simulated", spec.name, backend=answer, simulated=True)

"""Which waiting requests may join the running batch. A pure policy: no engine, no time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """What admission needs to know of a request.

    Attributes:
        sampled: draws from the engine's one random stream.
        seeded: must repeat, so nobody else may draw from the stream meanwhile.
        untried: carries a schema that the engine has not compiled yet. A bad schema fails the
            whole step, so such a request starts alone: then it is known who is at fault.
    """

    sampled: bool = False
    seeded: bool = False
    untried: bool = False


def admissible(waiting: list[Traits], running: list[Traits]) -> list[int]:
    """Indices of the waiting requests to start now, oldest first.

    Greedy requests overtake a seeded one that waits; sampled ones do not, so that it is not
    starved. An untried schema lets nothing overtake it and nothing join it.
    """
    if any(request.untried for request in running):
        return []
    chosen: list[int] = []
    drawing = [request for request in running if request.sampled]
    stream_reserved = False
    for index, request in enumerate(waiting):
        if request.untried:
            return [index] if not running and not chosen else chosen
        if request.sampled:
            alone = request.seeded or any(other.seeded for other in drawing)
            if stream_reserved or (alone and drawing):
                stream_reserved = True
                continue
            drawing.append(request)
        chosen.append(index)
    return chosen

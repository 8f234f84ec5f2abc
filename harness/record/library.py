"""What was recorded, found again by request: answers of a replay, and answers already paid for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from harness.core import canonical_json
from harness.record.exchange import Asked, Exchange
from harness.trajectories.lenient import listing, mapping

_LISTINGS = ("messages", "input")
_SHOWN = 60


class Library:
    """Recorded exchanges by request.

    The same request may have been asked several times and answered differently (retries, samples
    at a temperature): the n-th time it is asked, the n-th answer is given.

    Args:
        exchanges: in the order they were asked.
        repeat: whether the last answer serves every later time, as in a replay.
    """

    def __init__(self, exchanges: Sequence[Exchange], *, repeat: bool) -> None:
        self._repeat = repeat
        self._exchanges = exchanges
        self._answers: dict[str, list[Exchange]] = defaultdict(list)
        self._given: dict[str, int] = defaultdict(int)
        for exchange in exchanges:
            self._answers[exchange.asked.digest].append(exchange)

    def next(self, asked: Asked) -> Exchange | None:
        """The next recorded answer to a request."""
        key = asked.digest
        answers = self._answers.get(key, [])
        at = self._given[key]
        if at >= len(answers):
            return answers[-1] if answers and self._repeat else None
        self._given[key] += 1
        return answers[at]

    def nearest(self, asked: Asked) -> str:
        """How the recorded request that is nearest to `asked` differs from it."""
        same = [one.asked for one in self._exchanges if one.asked.path == asked.path]
        if not same:
            paths = sorted({one.asked.path for one in self._exchanges})
            return f"nothing was recorded for {asked.method} {asked.path}, only {paths!r}"
        return min((_differences(asked, other) for other in same), key=lambda found: found[0])[1]


def _differences(asked: Asked, recorded: Asked) -> tuple[tuple[int, int], str]:
    """Rank (fields that differ, fewer shared messages) and text of what differs."""
    one, other = mapping(asked.body), mapping(recorded.body)
    if not one or not other:
        same = asked.body == recorded.body
        return (0 if same else 1, 0), "the query" if same else _pair("body", asked.body, recorded)
    lines: list[str] = []
    shared = 0
    for name in sorted(one.keys() | other.keys()):
        if one.get(name) == other.get(name):
            continue
        if name in _LISTINGS and isinstance(one.get(name), list):
            shared, line = _messages(name, listing(one[name]), listing(other.get(name)))
            lines.append(line)
        else:
            lines.append(_pair(name, one.get(name), other.get(name)))
    if asked.query != recorded.query:
        lines.append(_pair("query", asked.query, recorded.query))
    return (len(lines), -shared), "\n".join(lines)


def _messages(name: str, asked: list[Any], recorded: list[Any]) -> tuple[int, str]:
    """Messages shared from the start, and the first that differs."""
    pairs = zip(asked, recorded, strict=False)
    at = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(asked), len(recorded)))
    if at == len(asked) or at == len(recorded):
        return at, f"{name}: asked {len(asked)}, recorded {len(recorded)}; the first {at} agree"
    return at, _pair(f"{name}[{at}]", asked[at], recorded[at])


def _pair(name: str, asked: Any, recorded: Any) -> str:
    one, other = (
        canonical_json(asked),
        canonical_json(recorded.body if isinstance(recorded, Asked) else recorded),
    )
    pairs = enumerate(zip(one, other, strict=False))
    start = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    start = max(0, start - 20)
    end = start + _SHOWN
    return f"{name}: asked …{one[start:end]!r}, recorded …{other[start:end]!r}"

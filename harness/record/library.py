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

    def next(self, request: Asked) -> Exchange | None:
        """The next recorded answer to a request."""
        key = request.digest
        answers = self._answers.get(key, [])
        position = self._given[key]
        if position >= len(answers):
            return answers[-1] if answers and self._repeat else None
        self._given[key] += 1
        return answers[position]

    def nearest(self, request: Asked) -> str:
        """How the recorded request that is nearest to `asked` differs from it."""
        same = [
            exchange.asked for exchange in self._exchanges if exchange.asked.path == request.path
        ]
        if not same:
            paths = sorted({exchange.asked.path for exchange in self._exchanges})
            return f"nothing was recorded for {request.method} {request.path}, only {paths!r}"
        return min(
            (_differences(request, recorded) for recorded in same),
            key=lambda difference: difference[0],
        )[1]


def _differences(request: Asked, recorded: Asked) -> tuple[tuple[int, int], str]:
    """Rank (fields that differ, fewer shared messages) and text of what differs."""
    sent_body, recorded_body = mapping(request.body), mapping(recorded.body)
    if not sent_body or not recorded_body:
        same = request.body == recorded.body
        return (0 if same else 1, 0), "the query" if same else _pair("body", request.body, recorded)
    lines: list[str] = []
    shared = 0
    for name in sorted(sent_body.keys() | recorded_body.keys()):
        if sent_body.get(name) == recorded_body.get(name):
            continue
        if name in _LISTINGS and isinstance(sent_body.get(name), list):
            shared, line = _messages(
                name, listing(sent_body[name]), listing(recorded_body.get(name))
            )
            lines.append(line)
        else:
            lines.append(_pair(name, sent_body.get(name), recorded_body.get(name)))
    if request.query != recorded.query:
        lines.append(_pair("query", request.query, recorded.query))
    return (len(lines), -shared), "\n".join(lines)


def _messages(name: str, sent: list[Any], recorded: list[Any]) -> tuple[int, str]:
    """Messages shared from the start, and the first that differs."""
    pairs = zip(sent, recorded, strict=False)
    index = next(
        (position for position, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(recorded))
    )
    if index == len(sent) or index == len(recorded):
        return (
            index,
            f"{name}: asked {len(sent)}, recorded {len(recorded)}; the first {index} agree",
        )
    return index, _pair(f"{name}[{index}]", sent[index], recorded[index])


def _pair(name: str, sent: Any, recorded: Any) -> str:
    sent_text, recorded_text = (
        canonical_json(sent),
        canonical_json(recorded.body if isinstance(recorded, Asked) else recorded),
    )
    pairs = enumerate(zip(sent_text, recorded_text, strict=False))
    start = next(
        (position for position, (a, b) in pairs if a != b), min(len(sent_text), len(recorded_text))
    )
    start = max(0, start - 20)
    end = start + _SHOWN
    return f"{name}: asked …{sent_text[start:end]!r}, recorded …{recorded_text[start:end]!r}"

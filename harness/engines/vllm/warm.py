"""Warm-up: one short request for every beginning that the requests to come will share.

The first request compiles and allocates; one with the skill and the tools also leaves their
attention state in the prefix cache, so that no rollout has to compute it.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

from harness.core import BadInput, Unreachable, canonical_json
from harness.engines.vllm.figures import authorised
from harness.engines.vllm.profile import ServedTask
from harness.models.recordings import open_recording

MOST = 8
"""Beginnings that are warmed; the most frequent of a recording."""
_LIMIT_S = 600.0
_BEGINNING = ("tools", "tool_choice", "chat_template_kwargs")


def warm_bodies(source: Path | None) -> list[dict[str, Any]]:
    """The requests that warm a server that generates.

    Args:
        source: a JSON file with `messages` and perhaps `tools`, or recorded calls (`calls.sqlite`
            of a run, or an export), whose most frequent instructions and tools are taken; None
            for a plain word.

    Raises:
        BadInput: if it is neither.
    """
    plain = {"messages": [{"role": "user", "content": "Hello"}]}
    if source is None:
        return [plain]
    if source.suffix == ".json":
        return [_read_body(source)]
    begun = Counter(
        canonical_json(_beginning(call.body)) for call in open_recording(_calls_of(source))
    )
    return [json.loads(text) for text, _ in begun.most_common(MOST)] or [plain]


def _calls_of(source: Path) -> Path:
    return source / "calls.sqlite" if source.is_dir() else source


def _read_body(path: Path) -> dict[str, Any]:
    try:
        found = path.read_text("utf-8")
        body: Any = json.loads(found)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot read {str(path)!r}: {error}") from error
    if isinstance(body, dict) and isinstance(body.get("messages"), list):  # pyright: ignore[reportUnknownMemberType]  # of JSON
        return cast("dict[str, Any]", body)
    raise BadInput(f"{str(path)!r}: expected a request with messages, found {found[:80]!r}")


def _beginning(body: dict[str, Any]) -> dict[str, Any]:
    """Instructions and tools of a request, with a word in place of the task."""
    messages = [one for one in body["messages"] if one["role"] in ("system", "developer")]
    kept = {name: body[name] for name in _BEGINNING if name in body}
    return {**kept, "messages": [*messages, {"role": "user", "content": "Hello"}]}


def warm(url: str, name: str, task: ServedTask, bodies: list[dict[str, Any]]) -> None:
    """Send the requests to one server and wait for the answers.

    Args:
        url: base URL.
        name: of the model.
        task: of the server; only one that generates is sent `bodies`.
        bodies: see :func:`warm_bodies`.

    Raises:
        Unreachable: if the server does not answer them.
    """
    if task == "embed":
        _post(f"{url}/embeddings", {"model": name, "input": ["Hello"]})
    elif task == "rerank":
        _post(f"{url}/rerank", {"model": name, "query": "Hello", "documents": ["Hello"]})
    else:
        for body in bodies:
            short = {**body, "model": name, "max_tokens": 1, "stream": False}
            _post(f"{url}/chat/completions", short)


def _post(where: str, body: dict[str, Any]) -> None:
    import httpx

    try:
        answer = httpx.post(
            where, json=body, headers=authorised(), timeout=_LIMIT_S, trust_env=False
        )
    except httpx.HTTPError as error:
        raise Unreachable(f"{where} did not answer the warm-up: {error}") from error
    if answer.status_code != 200:
        raise Unreachable(
            f"{where} refused the warm-up (HTTP {answer.status_code}): {answer.text[:300]!r}"
        )

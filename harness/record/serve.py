"""`harness models serve --context`: the same shortening in front of a model of this machine."""

from __future__ import annotations

import json
import os

from starlette.applications import Starlette

from harness.core import mapping
from harness.core.redaction import Redactor
from harness.models import Backend, Budget
from harness.rag.compress import Store
from harness.record.answers import Answers
from harness.record.context import Compressions, Context, Settings
from harness.record.forward import Line
from harness.record.proxy import Proxy
from harness.record.upstream import Purse, Upstream
from harness.record.wires import CHAT, Body
from harness.trajectories.messages import Turn, message_turns

_BASE = "http://in-process/v1"


def shortening(backend: Backend, settings: Settings, store: Store | None = None) -> Starlette:
    """An app that shortens large tool outputs and asks `backend`.

    The embedded engine takes no tools, so that `expand` is not offered; calls and results of a
    conversation reach it as text.

    Args:
        backend: of the model.
        settings: of the compression.
        store: where what is left out is kept; default the user's cache folder.

    Raises:
        BadInput: if the critic cannot be opened.
    """
    secrets = Redactor(environment=os.environ)
    upstream = Upstream(_BASE, _BASE.removesuffix("/v1"), backend=backend, adapt=as_text)
    context = Context(Compressions(settings, store or Store()), secrets, expandable=False)
    purse = Purse(Budget(), upstream)
    line = Line(upstream, upstream.client(), None, purse, secrets, "serve", context)
    return Proxy(Answers([], replay=False), line, secrets).app()


def as_text(body: Body) -> Body:
    """A chat request whose calls and results are texts of the assistant and the user."""
    names: dict[str, str] = {}
    messages: list[Body] = []
    for message in CHAT.listed(body):
        turns = message_turns(mapping(message))
        names |= {call.id: call.name for turn in turns for call in turn.calls}
        plain = [_as_text(turn, names) for turn in turns if turn.calls or turn.role == "tool"]
        messages += plain or [message]
    return {**body, "messages": messages}


def _as_text(turn: Turn, names: dict[str, str]) -> Body:
    if turn.role == "tool":
        name = names.get(turn.call_id, "the tool")
        return {"role": "user", "content": f"Result of {name}:\n{turn.text}"}
    calls = [{"name": call.name, "arguments": call.json} for call in turn.calls]
    lines = [turn.text, *(json.dumps(call, ensure_ascii=False) for call in calls)]
    return {"role": "assistant", "content": "\n".join(filter(None, lines))}

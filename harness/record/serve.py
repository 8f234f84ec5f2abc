"""`harness models serve --context`: the same shortening in front of a model of this machine."""

from __future__ import annotations

import json
import os

from starlette.applications import Starlette

from harness.core.redaction import Redactor
from harness.models import Backend, Budget
from harness.rag.compress import Store
from harness.record.context import Compressions, Context, Settings
from harness.record.library import Library
from harness.record.line import Line
from harness.record.money import Purse
from harness.record.proxy import Proxy
from harness.record.upstream import Upstream
from harness.record.wires import Body
from harness.trajectories.building import text_of
from harness.trajectories.lenient import listing, mapping, string

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
    return Proxy(Library([], repeat=False), line, secrets).app()


def as_text(body: Body) -> Body:
    """A chat request whose calls and results are texts of the assistant and the user."""
    names: dict[str, str] = {}
    messages = [_plain(mapping(message), names) for message in listing(body.get("messages"))]
    return {**body, "messages": messages}


def _plain(message: Body, names: dict[str, str]) -> Body:
    role, text = message.get("role"), text_of(message.get("content"))
    if role == "tool":
        name = names.get(string(message.get("tool_call_id")), "the tool")
        return {"role": "user", "content": f"Result of {name}:\n{text}"}
    calls = [mapping(entry) for entry in listing(message.get("tool_calls"))]
    if not calls:
        return message
    lines = [text] if text else []
    for call in calls:
        function = mapping(call.get("function"))
        names[string(call.get("id"))] = string(function.get("name"))
        visible_call = {"name": function.get("name"), "arguments": function.get("arguments")}
        lines.append(json.dumps(visible_call, ensure_ascii=False))
    return {"role": "assistant", "content": "\n".join(lines)}

"""A recording as an endpoint: an OpenAI-compatible app that answers what was asked before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from harness.models.recordings import nearest, open_recording
from harness.models.wire import request_digest

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


class Recording:
    """The calls of a recording, found again by the digest of their request.

    A request names the model of the replay; it is looked up under every model that was recorded.

    Attributes:
        simulated: whether a simulated model answered any of them.
    """

    def __init__(self, path: Path) -> None:
        self._calls = open_recording(path)
        self._answers = {call.call_id: call.response for call in self._calls}
        self._models = sorted({(call.kind, str(call.body["model"])) for call in self._calls})
        self.simulated = any(call.kind == "simulated" for call in self._calls)
        self._path = path

    def app(self) -> Starlette:
        """The app; a miss is a 404 that says how the nearest recorded request differs."""
        from starlette.applications import Starlette
        from starlette.routing import Route

        return Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    async def _answer(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        body = json.loads(await request.body())
        for kind, model in self._models:
            answer = self._answers.get(request_digest(kind, {**body, "model": model}))
            if answer is not None:
                return JSONResponse(answer)
        models = {model for _, model in self._models}
        asked = {**body, "model": next(iter(models))} if len(models) == 1 else body
        kind = self._models[0][0] if self._models else "replay"
        key = request_digest(kind, asked)
        lines = "\n  ".join(nearest(asked, self._calls))
        message = (
            f"not in the recording {self._path} ({len(self._calls)} calls): request {key}; "
            f"the nearest recorded request differs in\n  {lines}"
        )
        return JSONResponse({"error": {"message": message}}, status_code=404)

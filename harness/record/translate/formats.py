"""The formats that are translated for whoever speaks chat completions only, for the gateway."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from types import ModuleType
from typing import Any

import httpx

from harness.models import Body, Refused
from harness.record.translate import items, messages, responses
from harness.record.translate.chat import Untranslatable, error_of


class Translated:
    """A format by its module of translations and its form of answers."""

    def __init__(self, module: ModuleType, answer: type[messages.Answer] | type[items.Answer]):
        self._module, self._answer = module, answer

    def request(self, body: Body) -> Body:
        """A request of this format as a chat request.

        Raises:
            Refused: if chat completions cannot say it.
        """
        try:
            return self._module.request(body)
        except (Untranslatable, ValueError, LookupError) as error:
            raise Refused(
                400, f"the upstream speaks chat completions only, which cannot say this: {error}"
            ) from error

    def whole(self, body: Body, completion: Body) -> Body:
        """A completion as the response to the request `body`."""
        answer = self._answer(body)
        answer.feed(completion)
        return answer.whole()

    async def events(self, body: Body, chunks: AsyncIterator[Body]) -> AsyncGenerator[Body]:
        """The chunks of a completion as events of this format, each as soon as it has come.

        Raises:
            Refused: if the stream says so.
            httpx.RemoteProtocolError: if it ends before its `finish_reason`.
        """
        answer, begun = self._answer(body), False
        async for chunk in chunks:
            problem = error_of(chunk)
            if problem is not None:
                raise Refused(500, problem)
            if not begun:  # the first chunk names the answer
                answer.head.name(chunk)
                for event in answer.begin():
                    yield event
                begun = True
            for event in answer.feed(chunk):
                yield event
        if not begun or answer.head.finish is None:
            raise httpx.RemoteProtocolError("the chat stream ended before its finish_reason")
        for event in answer.end():
            yield event

    def error(self, message: str, status: int, param: str | None = None) -> Any:
        """An error as clients of this format read it."""
        return self._module.error(message, status)


MESSAGES = Translated(messages, messages.Answer)
RESPONSES = Translated(responses, items.Answer)

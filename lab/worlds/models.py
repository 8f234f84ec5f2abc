"""Models without weights, which keep what they were asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from pydantic import JsonValue

from harness.core import Usage, without_thoughts
from harness.models import Message, Reply, Sampling

Decide = Callable[[list[Message], Sampling | None], str | Exception]


class ScriptedModel(ABC):
    """A model whose replies a program writes.

    Attributes:
        prompts: the last message of every request.
        requests: all messages of every request.
        samplings: of every request.
    """

    spec, simulated, constrains = "scripted/function", True, False

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.requests: list[list[Message]] = []
        self.samplings: list[Sampling | None] = []

    @abstractmethod
    def text(
        self,
        messages: list[Message],
        sampling: Sampling | None,
        response_format: dict[str, JsonValue] | None,
    ) -> str | Exception:
        """The text of a reply, or what asking ends with."""

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.Model.complete`."""
        self.prompts.append(str(messages[-1]["content"]))
        self.requests.append(messages)
        self.samplings.append(sampling)
        answer = self.text(messages, sampling, response_format)
        if isinstance(answer, Exception):
            raise answer
        return Reply(
            call_id=str(len(self.prompts)), text=without_thoughts(answer), finish_reason="stop",
            model="function",
            usage=Usage(calls=1, prompt_tokens=10, completion_tokens=5),
        )  # fmt: skip


class FunctionModel(ScriptedModel):
    """A model that answers by a function of the messages and the sampling."""

    def __init__(self, decide: Decide) -> None:
        super().__init__()
        self._decide = decide

    def text(
        self,
        messages: list[Message],
        sampling: Sampling | None,
        response_format: dict[str, JsonValue] | None,
    ) -> str | Exception:
        """The function's."""
        return self._decide(messages, sampling)

"""One exchange under `--context compress`, from the client's request to the last leg."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from harness.core import BadInput, listing, mapping, string
from harness.core.redaction import Redactor
from harness.record.context.compressing import Compressions
from harness.record.context.outputs import question_after, replaced
from harness.record.context.splices import KEPT, Splices
from harness.record.wires import Body, Rounds, Wire
from harness.trajectories.messages import Call, arguments_of

MOST_LEGS = 8
"""Rounds in which only our tool is called; then the answer ends as it is."""
NAME = "expand"
SECOND_NAME = "expand_left_out"
"""Where the agent has a tool of the first name already."""
_DESCRIPTION = (
    "Some tool results are shortened: a mark such as [… 812 tokens left out: expand 0a1b2c3d4e] "
    "stands for a part that seemed not to matter. This gives the part back, word for word, by "
    "its ID. Use it only with an ID that stands in a result."
)
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "The ten characters of the mark."}},
    "required": ["id"],
    "additionalProperties": False,
}


class Context:
    """Context that all exchanges of a recording or a server share.

    Args:
        compressions: of tool outputs.
        secrets: an output that holds one stays as it is: what is left out lies on disk.
        expandable: whether the tool is offered; off for a model that takes no tools.
    """

    def __init__(
        self, compressions: Compressions, secrets: Redactor, *, expandable: bool = True
    ) -> None:
        self.compressions, self._secrets = compressions, secrets
        self._expandable = expandable
        self.splices = Splices()
        self._questions: OrderedDict[str, str] = OrderedDict()

    async def begin(self, wire: Wire, body: Body) -> ShortenedExchange:
        """Shorten a request's outputs, put hidden rounds back and offer the tool."""
        shortenings: list[dict[str, Any]] = []

        async def shorten(text: str, question: str) -> str:
            if self._secrets.text(text) != text:
                return text
            compressed = await self.compressions.shortened(text, self._secrets.text(question))
            if compressed is None:
                return text
            names = {"key", "id", "before", "after", "tokenizer"}
            shortenings.append(compressed.model_dump(mode="json", include=names))
            return compressed.text

        items = await replaced(wire.listed(body), shorten, self._question_before(body))
        sent = self.splices.apply(wire, body, items)
        # From the first request of an agent on: a tool that comes later changes the prefix.
        offers_tool = bool(body.get("tools")) or bool(shortenings)
        if not self._expandable or not offers_tool or body.get("n") not in (None, 1):
            return ShortenedExchange(self, wire, body, sent, shortenings, None)
        tools = listing(body.get("tools"))
        definitions = (mapping(mapping(tool).get("function")) or mapping(tool) for tool in tools)
        name = SECOND_NAME if any(tool.get("name") == NAME for tool in definitions) else NAME
        tool = wire.tool(name, _DESCRIPTION, _PARAMETERS)
        return ShortenedExchange(
            self, wire, body, {**sent, "tools": [*tools, tool]}, shortenings, name
        )

    def answered(self, wire: Wire, body: Body, response_id: str) -> None:
        """Remember the question of a response that the upstream may keep."""
        question = self._question_before(body)
        for item in wire.listed(body):
            question = question_after(item, question)
        self._questions[response_id] = question
        if len(self._questions) > KEPT:
            self._questions.popitem(last=False)

    def _question_before(self, body: Body) -> str:
        """The last question of the response that a request goes on from."""
        return self._questions.get(string(body.get("previous_response_id")), "")


class ShortenedExchange:
    """The legs of one exchange.

    Attributes:
        body: of the leg to send.
        rounds: what the client sees of the legs; None if the tool is not offered.
        compressed: outputs that are shortened in this request, with tokens before and after.
        expanded: IDs that the model asked for, with their tokens.
        hidden: whole answers that the client does not see as they are.
    """

    def __init__(
        self,
        context: Context,
        wire: Wire,
        request: Body,
        sent: Body,
        compressed: list[dict[str, Any]],
        name: str | None,
    ) -> None:
        self._context, self._wire, self._request, self._name = context, wire, request, name
        self.body = sent
        self.rounds: Rounds | None = wire.rounds(name) if name else None
        self.compressed = compressed
        self.expanded: list[dict[str, Any]] = []
        self.hidden: list[Body] = []
        self._items: list[Body] = []
        self._owed: list[Body] = []
        self._last_id = ""

    async def follow(self, body: Body) -> Body | None:
        """After a leg's answer: the next leg's request; None if the client has to go on."""
        assert self.rounds is not None
        self._last_id = string(body.get("id"))
        calls = self._wire.reply(body).calls
        expansions = [call for call in calls if call.name == self._name]
        results = {call.id: await self._result(call) for call in expansions}
        items = self.rounds.hidden(body, results)
        self._items += items
        if expansions:
            self.hidden.append(body)
        if not expansions or len(expansions) < len(calls) or self.rounds.leg >= MOST_LEGS:
            self._owed = items[-len(results) :] if results else []
            return None
        self.rounds.go_on()
        listed = [*self._wire.listed(self.body), *items]
        self.body = {**self.body, self._wire.listing: listed}
        return self.body

    async def _result(self, call: Call) -> str:
        """Answer a call of our tool; for an unknown ID, say what to do."""
        compressions = self._context.compressions
        id_ = string(arguments_of(call.arguments).get("id")).strip()
        try:
            text = await asyncio.to_thread(compressions.store.expand, id_)
        except BadInput:
            text = f"no part has the ID {id_!r}; use one that stands in a mark, or go on without"
        self.expanded.append({"id": id_, "tokens": compressions.tokenizer.count(text)})
        return text

    def finish(self, visible: Body) -> None:
        """Remember what the client was shown in place of what was said."""
        shown_id = string(visible.get("id"))
        if self._wire.name == "responses":
            self._context.answered(self._wire, self._request, shown_id)
            if self.expanded:
                self._context.splices.owe(shown_id, self._last_id, self._owed)
        if self.expanded:
            reply = self._wire.reply(visible)
            self._context.splices.remember(self._wire, self._request, reply, self._items)

    def facts(self) -> dict[str, Any]:
        """Return what is recorded of it."""
        counts = {"compressed": self.compressed, "expanded": self.expanded, "hidden": self.hidden}
        return {name: value for name, value in counts.items() if value}

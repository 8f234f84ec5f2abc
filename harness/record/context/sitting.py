"""One exchange under `--context compress`, from the client's request to the last leg."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from harness.core.redaction import Redactor
from harness.record.context.compressing import Compressions
from harness.record.context.outputs import last_question, replaced
from harness.record.context.rounds import Rounds
from harness.record.context.rounds_chat import ChatRounds
from harness.record.context.rounds_messages import MessagesRounds
from harness.record.context.rounds_responses import ResponsesRounds
from harness.record.context.splices import KEPT, Splices, listed_of
from harness.record.context.tool import answer, name_for, offered
from harness.record.wires import Body, Call, Wire
from harness.trajectories.lenient import string

MOST_LEGS = 8
"""Rounds in which only our tool is called; then the answer ends as it is."""
_ROUNDS = {"chat": ChatRounds, "responses": ResponsesRounds, "messages": MessagesRounds}


class Context:
    """What all exchanges of a recording or a server share.

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

    async def begin(self, wire: Wire, body: Body) -> Sitting:
        """Shorten a request's outputs, put hidden rounds back and offer the tool."""
        facts: list[dict[str, Any]] = []

        async def shorten(text: str, question: str) -> str:
            if self._secrets.text(text) != text:
                return text
            compressed = await self.compressions.shortened(text, self._secrets.text(question))
            if compressed is None:
                return text
            names = {"key", "id", "before", "after", "tokenizer"}
            facts.append(compressed.model_dump(mode="json", include=names))
            return compressed.text

        before = self._questions.get(string(body.get("previous_response_id")), "")
        shortened = await replaced(wire.name, body, shorten, before)
        sent = self.splices.apply(wire, body, shortened)
        # From the first request of an agent on: a tool that comes later changes the prefix.
        offers_tool = bool(body.get("tools")) or bool(facts)
        if not self._expandable or not offers_tool or body.get("n") not in (None, 1):
            return Sitting(self, wire, body, sent, facts, None)
        name = name_for(body)
        return Sitting(self, wire, body, offered(wire.name, sent, name), facts, name)

    def answered(self, body: Body, response_id: str) -> None:
        """Remember the question of a response that the upstream may keep."""
        before = self._questions.get(string(body.get("previous_response_id")), "")
        self._questions[response_id] = last_question("responses", body, before)
        if len(self._questions) > KEPT:
            self._questions.popitem(last=False)


class Sitting:
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
        self._context, self._wire, self._asked, self._name = context, wire, request, name
        self.body = sent
        self.rounds: Rounds | None = _ROUNDS[wire.name](name) if name else None
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
        ours = [call for call in calls if call.name == self._name]
        results = dict([await self._result(call) for call in ours])
        items = self.rounds.hidden(body, results)
        self._items += items
        if ours:
            self.hidden.append(body)
        if not ours or len(ours) < len(calls) or self.rounds.leg >= MOST_LEGS:
            self._owed = items[-len(results) :] if results else []
            return None
        self.rounds.go_on()
        listed = [*listed_of(self._wire, self.body), *items]
        self.body = {**self.body, self._wire.listing: listed}
        return self.body

    async def _result(self, call: Call) -> tuple[str, str]:
        compressions = self._context.compressions
        id_, text = await asyncio.to_thread(answer, call, compressions.store)
        self.expanded.append({"id": id_, "tokens": compressions.tokenizer.count(text)})
        return call.id, text

    def finish(self, shown: Body) -> None:
        """Remember what the client was shown in place of what was said."""
        if self._wire.name == "responses":
            self._context.answered(self._asked, string(shown.get("id")))
        if not self.expanded:
            return
        reply = self._wire.reply(shown)
        self._context.splices.remember(self._wire, self._asked, reply, self._items)
        if self._wire.name == "responses":
            shown_id = string(shown.get("id"))
            self._context.splices.owe(shown_id, self._last_id, self._owed)

    def facts(self) -> dict[str, Any]:
        """What is recorded of it."""
        counts = {"compressed": self.compressed, "expanded": self.expanded, "hidden": self.hidden}
        return {name: value for name, value in counts.items() if value}

"""Model calls of every task: what was sent, the tokens as they come, and what they cost.

Calls are those of LangChain's models, heard through its callbacks (:func:`graphs.listener`), or
those that reach a model or a record of ours (`Answers`).

Tokens and money come from the messages that a task wrote, and from recorded calls.

A chat message that carries what its call used (`usage_metadata` of LangChain, `usage` of the OpenAI
API, `metrics` of ATIF), and a count of ours (`prompt_tokens`), is counted for the task that wrote
it first; a node that hands the messages of others on is not charged for them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from harness.core import BadInput, Usage, digest
from harness.debug.engine.history import find_branch
from harness.debug.engine.stops import HIDDEN
from harness.models import parse_spec, price_of

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore, Ref

_CUT, _MARK = 40, 20
"""Least length of a line that was cut, and the most characters that mark the cut (`… [cut]`)."""
_ID = re.compile(r"\bid='[^']*', ")
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
"""The day of a model's version, which price tables leave out."""


@dataclass(frozen=True)
class Sent:
    """One call of a model.

    Attributes:
        thread: of the task that made it.
        task: its id.
        messages: in LangChain's or OpenAI's form.
        tools: that it offers, in OpenAI's or Anthropic's form.
    """

    thread: str
    task: str
    messages: Sequence[Any]
    tools: Sequence[Any] | None = None

    @property
    def lines(self) -> list[str]:
        """What was sent, to read: names of the tools, then each message as LangChain prints it."""
        from langchain_core.messages import convert_to_messages

        offered = (mapping(mapping(tool).get("function", tool)) for tool in self.tools or ())
        tools = ", ".join(str(tool.get("name")) for tool in offered)
        texts = [message.pretty_repr() for message in convert_to_messages(self.messages)]
        return "\n".join([f"tools: {tools}", *texts] if tools else texts).split("\n")


@dataclass
class Meter:
    """Meter of the calls of a session, and of what its tasks use.

    Calls that leave no trace in the state are noted here when they are made, or served from a
    record; messages are read from the store.

    Attributes:
        sent: every call, in order.
        hear: takes each piece of text that a model streams while its node runs.
        at_model: whether calls are noted where they arrive, not where LangChain makes them.
    """

    sent: list[Sent] = field(default_factory=list[Sent])
    hear: Callable[[str], None] = field(default=lambda _: None)
    at_model: bool = False
    _noted: defaultdict[tuple[str, str], Usage] = field(
        default_factory=partial(defaultdict[tuple[str, str], Usage], Usage)
    )
    _read: dict[Ref, list[tuple[tuple[Hashable, str], Usage]]] = field(
        default_factory=dict[Any, Any]
    )

    def note(self, thread: str, task: str, usage: Usage) -> None:
        """A call of the task `task`."""
        self._noted[thread, task] += usage

    def shown(self, first: str, second: str = "") -> list[str]:
        """Lines that a call sent, or a unified diff of those of two calls, by their numbers.

        Before it, with `!`, stands where a line of one call is the beginning of the other's.

        Raises:
            BadInput: if there is no such call.
        """
        numbers = [first, *filter(None, [second])]
        if not all(text.isdecimal() and int(text) < len(self.sent) for text in numbers):
            raise BadInput(f"expected numbers of calls below {len(self.sent)}, found {numbers!r}")
        texts = [self.sent[int(text)].lines for text in numbers]
        changes, cuts = [*unified_diff(texts[0], texts[-1], lineterm="", n=2)][2:], list[str]()
        long = [line for line in changes if len(line) > _CUT]
        gone, come = ([line[1:] for line in long if line[0] == sign] for sign in "-+")
        for pair in product(gone, come):
            short, columns = min(map(len, pair)), enumerate(zip(*pair, strict=False))
            alike = next((number for number, (a, b) in columns if a != b), short)
            if alike >= _CUT and short - alike <= _MARK:
                cuts.append(f"! cut after {alike} characters: …{min(pair, key=len)[-_CUT:]}")
        return cuts + changes if second else texts[0]

    def tasks(self, store: CheckpointStore, thread: str) -> dict[str, Usage]:
        """Usage by task id, of the tasks of a thread that used anything."""
        # A call itself says more than the message that it led to.
        return {**self._written(store, thread), **self._called(store, thread)}

    def _called(self, store: CheckpointStore, thread: str) -> dict[str, Usage]:
        """Noted calls of a thread; tasks that it has from its parent are its parent's."""
        usages = {task: usage for (of, task), usage in self._noted.items() if of == thread}
        if not self._noted:
            return usages
        branch = find_branch(store, thread)
        if branch.parent is None or branch.kind == "replay":
            return usages
        return {**self._called(store, branch.parent), **usages}

    def _written(self, store: CheckpointStore, thread: str) -> dict[str, Usage]:
        writes = [
            (write, write.ref)
            for write in store.writes(thread)
            if not isinstance(write.ref, bytes) and not write.channel.startswith(HIDDEN)
        ]
        new = list({ref for _, ref in writes} - self._read.keys())
        for ref, value in zip(new, store.values(new), strict=True):
            items = cast("list[Any]", value) if isinstance(value, list) else [value]
            usages = ((item, _usage(item)) for item in items)
            self._read[ref] = [(_key(item), usage) for item, usage in usages if usage is not None]
        # In the order of their ends: a sub-graph's node ends behind those inside it.
        ends = {(moment.ns, moment.parent): moment.id for moment in store.outline(thread)}
        writes.sort(key=lambda row: ends.get((row[0].ns, row[0].checkpoint), "~"))
        tasks: defaultdict[str, Usage] = defaultdict(Usage)
        seen: set[Hashable] = set()
        for write, ref in writes:
            for (name, text), usage in self._read[ref]:
                if name not in seen and text not in seen:
                    tasks[write.task] += usage
                seen.add(name or text)
        return dict(tasks)


def _usage(item: Any) -> Usage | None:
    if isinstance(item, Mapping):
        body = cast("Mapping[str, Any]", item)
        usage = body if "prompt_tokens" in body else None
        counts = mapping(body.get("usage") or body.get("metrics") or usage)
        details = mapping(counts.get("prompt_tokens_details"))
        cached = counts.get("cached_tokens", details.get("cached_tokens"))
        tokens = (counts.get("prompt_tokens"), counts.get("completion_tokens"), cached)
        model, cost = body.get("model") or body.get("model_name"), counts.get("cost_usd")
    else:
        counts = mapping(getattr(item, "usage_metadata", None))
        about = mapping(getattr(item, "response_metadata", None))
        cached = mapping(counts.get("input_token_details")).get("cache_read")
        tokens = (counts.get("input_tokens"), counts.get("output_tokens"), cached)
        model, cost = about.get("model_name") or about.get("model"), None
    prompt, completion, cached = (count if isinstance(count, int) else 0 for count in tokens)
    if not prompt and not completion:
        return None
    if not isinstance(cost, (int, float)):
        cost = cost_of(str(model or ""), prompt, completion, cached)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cost_usd=cost,
    )


def cost_of(model: str, prompt: int, completion: int, cached: int = 0) -> float | None:
    """US dollars of a call, by the price at the provider's own endpoint; None if it is unknown."""
    for name in (model, _DATED.sub("", model)):
        try:
            price = price_of(parse_spec(f"openai/{name}"), official=True)
        except BadInput:
            continue
        if price is not None:
            return price.cost(prompt, completion, cached)
    return None


def _key(item: Any) -> tuple[Hashable, str]:
    """A message's id, and a digest of the rest: reducers may give it its id once it is stored."""
    if isinstance(item, Mapping):
        body = cast("Mapping[str, Any]", item)
        rows = [row for row in sorted(body.items(), key=str) if row[0] != "id"]
        return body.get("id"), digest(repr(rows).encode())
    return getattr(item, "id", None), digest(_ID.sub("", repr(item)).encode())


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping as it is; an empty one for any other value."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}

"""Commands, one a line, over one debugger, and a prompt with history and completion for them.

Nothing that a model wrote reaches the terminal as control.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from harness.core import BadInput, HarnessError, Usage, grouped, printable
from harness.debug.engine.compare import compare
from harness.debug.engine.expressions import Expression
from harness.debug.engine.history import Event, Point, listed, timeline
from harness.debug.engine.session import Debugger
from harness.debug.engine.stops import Breakpoint, Stop, TaskInfo
from harness.debug.engine.usage import Sent

PROMPT = "(debug) "
WIDTH = 100
"""Characters of a value on one line."""
SHORT = {"b": "break", "s": "step", "c": "continue", "r": "replay", "w": "watch"}
"""Beginnings of several commands, and the one that is meant."""
PASSED_OVER = ("breaks", "locals", "branches", "reload", "help", "quit")
"""Commands without arguments that pass over words behind them: `help step` is the list, too."""
_LINE = re.compile(rf"\n|(.{{{WIDTH}}})")
_IMAGE = re.compile(r"data:(image/[\w+.-]+);base64,([A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class Command:
    """A command: what it is called with, what it does."""

    usage: str
    help: str
    run: Callable[[str], Stop | str | None]


class Terminal:
    """Commands over one debugger.

    Attributes:
        commands: every command by its name.
        ended: whether `quit` was typed.
    """

    def __init__(
        self,
        debugger: Debugger,
        write: Callable[[str], None],
        reload: Callable[[], Any] | None = None,
    ) -> None:
        """Answers go to `write`; `reload` loads the graph's file again, if there is one."""

        def printed(text: str) -> None:
            write(printable(text))

        self._debugger, self._write = debugger, printed
        self._reload, self._streamed, self.ended = reload, "", False
        debugger.meter.hear = self._hear
        points, d = debugger.breakpoints, debugger
        self.commands: dict[str, Command] = {
            "step": Command("", "run this node", lambda _: d.step()),
            "into": Command("", "run this node, stop inside it", lambda _: d.step_into()),
            "out": Command("", "finish this sub-graph", lambda _: d.step_out()),
            "continue": Command("", "run to the next stop", lambda _: d.go()),
            "until": Command("NODE", "run to a node", d.until),
            "break": Command("NODE[:VISIT] [if EXPRESSION]", "set a breakpoint", self._break),
            "breaks": Command("", "list breakpoints", lambda _: self._breaks()),
            "clear": Command(
                "NUMBER", "remove a breakpoint", lambda words: points.remove(_number(words))
            ),
            "watch": Command("EXPRESSION", "show a value at every stop", points.watch),
            "unwatch": Command("EXPRESSION", "no more", points.unwatch),
            "print": Command(
                "EXPRESSION",
                "a value of the state",
                lambda words: full(Expression(words).value(d.state())),
            ),
            "state": Command("", "the state", lambda _: full(d.state())),
            "memory": Command(
                "[NAMESPACE]", "items of the graph's store", lambda words: full(d.memory(words))
            ),
            "locals": Command("", "variables where a node raised", lambda _: self._locals()),
            "where": Command("", "where the run stands", lambda _: d.last),
            "steps": Command("[BRANCH]", "what ran", self._steps),
            "usage": Command("[BRANCH]", "tokens and cost by node", self._usage),
            "set": Command("KEY JSON", "change the state here", self._set),
            "output": Command("STEP JSON", "change what a step returned", self._output),
            "fork": Command("STEP [NAME]", "run again from a step", self._fork),
            "rewind": Command("[STEPS]", "go back", lambda words: d.rewind(_number(words or "1"))),
            "calls": Command(
                "[CALL [CALL]]", "what models were sent, or the difference", self._calls
            ),
            "branches": Command("", "list branches", lambda _: self._branches()),
            "compare": Command("BRANCH BRANCH", "where two branches part", self._compare),
            "replay": Command(
                "[BRANCH]", "run it from its recording", lambda words: d.replay(words or None)
            ),
            "start": Command(
                "JSON",
                "run the graph on an input, in a thread of its own",
                lambda words: d.start(_value(words), thread=None),
            ),
            "answer": Command("JSON", "answer an interrupt", lambda words: d.answer(_value(words))),
            "retry": Command("", "run the node that raised again", lambda _: d.retry()),
            "live": Command("", "continue where the recording ends", lambda _: d.live()),
            "serve": Command(
                "JSON",
                "continue as if the node had returned it",
                lambda words: d.serve(_value(words)),
            ),
            "reload": Command("", "load the graph's file again", lambda _: self._load()),
            "help": Command("", "this list", lambda _: self._help()),
            "quit": Command("", "leave; the thread can be resumed", lambda _: self._quit()),
        }

    def show(self, stop: Stop) -> None:
        """Write where the run stands, behind what models streamed on the way."""
        self._hear("\n" if self._streamed else "")
        self._write(stop_text(stop))

    def _hear(self, text: str) -> None:
        """Write what a model streams, a line at a time: escape codes may come in parts."""
        *lines, self._streamed = _LINE.split(self._streamed + text)
        for line in filter(None, lines):
            self._write(f"  … {line}")

    def run(self, lines: Iterable[str]) -> None:
        """Run commands until `quit` or the end of the lines. Errors are shown."""
        for line in lines:
            self.do(line)
            if self.ended:
                return

    def do(self, line: str) -> None:
        """Run one command; its beginning is enough where only one begins so."""
        name, _, words = line.strip().partition(" ")
        if not name:
            return
        name = SHORT.get(name, name)
        matches = [full for full in self.commands if full.startswith(name)]
        try:
            if name not in self.commands and len(matches) != 1:
                raise BadInput(f"no command {name!r}; did you mean {', '.join(matches) or 'help'}?")
            name = name if name in self.commands else matches[0]
            command = self.commands[name]
            if words and not command.usage and name not in PASSED_OVER:
                raise BadInput(f"expected nothing behind the command, found {words!r}")
            result = command.run(words.strip())
        except HarnessError as error:
            self._write(str(error))
        except KeyboardInterrupt:
            self.show(self._debugger.pause())
        except Exception as error:  # noqa: BLE001  # a user's types may raise: the session goes on
            self._write(f"{type(error).__name__}: {error}")
        else:
            if isinstance(result, Stop):
                self.show(result)
            elif result is not None:
                self._write(result)

    def complete(self, start: str) -> list[str]:
        """Commands, nodes, state keys and branches that begin so."""
        words = [*self.commands, *self._debugger.breakpoints.visits()]
        words += [branch.name for branch in listed(self._debugger.store)]
        if self._debugger.graph is not None:
            words += self._debugger.graph.nodes
            words += [name for name in self._debugger.graph.channels if ":" not in name]
        return sorted({word for word in words if word.startswith(start) and word[:2] != "__"})

    def _break(self, words: str) -> str:
        target, _, condition = words.partition(" if ")
        node, _, visit = target.strip().partition(":")
        if not node or (visit and not visit.isdigit()):
            raise BadInput(f"expected NODE[:VISIT] [if EXPRESSION], found {words!r}")
        number = self._debugger.stop_at(
            Breakpoint(node, int(visit) if visit else None, condition or None)
        )
        return f"breakpoint {number}"

    def _breaks(self) -> str:
        lines = (
            f"{number:>4}  {point.node}{f':{point.visit}' if point.visit else ''}"
            f"{f' if {point.condition}' if point.condition else ''}"
            for number, point in self._debugger.breakpoints.points.items()
        )
        return "\n".join(lines) or "none"

    def _locals(self) -> str:
        """The local variables of the innermost frame."""
        last = self._debugger.last
        if last is None or last.failure is None:
            raise BadInput("no exception to look at")
        return "\n".join(f"  {k} = {value}" for k, value in last.failure.frames[-1].locals.items())

    def _events(self, branch: str = "") -> list[tuple[Event, Usage | None]]:
        """List the nodes that ran, each with what it used."""
        history = self._debugger.history(branch or None)
        usage = self._debugger.meter.tasks(self._debugger.store, history.thread)
        events = timeline(self._debugger.graph, history)
        return [(event, usage.get(event.point.task or "")) for event in events]

    def _steps(self, branch: str) -> str:
        lines: list[str] = []
        for number, (event, usage) in enumerate(self._events(branch)):
            wrote = ", ".join(f"{key}={short(value, 40)}" for key, value in event.wrote)
            sent = f" ← {short(event.input, 40)}" if event.pushed and not event.called else ""
            goes = f" → {', '.join(event.goes_to)}" if event.goes_to else ""
            state = "  not finished" if event.error is None else f"  failed: {event.error}"
            tokens = "" if usage is None else f"{_usage_text(usage)}  "
            head = f"{number:>4}  {event.node}{sent}{goes}  {tokens}"
            lines.append(head + wrote + ("" if event.done else state))
        return "\n".join(lines) or "none yet"

    def _usage(self, branch: str) -> str:
        """A line a node, with its executions, and the sum."""
        nodes = grouped((event.node, usage or Usage()) for event, usage in self._events(branch))
        if not nodes:
            return "none yet"
        rows = [*nodes.items(), ("all", [usage for usages in nodes.values() for usage in usages])]
        width = max(len(node) for node, _ in rows)
        lines = [
            f"{node:<{width}}  {len(usages):>4} runs  {_usage_text(sum(usages, Usage()))}"
            for node, usages in rows
        ]
        return "\n".join(lines)

    def _calls(self, words: str) -> str:
        """Every call, the messages of one, or what differs between two."""
        if words:
            return "\n".join(self._debugger.meter.shown(*words.split()[:2]))
        nodes = self._debugger.breakpoints.names
        return "\n".join(
            f"{number:>4}  {nodes.get(call.task, '?')}  {len(call.messages)} messages, "
            f"{sum(map(len, call.lines))} characters  {short(call.lines[-1], 60)}"
            for number, call in enumerate(self._debugger.meter.sent)
        )

    def _event(self, number: str) -> Event:
        events = self._events()
        if not number.isdigit() or int(number) >= len(events):
            raise BadInput(
                f"expected a step from 0 to {len(events) - 1} (see steps), found {number!r}"
            )
        return events[int(number)][0]

    def _set(self, words: str) -> Stop:
        key, _, value = words.partition(" ")
        return self._debugger.edit({key: _value(value)})

    def _output(self, words: str) -> Stop:
        number, _, value = words.partition(" ")
        return self._debugger.edit_output(self._event(number).point, _value(value))

    def _fork(self, words: str) -> Stop:
        number, _, name = words.partition(" ")
        event = self._event(number)
        # Nodes beside it run again, too; of what a function called, what came before stays.
        task = event.point.task if event.called else None
        point = Point(event.point.ns, event.point.checkpoint, task)
        return self._debugger.fork(point, name=name or None)

    def _branches(self) -> str:
        """Every branch, with where it comes from; the current one is marked."""
        current = self._debugger.branch
        lines: list[str] = []
        for branch in listed(self._debugger.store):
            mark = "*" if current is not None and branch.thread == current.thread else " "
            origin = "" if branch.parent is None else f"  {branch.kind} of {branch.parent}"
            live = "" if branch.left_at is None else f", left the recording at {branch.left_at}"
            lines.append(f"{mark} {branch.name}{origin}{live}")
        return "\n".join(lines)

    def _compare(self, words: str) -> str:
        names = shlex.split(words)
        if len(names) != 2:
            raise BadInput(f"expected two branches, found {words!r}")
        result = compare(*(self._debugger.history(name) for name in names))
        parted = result.divergence
        if parted is None:
            return f"equal in all {len(result.pairs)} steps"
        around, step = parted.place
        lines = [f"first difference at {'/'.join(around) or 'the main graph'}, step {step}"]
        if parted.first is None or parted.second is None:
            ended = "first" if parted.first is None else "second"
            lines.append(f"  the {ended} branch has no such step")
        for change in parted.changes:
            keys = "".join(f"[{part!r}]" for part in change.path)
            before, after = change.before, change.after
            texts = {
                "added": f"  + {keys} = {short(after)}",
                "removed": f"  - {keys} = {short(before)}",
                "changed": f"  ~ {keys}: {short(before, 45)} → {short(after, 45)}",
            }
            lines.append(texts[change.kind])
        return "\n".join(lines)

    def _load(self) -> Stop:
        if self._reload is None:
            raise BadInput("this graph comes from no file")
        return self._debugger.reload(self._reload())

    def _help(self) -> str:
        return "\n".join(
            f"  {(name + ' ' + command.usage).strip():<38}{command.help}"
            for name, command in self.commands.items()
        )

    def _quit(self) -> None:
        self.ended = True


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"expected JSON (text in quotation marks), found {text!r}") from error


def _number(text: str) -> int:
    if not text.isdigit():
        raise BadInput(f"expected a number, found {text!r}")
    return int(text)


def short(value: Any, width: int = WIDTH) -> str:
    """A value on one line, cut to `width`."""
    text = full(value, None).replace("\n", " ")
    return text if len(text) <= width else f"{text[: width - 1]}…"


def full(value: Any, indent: int | None = 2) -> str:
    """A value as JSON; images by their kind and size: nobody reads their bytes."""

    def plain(part: Any) -> Any:
        dump = getattr(part, "model_dump", None)
        with suppress(Exception):  # of a model that holds what JSON has not
            return dump(mode="json") if callable(dump) else repr(part)
        return repr(part)

    def image(match: re.Match[str]) -> str:
        size = len(match[2]) * 3 // 4 - match[2][-2:].count("=")
        return f"<{match[1]}, {size} bytes>"

    def named(part: Any) -> Any:
        """With keys that JSON has: others are shown by their `repr`."""
        if isinstance(part, dict):
            entries = cast("dict[Any, Any]", part).items()
            return {
                key if isinstance(key, str | int | float | None) else repr(key): named(item)
                for key, item in entries
            }
        return [named(item) for item in cast("list[Any]", part)] if type(part) is list else part

    text = json.dumps(named(value), ensure_ascii=False, indent=indent, default=plain)
    return _IMAGE.sub(image, text)


def stop_text(stop: Stop) -> str:
    """Say in a few lines where a run stands."""

    def line(task: TaskInfo) -> str:
        pushed = "  (sent)" if task.pushed else ""
        return f"{task.where}  visit {task.visit}, step {task.step}{pushed}"

    number = "" if stop.breakpoint is None else f" {stop.breakpoint}"
    task = "" if stop.task is None else f" {line(stop.task)}"
    lines = [f"[{stop.reason}{number}]{task}"]
    lines += [] if stop.sent is None else [f"  sent  {short(stop.sent)}"]
    lines += [f"  emitted  {short(value)}" for value in stop.emitted]
    lines += [f"  waiting  {line(task)}" for task in stop.waiting[1:]]
    lines += [f"  running  {line(task)}" for task in stop.running]
    lines += [f"  {node} changed its input in place" for node in stop.mutated]
    lines += [f"  {text} = " + short(value) for text, value in stop.watches.items()]
    if stop.failure is not None:
        lines += [
            f"  {frame.file}:{frame.line} in {frame.function}\n    {frame.code}"
            for frame in stop.failure.frames
        ]
        lines.append(f"  {stop.failure.type}: {stop.failure.message}")
    lines += [f"  held in memory, not stored: {', '.join(stop.held)}"] if stop.held else []
    lines += [
        f"  {name} ({stop.asked_by.get(name, 'a node')}): {short(value)}"
        for name, value in stop.interrupts.items()
        if stop.reason == "interrupt"
    ]
    lines += [
        f"  {line}"
        for call in stop.interrupts.values()
        if stop.reason == "model call"
        for line in Sent("", "", **call).lines
    ]
    if stop.reason == "done" and stop.values is not None:
        lines.append(full(stop.values))
    command, more = stop.hint
    if stop.ended or stop.failure is not None or stop.interrupts:
        lines.append(f"  next: {command}" + (f"  ({more})" if more else ""))
    return "\n".join(lines)


def _usage_text(usage: Usage) -> str:
    """Tokens and money; an unknown price is a question mark."""
    cost = "$?" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.tokens:,} tokens {cost}"

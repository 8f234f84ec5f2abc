"""Commands, one a line, over one debugger; a prompt with history and completion to type them at."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import BadInput, HarnessError, Usage
from harness.debug.engine.compare import compare
from harness.debug.engine.expressions import Expression
from harness.debug.engine.history import Event, Point, listed, timeline
from harness.debug.engine.session import Debugger
from harness.debug.engine.stops import Breakpoint, Stop
from harness.debug.terminal import text

PROMPT = "(debug) "
SHORT = {"b": "break", "s": "step", "c": "continue", "r": "replay", "w": "watch"}
"""Beginnings of several commands, and the one that is meant."""


@contextmanager
def prompted(complete: Callable[[str], list[str]], history: Path) -> Generator[Iterable[str]]:
    """Lines that the user types, until the end of the input; the history is kept in a file.

    GNU readline edits and completes them, where Python has it and a terminal is there.
    """
    readline: Any = None
    if sys.stdin.isatty():
        try:
            import readline
        except ImportError:
            readline = None
    if readline is None:
        yield _lines()
        return
    if history.is_file():
        readline.read_history_file(history)

    def candidate(start: str, number: int) -> str | None:
        words = complete(start)
        return words[number] if number < len(words) else None

    readline.set_completer(candidate)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
    try:
        yield _lines()
    finally:
        history.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(1000)
        readline.write_history_file(history)


def _lines() -> Generator[str]:
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            return
        except KeyboardInterrupt:
            print()


@dataclass(frozen=True)
class Command:
    """A command: what it is called with, what it does."""

    usage: str
    help: str
    run: Callable[[str], Stop | str | None]


def bare(action: Callable[[], Stop | str | None]) -> Callable[[str], Stop | str | None]:
    """An action that takes no words."""

    def run(words: str) -> Stop | str | None:
        if words:
            raise BadInput(f"expected nothing behind the command, found {words!r}")
        return action()

    return run


class Terminal:
    """Reads commands, runs them, writes what they show."""

    def __init__(
        self,
        debugger: Debugger,
        write: Callable[[str], None],
        reload: Callable[[], Any] | None = None,
    ) -> None:
        """`reload` loads the graph anew from its file; None where there is no file."""
        self._debugger = debugger
        self._write = write
        self._reload = reload
        self.ended = False
        """Whether `quit` was typed."""
        self.commands: dict[str, Command] = {
            "step": Command("", "run this node", bare(debugger.step)),
            "into": Command("", "run this node, stop inside it", bare(debugger.step_into)),
            "out": Command("", "finish this sub-graph", bare(debugger.step_out)),
            "continue": Command("", "run to the next stop", bare(debugger.go)),
            "until": Command("NODE", "run to a node", debugger.until),
            "break": Command("NODE[:VISIT] [if EXPRESSION]", "set a breakpoint", self._break),
            "breaks": Command("", "list breakpoints", lambda _: self._breaks()),
            "clear": Command(
                "NUMBER",
                "remove a breakpoint",
                lambda words: debugger.breakpoints.remove(_number(words)),
            ),
            "watch": Command(
                "EXPRESSION", "show a value at every stop", debugger.breakpoints.watch
            ),
            "unwatch": Command("EXPRESSION", "no more", debugger.breakpoints.unwatch),
            "print": Command(
                "EXPRESSION",
                "a value of the state",
                lambda words: text.full(Expression(words).value(debugger.state())),
            ),
            "state": Command("", "the state", bare(lambda: text.full(debugger.state()))),
            "locals": Command("", "variables where a node raised", lambda _: self._locals()),
            "where": Command("", "where the run stands", bare(lambda: debugger.last)),
            "steps": Command("[BRANCH]", "what ran", self._steps),
            "usage": Command("[BRANCH]", "tokens and cost by node", self._usage),
            "set": Command("KEY JSON", "change the state here", self._set),
            "output": Command("STEP JSON", "change what a step returned", self._output),
            "fork": Command("STEP [NAME]", "run again from a step", self._fork),
            "rewind": Command(
                "[STEPS]", "go back", lambda words: debugger.rewind(_number(words or "1"))
            ),
            "branches": Command("", "list branches", lambda _: self._branches()),
            "compare": Command("BRANCH BRANCH", "where two branches part", self._compare),
            "replay": Command(
                "[BRANCH]",
                "run it from its recording",
                lambda words: debugger.replay(words or None),
            ),
            "answer": Command(
                "JSON", "answer an interrupt", lambda words: debugger.answer(_json(words))
            ),
            "retry": Command("", "run the node that raised again", bare(debugger.retry)),
            "live": Command("", "continue where the recording ends", bare(debugger.live)),
            "serve": Command(
                "JSON",
                "continue as if the node had returned it",
                lambda words: debugger.serve(_json(words)),
            ),
            "reload": Command("", "load the graph's file again", lambda _: self._load()),
            "help": Command("", "this list", lambda _: self._help()),
            "quit": Command("", "leave; the thread can be resumed", lambda _: self._quit()),
        }

    def show(self, stop: Stop) -> None:
        """Write where the run stands."""
        self._write(text.stop_text(stop))

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
        try:
            result = self._find(name).run(words.strip())
        except HarnessError as error:
            self._write(text.safe(str(error)))
        except KeyboardInterrupt:
            self.show(self._debugger.pause())
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

    def _find(self, name: str) -> Command:
        name = SHORT.get(name, name)
        if name in self.commands:
            return self.commands[name]
        matches = [full for full in self.commands if full.startswith(name)]
        if len(matches) != 1:
            raise BadInput(f"no command {name!r}; did you mean {', '.join(matches) or 'help'}?")
        return self.commands[matches[0]]

    def _break(self, words: str) -> str:
        place, _, condition = words.partition(" if ")
        node, _, visit = place.strip().partition(":")
        if not node or (visit and not visit.isdigit()):
            raise BadInput(f"expected NODE[:VISIT] [if EXPRESSION], found {words!r}")
        point = Breakpoint(node, int(visit) if visit else None, condition or None)
        return f"breakpoint {self._debugger.breakpoints.add(point)}"

    def _breaks(self) -> str:
        lines: list[str] = []
        for number, point in self._debugger.breakpoints.points.items():
            visit = "" if point.visit is None else f":{point.visit}"
            condition = "" if point.condition is None else f" if {point.condition}"
            lines.append(f"{number:>4}  {point.node}{visit}{condition}")
        return text.safe("\n".join(lines)) or "none"

    def _locals(self) -> str:
        last = self._debugger.last
        if last is None or last.failure is None:
            raise BadInput("no exception to look at")
        return text.locals_text(last.failure)

    def _events(self, branch: str = "") -> list[Event]:
        return timeline(self._debugger.graph, self._debugger.history(branch or None))

    def _tasks(self, branch: str) -> dict[str, Usage]:
        thread = self._debugger.history(branch or None).thread
        return self._debugger.meter.tasks(self._debugger.store, thread)

    def _steps(self, branch: str) -> str:
        usage = self._tasks(branch)
        lines = [
            text.event_line(number, event, usage.get(event.point.task or ""))
            for number, event in enumerate(self._events(branch))
        ]
        return "\n".join(lines) or "none yet"

    def _usage(self, branch: str) -> str:
        usage = self._tasks(branch)
        nodes: dict[str, list[Usage]] = {}
        for event in self._events(branch):
            nodes.setdefault(event.node, []).append(usage.get(event.point.task or "", Usage()))
        return text.usage_table(nodes) or "none yet"

    def _point(self, number: str) -> Point:
        events = self._events()
        if not number.isdigit() or int(number) >= len(events):
            raise BadInput(
                f"expected a step from 0 to {len(events) - 1} (see steps), found {number!r}"
            )
        return events[int(number)].point

    def _set(self, words: str) -> Stop:
        key, _, value = words.partition(" ")
        return self._debugger.edit({key: _json(value)})

    def _output(self, words: str) -> Stop:
        number, _, value = words.partition(" ")
        return self._debugger.edit_output(self._point(number), _json(value))

    def _fork(self, words: str) -> Stop:
        number, _, name = words.partition(" ")
        point = self._point(number)
        return self._debugger.fork(Point(point.ns, point.checkpoint), name=name or None)

    def _branches(self) -> str:
        current = self._debugger.branch
        return "\n".join(
            text.branch_line(branch, current is not None and branch.thread == current.thread)
            for branch in listed(self._debugger.store)
        )

    def _compare(self, words: str) -> str:
        names = shlex.split(words)
        if len(names) != 2:
            raise BadInput(f"expected two branches, found {words!r}")
        first, second = (self._debugger.history(name) for name in names)
        return text.comparison_text(compare(first, second))

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


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise BadInput(f"expected JSON (text in quotation marks), found {value!r}") from error


def _number(value: str) -> int:
    if not value.isdigit():
        raise BadInput(f"expected a number, found {value!r}")
    return int(value)

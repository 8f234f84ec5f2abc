"""Commands, one a line, over one debugger."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from harness.core import BadInput, HarnessError, Usage
from harness.debug.branches import listed
from harness.debug.compare import compare
from harness.debug.expressions import Expression
from harness.debug.forks import Point
from harness.debug.session import Debugger
from harness.debug.terminal import text
from harness.debug.timeline import Event, timeline
from harness.debug.types import Breakpoint, Stop


class Command(NamedTuple):
    """A command: what it is called with, what it does."""

    usage: str
    help: str
    run: Callable[[str], Stop | str | None]


def bare(action: Callable[[], Stop | str | None]) -> Callable[[str], Stop | str | None]:
    """An action that takes no words."""

    def run(rest: str) -> Stop | str | None:
        if rest:
            raise BadInput(f"expected nothing behind the command, found {rest!r}")
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
        self._ended = False
        self.commands = self._table()

    def _table(self) -> dict[str, Command]:
        debugger = self._debugger
        return {
            "step": Command("", "run this node", bare(debugger.step)),
            "into": Command("", "run this node, stop inside it", bare(debugger.step_into)),
            "out": Command("", "run the rest of this sub-graph", bare(debugger.step_out)),
            "continue": Command("", "run to the next stop", bare(debugger.go)),
            "until": Command("NODE", "run to a node", debugger.until),
            "break": Command("NODE[:VISIT] [if EXPRESSION]", "set a breakpoint", self._break),
            "breaks": Command("", "list breakpoints", self._breaks),
            "clear": Command("NUMBER", "remove a breakpoint", self._clear),
            "watch": Command(
                "EXPRESSION", "show a value at every stop", debugger.breakpoints.watch
            ),
            "unwatch": Command("EXPRESSION", "no more", debugger.breakpoints.unwatch),
            "print": Command("EXPRESSION", "a value of the state", self._print),
            "state": Command("", "the state", bare(lambda: text.whole(debugger.state()))),
            "locals": Command("", "variables where a node raised", self._locals),
            "where": Command("", "where the run stands", bare(lambda: debugger.last)),
            "steps": Command("[BRANCH]", "what ran", self._steps),
            "usage": Command("[BRANCH]", "tokens and cost by node", self._usage),
            "set": Command("KEY JSON", "change the state here", self._set),
            "output": Command("STEP JSON", "change what a step returned", self._output),
            "fork": Command("STEP [NAME]", "run again from a step", self._fork),
            "rewind": Command("[STEPS]", "go back", self._rewind),
            "branches": Command("", "list branches", self._branches),
            "compare": Command("BRANCH BRANCH", "where two branches part", self._compare),
            "replay": Command("[BRANCH]", "run it from its recording", self._replay),
            "answer": Command("JSON", "answer an interrupt", self._answer),
            "retry": Command("", "run the node that raised again", bare(debugger.retry)),
            "live": Command("", "go on where the recording ends", bare(debugger.live)),
            "serve": Command("JSON", "go on as if the node had returned it", self._serve),
            "reload": Command("", "load the graph's file again", self._load),
            "help": Command("", "this list", self._help),
            "quit": Command("", "leave; the thread can be resumed", self._quit),
        }

    @property
    def ended(self) -> bool:
        """Whether `quit` was said."""
        return self._ended

    def show(self, stop: Stop) -> None:
        """Write where the run stands."""
        self._write(text.stop_text(stop))

    def run(self, lines: Iterable[str]) -> None:
        """Run commands until `quit` or the end of the lines. Errors are shown, and it goes on."""
        for line in lines:
            self.do(line)
            if self._ended:
                return

    def do(self, line: str) -> None:
        """Run one command; its beginning is enough where only one begins so."""
        name, _, rest = line.strip().partition(" ")
        if not name:
            return
        try:
            shown = self._find(name).run(rest.strip())
        except HarnessError as error:
            self._write(text.safe(str(error)))
        except KeyboardInterrupt:
            self.show(self._debugger.pause())
        else:
            if isinstance(shown, Stop):
                self.show(shown)
            elif shown is not None:
                self._write(shown)

    def complete(self, start: str) -> list[str]:
        """Commands, nodes, state keys and branches that begin so."""
        words = [*self.commands, *self._debugger.breakpoints.visits()]
        words += [branch.name for branch in listed(self._debugger.store)]
        if self._debugger.graph is not None:
            words += self._debugger.graph.nodes
            words += [name for name in self._debugger.graph.channels if ":" not in name]
        return sorted({word for word in words if word.startswith(start) and word[:2] != "__"})

    def _find(self, name: str) -> Command:
        if name in self.commands:
            return self.commands[name]
        found = [full for full in self.commands if full.startswith(name)]
        preferred = {"b": "break", "s": "step", "c": "continue", "r": "replay", "w": "watch"}
        if name in preferred:
            return self.commands[preferred[name]]
        if len(found) != 1:
            raise BadInput(f"no command {name!r}; did you mean {', '.join(found) or 'help'}?")
        return self.commands[found[0]]

    def _break(self, rest: str) -> str:
        place, _, condition = rest.partition(" if ")
        node, _, visit = place.strip().partition(":")
        point = Breakpoint(node, int(visit) if visit.isdigit() else None, condition or None)
        if not node or (visit and not visit.isdigit()):
            raise BadInput(f"expected NODE[:VISIT] [if EXPRESSION], found {rest!r}")
        return f"breakpoint {self._debugger.breakpoints.add(point)}"

    def _breaks(self, _: str) -> str:
        lines: list[str] = []
        for number, point in self._debugger.breakpoints.listed().items():
            visit = "" if point.visit is None else f":{point.visit}"
            condition = "" if point.condition is None else f" if {point.condition}"
            lines.append(f"{number:>4}  {point.node}{visit}{condition}")
        return text.safe("\n".join(lines)) or "none"

    def _clear(self, rest: str) -> None:
        self._debugger.breakpoints.remove(_number(rest))

    def _print(self, rest: str) -> str:
        return text.whole(Expression(rest).value(self._debugger.state()))

    def _locals(self, _: str) -> str:
        last = self._debugger.last
        if last is None or last.failure is None:
            raise BadInput("no exception to look at")
        return text.locals_text(last.failure)

    def _events(self, branch: str = "") -> list[Event]:
        return timeline(self._debugger.graph, self._debugger.history(branch or None))

    def _steps(self, rest: str) -> str:
        used = self._used(rest)
        lines = [
            text.event_line(number, event, used.get(event.point.task or ""))
            for number, event in enumerate(self._events(rest))
        ]
        return "\n".join(lines) or "none yet"

    def _used(self, branch: str) -> dict[str, Usage]:
        thread = self._debugger.history(branch or None).thread
        return self._debugger.meter.tasks(self._debugger.store, thread)

    def _usage(self, branch: str) -> str:
        used = self._used(branch)
        nodes: dict[str, list[Usage]] = {}
        for event in self._events(branch):
            nodes.setdefault(event.node, []).append(used.get(event.point.task or "", Usage()))
        return text.usage_table(nodes) or "none yet"

    def _event(self, number: str) -> Event:
        events = self._events()
        if not number.isdigit() or int(number) >= len(events):
            raise BadInput(
                f"expected a step from 0 to {len(events) - 1} (see steps), found {number!r}"
            )
        return events[int(number)]

    def _set(self, rest: str) -> Stop:
        key, _, value = rest.partition(" ")
        return self._debugger.edit({key: _json(value)})

    def _output(self, rest: str) -> Stop:
        number, _, value = rest.partition(" ")
        return self._debugger.edit_output(self._event(number).point, _json(value))

    def _fork(self, rest: str) -> Stop:
        number, _, name = rest.partition(" ")
        point = self._event(number).point
        return self._debugger.fork(Point(point.ns, point.checkpoint), name=name or None)

    def _rewind(self, rest: str) -> Stop:
        return self._debugger.rewind(_number(rest or "1"))

    def _branches(self, _: str) -> str:
        current = self._debugger.branch
        return "\n".join(
            text.branch_line(branch, current is not None and branch.thread == current.thread)
            for branch in listed(self._debugger.store)
        )

    def _compare(self, rest: str) -> str:
        names = shlex.split(rest)
        if len(names) != 2:
            raise BadInput(f"expected two branches, found {rest!r}")
        first, second = (self._debugger.history(name) for name in names)
        return text.comparison_text(compare(first, second))

    def _replay(self, rest: str) -> Stop:
        return self._debugger.replay(rest or None)

    def _answer(self, rest: str) -> Stop:
        return self._debugger.answer(_json(rest))

    def _serve(self, rest: str) -> Stop:
        return self._debugger.serve(_json(rest))

    def _load(self, _: str) -> Stop:
        if self._reload is None:
            raise BadInput("this graph comes from no file")
        return self._debugger.reload(self._reload())

    def _help(self, _: str) -> str:
        return "\n".join(
            f"  {(name + ' ' + command.usage).strip():<38}{command.help}"
            for name, command in self.commands.items()
        )

    def _quit(self, _: str) -> None:
        self._ended = True


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise BadInput(f"expected JSON (text in quotation marks), found {value!r}") from error


def _number(value: str) -> int:
    if not value.isdigit():
        raise BadInput(f"expected a number, found {value!r}")
    return int(value)

"""Which tool calls led to a step of a branch, to run them again where live tools go on."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from harness.core import canonical_json
from harness.debug import branches
from harness.debug.history import History
from harness.tools import Tool
from harness.tools.types import Arguments

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

ToolCall = tuple[Tool, Arguments]


class Effects:
    """Tool calls by thread and super-step; a branch has those of its parent up to its point."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._noted: defaultdict[str, dict[int, dict[str, ToolCall]]] = defaultdict(dict)

    def note(self, thread: str, step: int, call: ToolCall) -> None:
        """A node of `step` made this call; if it is run again, the same call counts once."""
        tool, arguments = call
        key = f"{tool.name} {canonical_json(arguments)}"
        self._noted[thread].setdefault(step, {})[key] = call

    def before(self, thread: str, step: int) -> list[ToolCall]:
        """The calls of a thread's steps up to `step`, those of `step` itself included, in order."""
        steps = self._steps(thread, step)
        return [call for number in sorted(steps) for call in steps[number].values()]

    def _steps(self, thread: str, last: int) -> dict[int, dict[str, ToolCall]]:
        own = {step: calls for step, calls in self._noted[thread].items() if step <= last}
        branch = branches.found(self._store, thread)
        if branch.parent is None:
            return own
        end = last - 1
        if branch.point is not None:
            history = History(self._store, thread)
            end = min(end, history.find(branch.point.checkpoint, branch.point.ns).step)
        return {**self._steps(branch.parent, end), **own}

"""A watcher that keeps the operations it is told of."""

from __future__ import annotations

from typing import Any

from harness.core.tracing import Operation, Watcher


class Seen(Watcher):
    """Everything that was watched.

    Attributes:
        operations: that have ended, in that order.
        content: see :class:`harness.core.tracing.Watcher`.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def began(self, operation: Operation) -> None:
        """Nothing is known yet."""

    def ended(self, operation: Operation) -> None:
        """Keep it."""
        self.operations.append(operation)

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        """Not kept."""

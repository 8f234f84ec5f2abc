"""Running asynchronous work on the fastest event loop that is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """As :func:`asyncio.run`, on uvloop where it is installed (it is not made for Windows).

    For what makes many small model calls: an eval sample costs a tenth less of the processor
    (`benchmarks/evals/overhead.py`).
    """
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = None
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)

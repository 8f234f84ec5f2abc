"""Opening a store; LangGraph is imported here, on first use."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore


@contextmanager
def open_store(path: Path) -> Generator[CheckpointStore]:
    """The checkpoint store in the file `path`, created if it is not there.

    Raises:
        BadInput: if the file is something else.
    """
    from harness.checkpoints.store import CheckpointStore

    store = CheckpointStore(path)
    try:
        yield store
    finally:
        store.close()


@asynccontextmanager
async def open_saver(path: Path) -> AsyncGenerator[CheckpointStore]:
    """:func:`open_store`, for code that runs in an event loop."""
    with open_store(path) as store:
        yield store

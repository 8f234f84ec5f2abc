"""LangGraph's SQLite saver, with deserialisation held to plain values."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


@asynccontextmanager
async def open_saver(path: Path) -> AsyncGenerator[AsyncSqliteSaver]:
    """Open the checkpoint store in the file `path`.

    State is JSON, so loading needs no custom type: strict msgpack refuses every other.
    """
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield saver

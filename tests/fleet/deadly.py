"""Work of the workers of tests."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.fleet import Channel, Methods


@asynccontextmanager
async def deadly(
    channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
) -> AsyncGenerator[Methods]:
    """Ends its process when it is asked to."""

    async def work(value: str) -> str:
        if value == "die":
            os._exit(3)
        return value

    async def hear(value: str) -> None:
        heard.append(value)

    async def tell_what_was_heard(_: None) -> list[str]:
        return heard

    if spec.get("unable"):
        raise BadInput("there is no such sandbox")
    heard = list[str]()
    yield {"work": work, "hear": hear, "heard": tell_what_was_heard}

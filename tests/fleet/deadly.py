"""Work of the workers of tests."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.fleet.workers import Ask


async def deadly(spec: dict[str, Any], trees: Mapping[str, Path]) -> Ask:
    """Ends its process when it is asked to."""
    if spec.get("unable"):
        raise BadInput("there is no such sandbox")

    async def work(value: Any) -> Any:
        if value == "die":
            os._exit(3)
        if value == "refuse":
            raise BadInput("no such value")
        if value == "wait":
            await asyncio.sleep(60)
        if value == "hang":
            time.sleep(60)  # noqa: ASYNC251  # as a fault would
        return value, os.getpid(), {name: str(folder) for name, folder in trees.items()}

    return work

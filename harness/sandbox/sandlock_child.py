"""Started as a script by the sandlock rung: its supervisor runs here, apart from ours."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Read the plan from argv and run it; the streams are inherited."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    sys.path.insert(0, plan["site"])
    from sandlock import Sandbox  # pyright: ignore[reportMissingTypeStubs] # it ships none

    box = Sandbox(
        fs_readable=plan["readable"],
        fs_writable=plan["writable"],
        max_memory=plan["memory"],
        max_processes=plan["processes"],
        no_coredump=True,
        clean_env=True,
        env=dict(os.environ),
        cwd=plan["cwd"],
    )
    code = box.run_interactive(plan["command"])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()

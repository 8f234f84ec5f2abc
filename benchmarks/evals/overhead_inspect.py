"""The task of eval_overhead.py in inspect_ai; runs in an environment that has it.

Prints samples and seconds, imports and the first samples apart.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

inspect_ai: Any = import_module("inspect_ai")
models: Any = import_module("inspect_ai.model")
solvers: Any = import_module("inspect_ai.solver")
tools: Any = import_module("inspect_ai.tool")


def reader(skill: Path) -> Any:
    """The tool of the other arms."""

    @tools.tool
    def read_skill_file() -> Callable[[str], Awaitable[str]]:
        async def execute(path: str) -> str:
            """Read a file of the skill.

            Args:
                path: of the file.
            """
            return (skill / path).read_text()

        return execute

    return read_skill_file()


def task(skill: Path, first: int, samples: int) -> Any:
    """So many questions, answered with the tool and looked through for the answer."""
    sample: Any = import_module("inspect_ai.dataset").Sample
    return inspect_ai.Task(
        dataset=[
            sample(id=f"t{n}", input=f"What is 2 + 2? ({n})", target="4")
            for n in range(first, first + samples)
        ],
        solver=[
            solvers.system_message((skill / "SKILL.md").read_text()),
            solvers.use_tools(reader(skill)),
            solvers.generate(),
        ],
        scorer=import_module("inspect_ai.scorer").includes(),
    )


def main(url: str, skill: Path, samples: int, concurrency: int, logs: str) -> None:
    """Run a first batch, then so many samples."""
    config = models.GenerateConfig(max_connections=concurrency, cache=True)
    model = models.get_model("openai-api/mock/mock", base_url=url, api_key="none", config=config)
    options = {"display": "none", "log_dir": logs, "max_samples": concurrency}
    inspect_ai.eval(task(skill, 10**6, concurrency), model, **options)
    wall = time.perf_counter()
    (log,) = inspect_ai.eval(task(skill, 0, samples), model, **options)
    wall = time.perf_counter() - wall
    passed = round(log.results.scores[0].metrics["accuracy"].value * samples)
    print(json.dumps({"samples": samples, "passed": passed, "wall": wall}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])

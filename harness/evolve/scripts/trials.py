"""Trial runs in batches: thousands of programs in one warm interpreter inside the sandbox.

A passed trial is a hint, no proof: a program can reach the folders of other trials of its batch.
Every task of a function is run again, in a sandbox of its own, before the function ships.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from harness.core import UnfitFile, digest, private_folder, read_work_file, remove_tree
from harness.evals import LoadedSuite
from harness.evolve.scripts.templates import Argument
from harness.sandbox import Limits, Sandbox
from harness.tasks import family, output_file

CHILD = Path(__file__).with_name("trial_child.py")
# Seconds of one trial and of a batch, MiB that a batch may write, and batches at a time.
SECONDS, BATCH_SECONDS, MEGABYTES, AT_ONCE = 3, 300, 2048, 2
MODULES = ("csv", "json", "re", "datetime", "collections", "itertools", "statistics", "openpyxl")


class Trial(NamedTuple):
    """A program to run at a task.

    Attributes:
        task: id of the task.
        code: of the program.
        values: of the variables in its holes, by their names.
    """

    task: str
    code: str
    values: Mapping[str, Argument]


class Trials:
    """Runs programs at the tasks of a suite; the check of each task judges the outcome."""

    def __init__(
        self, suite: LoadedSuite, sandbox: Sandbox, folder: Path, *, trusted: bool
    ) -> None:
        self._tasks = {task.id: task for task in suite.tasks}
        self._suite, self._sandbox, self._folder, self._trusted = suite, sandbox, folder, trusted
        self._verdicts: dict[str, bool] = {}

    async def passed(self, trials: Sequence[Trial]) -> list[bool]:
        """Return for each trial whether its task accepts the outcome."""
        size = -(-len(trials) // AT_ONCE) or 1
        batches = [trials[start : start + size] for start in range(0, len(trials), size)]
        runs = (asyncio.to_thread(self._batch, batch, n) for n, batch in enumerate(batches))
        return [verdict for verdicts in await asyncio.gather(*runs) for verdict in verdicts]

    def _batch(self, trials: Sequence[Trial], number: int) -> list[bool]:
        folder = self._folder / f"batch-{number}"
        remove_tree(folder)
        private_folder(folder)
        inputs = {trial.task: f"inputs/{digest(trial.task)[:12]}" for trial in trials}
        for task_id, path in inputs.items():
            task = self._tasks[task_id]
            (folder / path).mkdir(parents=True)
            family(task, sandbox=self._sandbox, trusted=self._trusted).prepare(
                task, self._suite.base, folder / path
            )
        programs = list(dict.fromkeys(trial.code for trial in trials))
        indexes = {code: index for index, code in enumerate(programs)}
        rows = [
            [f"t{n}", inputs[trial.task], indexes[trial.code], dict(trial.values)]
            for n, trial in enumerate(trials)
        ]
        plan = {"modules": MODULES, "programs": programs, "trials": rows, "seconds": SECONDS}
        files = {"trials.json": json.dumps(plan).encode(), "child.py": CHILD.read_bytes()}
        limits = Limits(wall_s=BATCH_SECONDS, cpu_s=BATCH_SECONDS, disk_mb=MEGABYTES)
        result = self._sandbox.exec(
            [sys.executable, "child.py"], workdir=folder, files=files, limits=limits,
            env={"PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        ended = set(result.stdout.splitlines())
        verdicts = [
            f"t{n} 0" in ended and self._accepts(trial, folder, f"t{n}")
            for n, trial in enumerate(trials)
        ]
        remove_tree(folder)
        return verdicts

    def _accepts(self, trial: Trial, folder: Path, name: str) -> bool:
        """Have the task judge a folder; a program may have left links and pipes in it."""
        task, content = self._tasks[trial.task], b""
        try:
            printed = read_work_file(folder, f"{name}.out")
            with suppress(FileNotFoundError):
                content = read_work_file(folder, f"{name}/{output_file(task) or '-'}")
        except (FileNotFoundError, UnfitFile):
            return False
        key = digest([trial.task, printed.hex(), content.hex()])
        if key not in self._verdicts:
            judge = family(task, sandbox=self._sandbox, trusted=self._trusted)
            answer = printed.decode("utf-8", "replace").strip()
            score = judge.score(task, self._suite.base, folder / name, answer)
            self._verdicts[key] = score.outcome == "pass"
        return self._verdicts[key]

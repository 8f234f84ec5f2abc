"""Eval runs under faults: an endpoint that misbehaves, workers killed, a full disk, a clock jump.

    python -m benchmarks.evals.chaos --seeds 10

For each seed one run of `harness eval` (two calls and a tool a sample) is begun and then, at random
moments, killed with SIGKILL, stopped by a disk that is full, and lives through a jump of the clock
by a day; it is resumed each time, while the endpoint goes on misbehaving. At last the endpoint is
well. What must hold all the time: a request whose answer is in the call store is never sent again;
every attempt that is finished is scored rightly, or invalid with a reason; files can be read. At
the end every attempt is scored.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evals.chaos_server import FAULTS, Chaos, serve
from benchmarks.evals.overhead import skill_in
from benchmarks.reports import Options, benchmark, report, write_suite
from harness.core import HarnessError
from harness.core.rundir import RunReader

CONCURRENCY, CALL_S, DAY_S = 6, 1.0, 86_400.0
DISK = 64 * 2**20
FULL = 3
"""Exit status of a worker that met an error of ours, such as a full disk."""

_workers = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Troubles:
    """Troubles that a worker meets besides the endpoint.

    Attributes:
        disk: bytes that a file may have, None for any number.
        jump_s: the clock is put on by so much, after half a second.
    """

    disk: int | None = None
    jump_s: float = 0.0


def work(settings: dict[str, Any], troubles: Troubles) -> None:
    """A worker: one run, begun or resumed, in a process of its own."""
    os.environ["OPENAI_API_KEY"] = "none"
    if troubles.disk is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (troubles.disk, resource.RLIM_INFINITY))
    if troubles.jump_s:
        real, jumped = time.time, troubles.jump_s
        late = threading.Timer(0.5, lambda: setattr(time, "time", lambda: real() + jumped))
        late.daemon = True
        late.start()
    from harness.api import EvalSettings, run_evaluation

    try:
        run_evaluation(EvalSettings.model_validate(settings))
    except HarnessError as error:
        print(f"stopped: {error}", flush=True)
        os._exit(FULL)


@dataclass
class Trial:
    """One run through everything.

    Attributes:
        repeated: requests that were sent although their answer was stored.
        wrong: what does not hold of the records, in words.
        ended: how often a worker was killed, stopped by an error, or came to the end.
    """

    folder: Path
    chaos: Chaos
    tasks: int
    mounted: bool
    repeated: int = 0
    wrong: list[str] = field(default_factory=list[str])
    ended: Counter[str] = field(default_factory=Counter[str])

    @property
    def run(self) -> Path:
        """The run folder."""
        return self.folder / "run"

    def live(self, troubles: Troubles = Troubles(), kill_after: int | None = None) -> str:
        """Begin or resume the run, kill it after so many requests; how it ended."""
        begun = {"resume": self.run} if (self.run / "run.json").exists() else {"out": self.run}
        settings = {
            "suite": str(self.folder / "suite.yaml"), "agent": "graph:react",
            "skill": self.folder / "two-files", "models": ("openai/m",), "sandbox": "none",
            "base_url": self.chaos.url, "concurrency": CONCURRENCY, **begun,
        }  # fmt: skip
        stored, before = self.stored(), len(self.chaos.seen)
        worker = _workers.Process(target=work, args=(settings, troubles))
        worker.start()
        until = time.monotonic() + 120
        while worker.is_alive() and time.monotonic() < until:
            if kill_after is not None and len(self.chaos.seen) - before >= kill_after:
                worker.kill()
            time.sleep(0.01)
        if worker.is_alive():
            self.wrong.append("a worker did not end within two minutes")
            worker.kill()
        worker.join()
        self.repeated += sum(call in stored for call in self.chaos.seen[before:])
        self.check()
        how = {0: "finished", FULL: "stopped"}.get(worker.exitcode or 0, f"{worker.exitcode}")
        how = "killed" if how == "-9" else how
        self.ended[how] += 1
        if how not in ("finished", "stopped", "killed"):
            self.wrong.append(f"a worker ended with {how}")
        return how

    def stored(self) -> set[str]:
        """Digests of the calls whose answer is on the disk."""
        path = self.run / "calls.sqlite"
        if not path.exists():
            return set()
        with closing(sqlite3.connect(path)) as db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE name = 'calls'").fetchall()
            rows = db.execute("SELECT digest FROM calls WHERE state = 'done'") if tables else ()
            stored = {row[0] for row in rows}
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                self.wrong.append("calls.sqlite is damaged")
        return stored

    def sent_again(self) -> int:
        """Requests that the store says were sent after their answer had been stored."""
        with closing(sqlite3.connect(self.run / "calls.sqlite")) as db:
            ((count,),) = db.execute(
                "SELECT count(*) FROM calls AS late JOIN calls AS done ON late.digest = done.digest"
                " WHERE done.state = 'done' AND late.id > done.id"
            )
        return count

    @contextmanager
    def full_disk(self, free: int) -> Generator[int | None]:
        """A disk with so many bytes left; where none can be mounted, a bound on each file."""
        if not self.mounted:
            sizes = [path.stat().st_size for path in self.run.glob("*.seg")]
            yield max(sizes, default=0) + free // 8
            return
        used = shutil.disk_usage(self.folder).used
        _tmpfs(self.folder, f"remount,size={used + free}")
        try:
            yield None
        finally:
            _tmpfs(self.folder, f"remount,size={DISK}")

    def items(self) -> dict[str, dict[str, Any]]:
        """The last record of every attempt."""
        if not (self.run / "run.json").exists():
            return {}
        return {row["id"]: row for row in RunReader(self.run).items()}

    def check(self) -> None:
        """Every attempt is scored rightly, or invalid with a reason; or it is not finished."""
        items = self.items()
        if not items:
            return
        finished = {row["trajectory_id"] for row in RunReader(self.run).trajectories()}
        for name, item in items.items():
            right = "fail" if int(name[1:]) % 3 == 0 else "pass"
            if item["outcome"] == "invalid":
                fine = bool(item["reason"])
            else:
                fine = item["outcome"] == right and name in finished
            if not fine:
                self.wrong.append(f"{name}: {item['outcome']} {item['reason']!r}")


def prepared(folder: Path, tasks: int) -> None:
    """The suite and its skill."""
    skill_in(folder)
    rows = [
        {"id": f"t{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n), "check": "em"}
        for n in range(1, tasks + 1)
    ]
    write_suite(folder, rows, "tools: [read_skill_file]", f"sampling: {{timeout_s: {CALL_S}}}")


def _tmpfs(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def small_disk() -> Generator[tuple[Path, bool]]:
    """A folder, and whether it is a disk of its own: only the superuser can mount one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "disk")
        folder.mkdir()
        mounted = _tmpfs(folder, f"size={DISK}")
        try:
            yield folder, mounted
        finally:
            if mounted:
                subprocess.run(["umount", str(folder)], check=True)


def trial(seed: int, folder: Path, *, mounted: bool = False, tasks: int = 32) -> dict[str, Any]:
    """One run through everything; what came of it.

    Args:
        seed: of faults and moments.
        folder: empty.
        mounted: whether the folder is a disk of its own, whose size may be changed.
        tasks: of the suite.
    """
    rng = random.Random(seed)
    chaos = Chaos(random.Random(seed))
    _workers.set_forkserver_preload(["harness.api", "langgraph.graph", "openai", "aiohttp"])
    prepared(folder, tasks)
    with serve(chaos):
        current = Trial(folder, chaos, tasks, mounted)
        jump = DAY_S if seed % 2 else -DAY_S
        current.live(Troubles(jump_s=jump), kill_after=rng.randint(1, tasks))
        with current.full_disk(rng.randint(1, 60_000)) as disk:
            current.live(Troubles(disk=disk))
        current.live(kill_after=rng.randint(1, tasks))
        current.live(Troubles(jump_s=-jump))
        invalid = sum(item["outcome"] == "invalid" for item in current.items().values())
        chaos.share = 0.0
        if current.live() != "finished":
            current.wrong.append("the last run did not finish")
    items = current.items()
    scored = sum(item["outcome"] != "invalid" for item in items.values())
    if (len(items), scored) != (tasks, tasks):
        current.wrong.append(f"{scored} of {len(items)} attempts scored at the end, of {tasks}")
    return {
        "seed": seed, "disk": "tmpfs" if mounted else "bound on files", "requests": len(chaos.seen),
        "stored": len(current.stored()),
        "repeated although stored": current.repeated + current.sent_again(),
        "wrong": current.wrong,
        "invalid before the endpoint was well": invalid, "workers": dict(current.ended),
        "faults met": sum(count for name, count in chaos.met.items() if name != "none"),
        "kinds of faults met": len(chaos.met.keys() & set(FAULTS)),
    }  # fmt: skip


@benchmark(seeds=10, tasks=32, out=Path("evals/results/eval_chaos.json"))
def main(options: Options) -> None:
    """All seeds; writes after each."""
    results: list[dict[str, Any]] = []
    for seed in range(options.seeds):
        with small_disk() as (folder, mounted):
            results.append(trial(seed, folder, mounted=mounted, tasks=options.tasks))
        held = sum(
            not result["wrong"] and not result["repeated although stored"] for result in results
        )
        report({"held": f"{held} of {len(results)}", "seeds": results}, options.out)

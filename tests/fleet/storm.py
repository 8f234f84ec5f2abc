"""Attempts on a Ray cluster of many nodes on this machine, of which some are killed (SIMULATED).

    python -m tests.fleet.storm --attempts 100000 --kills 20 --concurrency 400

`harness eval --executor ray` against an endpoint with log-normal times. Nodes are killed at random,
the head aside, and new ones take their place. Counted are attempts without a score and requests
that the endpoint was sent twice. Two bare loops of as many Ray actors, undisturbed, stand beside
it: the same requests without checks, trajectories or a run folder, and the same attempts, each
actor a run of its own. Seconds count from the first request on, processor time of driver and actors
from the start.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.endpoints import endpoint
from benchmarks.evals.overhead import questions
from benchmarks.reports import Options, Result, benchmark, write_suite

if TYPE_CHECKING:
    from harness.api import EvalSettings

NODE: dict[str, Any] = {
    "num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False,
    "include_log_monitor": False, "no_monitor": True,
}  # fmt: skip


class BareLoop:
    """An actor that asks the endpoint, and does nothing else."""

    async def ask(self, url: str, prompts: list[str], concurrency: int) -> int:
        """Ask for every prompt; the number of answers."""
        import openai

        slots, client = asyncio.Semaphore(concurrency), openai.AsyncOpenAI(base_url=url)

        async def call(prompt: str) -> bool:
            async with slots:
                messages: Any = [{"role": "user", "content": prompt}]
                reply = await client.chat.completions.create(model="mock", messages=messages)
                return reply.choices[0].message.content == "4"

        return sum(await asyncio.gather(*map(call, prompts)))

    def attempts(self, settings: EvalSettings) -> int:
        """Make the attempts of a suite in this process; the number of those that passed."""
        from harness.api import run_evaluation

        return run_evaluation(settings)[0].passed


def bare(
    ask: Callable[[Any, list[dict[str, str]]], Any],
    rows: list[dict[str, str]],
    actors: int,
    log: Path,
) -> dict[str, float]:
    """Seconds and processor time of actors that are each asked for their share of the questions."""
    ray: Any = import_module("ray")
    kind = ray.remote(BareLoop).options(num_cpus=1)
    loops = [kind.remote() for _ in range(actors)]
    watch = Watch(log)
    shares = [rows[number::actors] for number in range(actors)]
    answers = [ask(loop, share) for loop, share in zip(loops, shares, strict=True)]
    assert sum(ray.get(answers)) == len(rows)
    result = watch.result(len(rows))
    for loop in loops:
        ray.kill(loop)
    return result


class Watch(threading.Thread):
    """Notes when the first request came, and the processor time of every Ray actor."""

    def __init__(self, log: Path) -> None:
        super().__init__(daemon=True)
        self._log, self.first, self._ticks = log, 0.0, dict[str, int]()
        self._before, self._over = time.process_time(), threading.Event()
        self.start()

    def run(self) -> None:
        """Look twice a second until asked for the result."""
        size = self._log.stat().st_size
        while not self._over.wait(0.5):
            if not self.first and self._log.stat().st_size > size:
                self.first = time.monotonic()
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    if (
                        (process / "cmdline")
                        .read_bytes()
                        .startswith((b"ray::Worker", b"ray::Bare"))
                    ):
                        fields = (process / "stat").read_text().rpartition(")")[2].split()
                        self._ticks[process.name] = int(fields[11]) + int(fields[12])

    def result(self, attempts: int) -> dict[str, float]:
        """Seconds since the first request, and processor time an attempt in milliseconds."""
        seconds = time.monotonic() - self.first
        self._over.set()
        actors = sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")
        driver = time.process_time() - self._before
        return {
            "seconds": seconds,
            "driver ms": 1000 * driver / attempts,
            "actors ms": 1000 * actors / attempts,
        }


def kill_nodes(cluster: Any, nodes: list[Any], log: Path, rows: int, kills: int) -> None:
    """Kill a node, and begin another, each time that a further share of the requests was sent."""
    rng, killed = random.Random(7), 0
    while killed < kills:
        time.sleep(0.2)
        if log.read_bytes().count(b"\n") > rows * (killed + 1) // (kills + 1):
            cluster.remove_node(nodes.pop(rng.randrange(len(nodes))), allow_graceful=False)
            nodes.append(cluster.add_node(**NODE))
            killed += 1


@benchmark(
    attempts=100_000, nodes=8, kills=20, concurrency=400, median=0.5, sigma=1.0, no_bare=False,
    out=Path("evals/results/fleet_storm.json"),
)  # fmt: skip
def main(options: Options) -> Result:
    """Run, count, print and write the report."""
    from ray.cluster_utils import Cluster

    from harness.api import EvalSettings, run_evaluation
    from harness.evals import records

    os.environ.update(OPENAI_API_KEY="none", RAY_USAGE_STATS_ENABLED="0", LANGSMITH_TRACING="false")
    rows = questions(0, options.attempts)
    with tempfile.TemporaryDirectory(prefix="r") as name:
        folder, log = Path(name), Path(name, "requests")
        os.environ["RAY_TMPDIR"] = name
        kind: Any = Cluster
        head = {**NODE, "num_cpus": 0}
        cluster = kind(initialize_head=True, shutdown_at_exit=False, head_node_args=head)
        nodes = [cluster.add_node(**NODE) for _ in range(options.nodes)]
        os.environ["RAY_ADDRESS"] = cluster.address
        words = ("tests.fleet.storm_endpoint", str(log), str(options.median), str(options.sigma))
        suite = write_suite(folder / "suite", rows)
        with endpoint(*words) as url:
            settings = EvalSettings(
                suite=str(suite), out=folder / "run", models=("openai/mock",), base_url=url,
                sandbox="none", concurrency=options.concurrency, executor="ray",
                workers=options.nodes,
            )  # fmt: skip
            arguments = cluster, nodes, log, options.attempts, options.kills
            storm = threading.Thread(target=kill_nodes, args=arguments, daemon=True)
            watch = Watch(log)
            storm.start()
            (evaluated,) = run_evaluation(settings)
            ours = watch.result(options.attempts)
            requests = Counter(log.read_text().splitlines())
            report: dict[str, Any] = {
                "attempts": options.attempts, "nodes": options.nodes, "kills": options.kills,
                "passed": evaluated.passed, "failed": evaluated.failed,
                "invalid": evaluated.invalid, "ours": ours,
                "reasons": Counter(item.reason[:200] for item in records(folder / "run")),
                "sent again": sum(requests.values()) - len(requests),
                "driver peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }  # fmt: skip
            if not options.no_bare:
                each = options.concurrency // options.nodes

                def ask(loop: Any, share: list[dict[str, str]]) -> Any:
                    return loop.ask.remote(url, [row["prompt"] for row in share], each)

                def attempts(loop: Any, share: list[dict[str, str]]) -> Any:
                    own = {
                        "suite": str(write_suite(folder / share[0]["id"], share)),
                        "out": folder / f"{share[0]['id']}-run", "executor": "local",
                        "workers": 0, "concurrency": each,
                    }  # fmt: skip
                    return loop.attempts.remote(settings.model_copy(update=own))

                for arm, work in (("requests alone", ask), ("attempts alone", attempts)):
                    alone = bare(work, rows, options.nodes, log)
                    report |= {arm: alone, f"ratio to {arm}": ours["seconds"] / alone["seconds"]}
            import_module("ray").shutdown()
            cluster.shutdown()
    return report

"""The head of a Ray cluster dies: for a minute the run goes on with the actors that are left, then
Ray ends the driver; `--resume` goes on at the next cluster.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.running import doubled, evaluated, left_behind, repeated, suite_in
from tests.models.http_server import serve

CONCURRENCY = 4


@contextmanager
def cluster(monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """A head and a node of one core each, to whom RAY_ADDRESS leads."""
    from ray.cluster_utils import Cluster

    kind: Any = Cluster
    common = {
        "num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False,
        "include_log_monitor": False, "no_monitor": True,
    }  # fmt: skip
    nodes = kind(initialize_head=True, shutdown_at_exit=False, head_node_args=common)
    nodes.add_node(**common)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    try:
        yield nodes
    finally:
        nodes.shutdown()


@pytest.mark.full
@pytest.mark.slow
def test_a_run_goes_on_at_the_next_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, run = suite_in(tmp_path / "suite", 80), tmp_path / "run"
    with tempfile.TemporaryDirectory(prefix="r") as folder:  # socket paths must be short
        for name, value in (("RAY_TMPDIR", folder), ("OPENAI_API_KEY", "none"),
                            ("RAY_USAGE_STATS_ENABLED", "0")):  # fmt: skip
            monkeypatch.setenv(name, value)
        with serve(doubled, delay_s=6) as served:
            command = [
                sys.executable, "-m", "harness", "eval", str(suite), "--sandbox", "none",
                "--model", "openai/served", "--base-url", served.url, "--executor", "ray",
                "--workers", "2", "--concurrency", str(CONCURRENCY),
            ]  # fmt: skip
            with cluster(monkeypatch) as nodes:
                driver = subprocess.Popen([*command, "--out", str(run)], stderr=subprocess.PIPE)
                while len(served.bodies) < 8 and driver.poll() is None:
                    time.sleep(0.01)
                nodes.remove_node(nodes.head_node, allow_graceful=False)
                _, said = driver.communicate(timeout=500)
            finished = len(left_behind(run)[0])
            assert driver.returncode != 0 and 4 <= finished < 80, said.decode()
            with cluster(monkeypatch):
                again = subprocess.run(
                    [*command, "--resume", str(run)], capture_output=True, check=False
                )
            assert again.returncode == 0, again.stderr.decode()
            assert repeated(served) <= CONCURRENCY
        with serve(doubled) as served:
            evaluated(suite, tmp_path / "alone", served)
    assert left_behind(run) == left_behind(tmp_path / "alone")

"""The file for KubeRay: what it would start, started on this machine."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.evals import read_report
from tests.fleet.running import doubled, suite_in
from tests.models.http_server import free_port, serve

FILE = Path(__file__).parents[2] / "docs" / "concepts" / "rayjob.yaml"

UNTIL_THERE = """
import time, ray
ray.init()
while not {"memory", "sandbox"} <= ray.cluster_resources().keys():
    time.sleep(0.1)
"""


def words(group: dict[str, Any]) -> list[str]:
    """The options of `ray start`, as the operator writes them, for a shell."""
    options = group["rayStartParams"].items()
    return shlex.split(" ".join(f"--{name}={value}" for name, value in options))


def limits(group: dict[str, Any]) -> dict[str, str]:
    return group["template"]["spec"]["containers"][0]["resources"]["limits"]


@pytest.mark.slow
def test_its_cluster_runs_its_command_and_resumes(tmp_path: Path) -> None:
    job = yaml.safe_load(FILE.read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    suite = suite_in(tmp_path / "suite", 6)
    port, ray = free_port(), [sys.executable, "-m", "ray.scripts.scripts"]
    address = f"127.0.0.1:{port}"
    common = ["--disable-usage-stats", "--object-store-memory=80000000", "--block"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "RAY_ADDRESS": address, "OPENAI_API_KEY": "k", "PATH": path}
    # A head asks for a token where the home folder holds one, and drivers do not give it.
    environment["RAY_AUTH_MODE"] = "disabled"
    starts = [
        ["--head", f"--port={port}", "--node-ip-address=127.0.0.1",
         "--include-dashboard=false", *words(head)],
        [f"--address={address}", "--node-ip-address=127.0.0.1",
         f"--num-cpus={limits(workers)['cpu']}", *words(workers)],
    ]  # fmt: skip
    assert words(workers) == ['--resources={"sandbox": 4}']
    nodes: list[subprocess.Popen[Any]] = []
    try:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for start in starts:
            command = [*ray, "start", *common, *start]
            nodes.append(subprocess.Popen(command, env=environment, **quiet))
            until = time.monotonic() + 60
            while len(nodes) == 1 and time.monotonic() < until:  # until the head listens
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
        subprocess.run([sys.executable, "-c", UNTIL_THERE], env=environment, check=True, **quiet)
        with serve(doubled) as served:
            entrypoint = job["spec"]["entrypoint"].replace("/runs", str(tmp_path))
            entrypoint = entrypoint.replace("/suite/suite.yaml", str(suite))
            command = shlex.split(entrypoint)
            more = {"OPENAI_BASE_URL": served.url, "HARNESS_TEST": "1"}
            for _ in range(2):
                done = subprocess.run(
                    command, env=environment | more, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, done.stderr
                report = read_report(tmp_path / "eval")
                assert (report.passed, report.failed, report.invalid) == (4, 2, 0)
            assert len(served.bodies) == 6
    finally:
        for node in reversed(nodes):
            node.terminate()
            node.wait(30)

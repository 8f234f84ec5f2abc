"""Eval runs on a Ray cluster of two nodes: as on one machine, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from tests.fleet.conftest import TwoNodes
from tests.fleet.running import (
    doubled,
    evaluated,
    kill_after,
    left_behind,
    processes,
    repeated,
    suite_in,
)
from tests.models.http_server import Served, serve

pytestmark = pytest.mark.slow
ACTOR = "ray::RayWorker"


@dataclass(frozen=True)
class Doubling:
    suite: Path
    skill: Path
    alone: tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def doubling(tmp_path_factory: pytest.TempPathFactory) -> Doubling:
    """A suite and a skill, and what a run in one process leaves of them."""
    folder = tmp_path_factory.mktemp("doubling")
    suite, skill = suite_in(folder / "suite", 12), folder / "skill" / "doubling"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        '---\nname: "doubling"\ndescription: "Doubles."\n---\nAdd the number to itself.\n'
    )
    with serve(doubled) as served, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "none")
        report = evaluated(suite, folder / "alone", served, skill=skill)
    assert (report.passed, report.failed, report.invalid) == (8, 4, 0)
    return Doubling(suite, skill, left_behind(folder / "alone"))


def begin_and_kill(doubling: Doubling, run: Path, served: Served, calls: int, *more: str) -> None:
    """Begin a run from the command line and kill its driver after so many requests."""
    command = [
        sys.executable, "-m", "harness", "eval", str(doubling.suite), "--skill",
        str(doubling.skill), "--out", str(run), "--sandbox", "none", "--model", "openai/served",
        "--base-url", served.url, "--concurrency", "2", *more,
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as driver:
        while len(served.bodies) < calls and driver.poll() is None:
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
    assert 0 < len(left_behind(run)[0]) < 12


def test_begun_here_finished_by_ray_which_loses_a_node(
    tmp_path: Path, two_nodes: TwoNodes, doubling: Doubling
) -> None:
    run = tmp_path / "run"
    with serve(doubled, delay_s=0.3) as served:
        begin_and_kill(doubling, run, served, 4)
        lost = lose_node_after(served, len(served.bodies) + 3, two_nodes)
        evaluated(
            doubling.suite, run, served, skill=doubling.skill, resume=run, executor="ray",
            workers=2, concurrency=2, worker_resources={"sandbox": 1},
        )  # fmt: skip
        lost.join()
        assert repeated(served) <= 2 + 2  # in flight at the driver's kill, and on the node
    assert left_behind(run) == doubling.alone


def lose_node_after(served: Served, requests: int, nodes: TwoNodes) -> threading.Thread:
    def work() -> None:
        until = time.monotonic() + 60
        while len(served.bodies) < requests and time.monotonic() < until:
            time.sleep(0.01)
        nodes.cluster.remove_node(nodes.other, allow_graceful=False)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_begun_by_ray_with_an_actor_killed_finished_here(
    tmp_path: Path, two_nodes: TwoNodes, doubling: Doubling
) -> None:
    run = tmp_path / "run"
    with serve(doubled, delay_s=0.3) as served:
        killer = kill_after(served, 3, ACTOR, two_nodes.mark)
        begin_and_kill(doubling, run, served, 8, "--executor", "ray", "--workers", "1")
        killer.join()
        evaluated(doubling.suite, run, served, skill=doubling.skill, resume=run)
        assert 1 <= repeated(served) <= 2 + 2  # in flight at the actor's kill, and the driver's
    assert left_behind(run) == doubling.alone


def test_no_worker_outlives_its_run(two_nodes: TwoNodes) -> None:
    until = time.monotonic() + 10
    while processes(ACTOR, two_nodes.mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes(ACTOR, two_nodes.mark)


def test_a_resource_that_no_node_has_is_refused(tmp_path: Path, two_nodes: TwoNodes) -> None:
    suite = suite_in(tmp_path / "suite", 1)
    with serve(doubled) as served:
        with pytest.raises(BadInput, match=r"a worker asks for .*'GPU': 1"):
            evaluated(suite, tmp_path / "run", served, executor="ray", worker_resources={"GPU": 1})
        assert not served.bodies
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"

"""Eval runs on a Ray cluster of two nodes: as on one machine, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def test_a_killed_actor_and_a_lost_node_cost_their_calls_in_flight_alone(
    tmp_path: Path, two_nodes: TwoNodes
) -> None:
    suite = suite_in(tmp_path / "suite", 24)
    skill = tmp_path / "skill" / "doubling"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        '---\nname: "doubling"\ndescription: "Doubles."\n---\nAdd the number to itself.\n'
    )
    with serve(doubled) as served:
        evaluated(suite, tmp_path / "alone", served, skill=skill)
    with serve(doubled, delay_s=0.3) as served:
        killer = kill_after(served, 5, ACTOR, two_nodes.mark)
        node = lose_node_after(served, 17, two_nodes)
        report = evaluated(
            suite, tmp_path / "ray", served, skill=skill, executor="ray", workers=2,
            concurrency=4, worker_resources={"CPU": 0.5, "sandbox": 0.5},
        )  # fmt: skip
        killer.join()
        node.join()
        again = repeated(served)
    assert (report.passed, report.failed, report.invalid) == (16, 8, 0)
    assert left_behind(tmp_path / "ray") == left_behind(tmp_path / "alone")
    assert 1 <= again <= 2 + 4  # of the actor's two, and of two actors on the node at most
    two_nodes.other = two_nodes.cluster.add_node(num_cpus=1, resources={"sandbox": 1})


def lose_node_after(served: Served, requests: int, nodes: TwoNodes) -> threading.Thread:
    def work() -> None:
        until = time.monotonic() + 60
        while len(served.bodies) < requests and time.monotonic() < until:
            time.sleep(0.01)
        nodes.cluster.remove_node(nodes.other, allow_graceful=False)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize(("first", "then"), [("ray", "local"), ("local", "ray")])
def test_a_run_begun_by_one_executor_is_finished_by_the_other(
    tmp_path: Path, two_nodes: TwoNodes, first: str, then: str
) -> None:
    suite, run = suite_in(tmp_path / "suite", 12), tmp_path / "run"
    with serve(doubled, delay_s=0.3) as served:
        command = [
            sys.executable, "-m", "harness", "eval", str(suite), "--out", str(run), "--sandbox",
            "none", "--model", "openai/served", "--base-url", served.url, "--concurrency", "2",
            "--executor", first, *(["--workers", "1"] if first == "ray" else []),
        ]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as driver:
            while len(served.bodies) < 6 and driver.poll() is None:
                time.sleep(0.01)
            driver.send_signal(signal.SIGKILL)
        kept = len(left_behind(run)[0])
        report = evaluated(
            suite, run, served, resume=run, executor=then, workers=1 if then == "ray" else 0
        )
        again = repeated(served)
    assert 0 < kept < 12
    assert (report.items, report.passed, report.invalid) == (12, 8, 0)
    assert again <= 2  # the calls in flight at the kill
    with serve(doubled) as served:
        evaluated(suite, tmp_path / "alone", served)
    assert left_behind(run) == left_behind(tmp_path / "alone")


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

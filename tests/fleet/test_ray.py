"""Eval runs on a Ray cluster of two nodes: as on one machine, whatever dies."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, LimitReached, digest_tree
from harness.evals import Tally, records, regrade_folder
from harness.fleet import Tree, WorkersLost, open_ray
from harness.rag.retrieve import create_index, open_encoder, parse_paths
from harness.rag.retrieve.spread import spread
from tests.fleet.conftest import TwoNodes
from tests.fleet.judged import contents, finished_run, judged_rows
from tests.fleet.running import (
    doubled,
    evaluated,
    left_behind,
    processes,
    repeated,
    suite_in,
)
from tests.models.http_server import Served, serve

pytestmark = pytest.mark.slow
ACTOR = "ray::Worker"


def test_here_then_ray_then_here_again_whatever_dies(tmp_path: Path, two_nodes: TwoNodes) -> None:
    """Eighteen calls: a budget ends the first run, a lost node and a kill -9 the second."""
    suite, skill = suite_in(tmp_path / "suite", 18), tmp_path / "doubling"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        '---\nname: "doubling"\ndescription: "Doubles."\n---\nAdd the number to itself.\n'
    )
    run = tmp_path / "run"
    with serve(doubled, delay_s=0.3) as served:
        with pytest.raises(LimitReached):
            evaluated(suite, run, served, skill=skill, concurrency=4, budget_calls=4)
        assert len(left_behind(run)[0]) == 4
        lost = lose_node_after(served, 8, two_nodes)
        with subprocess.Popen(by_ray(suite, skill, run, served), stderr=subprocess.PIPE) as driver:
            while len(served.bodies) < 14 and driver.poll() is None:
                time.sleep(0.01)
            working = processes(ACTOR, two_nodes.mark)
            driver.send_signal(signal.SIGKILL)
            _, said = driver.communicate()
        lost.join()
        assert working
        assert none_left(lambda: processes(ACTOR, two_nodes.mark))
        assert 8 < len(left_behind(run)[0]) < 18, said.decode()
        report = evaluated(suite, run, served, skill=skill, resume=run)
        again = repeated(served)
    assert (report.passed, report.failed, report.invalid) == (12, 6, 0)
    assert again <= 2 + 2  # in flight on the node, and at the driver's kill
    with serve(doubled) as served:
        evaluated(suite, tmp_path / "alone", served, skill=skill)
    assert left_behind(run) == left_behind(tmp_path / "alone")


def by_ray(suite: Path, skill: Path, run: Path, served: Served) -> list[str]:
    return [
        sys.executable, "-m", "harness", "eval", str(suite), "--skill", str(skill),
        "--resume", str(run), "--sandbox", "none", "--model", "openai/served",
        "--base-url", served.url, "--concurrency", "2", "--executor", "ray", "--workers", "2",
        "--worker-resource", "sandbox=1",
    ]  # fmt: skip


def lose_node_after(served: Served, requests: int, nodes: TwoNodes) -> threading.Thread:
    def work() -> None:
        until = time.monotonic() + 60
        while len(served.bodies) < requests and time.monotonic() < until:
            time.sleep(0.01)
        nodes.cluster.remove_node(nodes.other, allow_graceful=False)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def none_left(found: Callable[[], Sequence[object]]) -> bool:
    """Return True once nothing is found any more, soon."""
    until = time.monotonic() + 10
    while found() and time.monotonic() < until:
        time.sleep(0.1)
    return not found()


def test_a_worker_that_is_sent_home_removes_its_files(tmp_path: Path, two_nodes: TwoNodes) -> None:
    def unpacked() -> set[Path]:
        return set(Path(two_nodes.temporary).glob("harness-worker-*"))

    async def main() -> set[Path]:
        executor = open_ray(1, {"CPU": 0.5, "first": 0.5})
        for number in range(4000):  # removing them takes a moment
            (tmp_path / f"{number}.txt").touch()
        trees = {"base": Tree(tmp_path)}
        async with executor.open("tests.fleet.deadly:deadly", {}, trees) as ask:
            assert (await ask("alive"))[0] == "alive"
            with pytest.raises(BadInput, match="no such value"):
                await ask("refuse")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await ask("wait")
            with pytest.raises(WorkersLost):
                await ask("die")
            assert (await ask("alive"))[0] == "alive"
            return unpacked()

    before = unpacked()  # of workers that were killed
    then = asyncio.run(main())
    assert len(then - before) == 4  # three of which died
    assert len(unpacked() - before) == 3
    assert none_left(lambda: processes(ACTOR, two_nodes.mark))


def test_an_index_is_the_same_wherever_its_chunks_are_embedded(
    tmp_path: Path, two_nodes: TwoNodes
) -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("etaoinshr", k=rng.randint(2, 8))) for _ in range(400)]
    for number in range(90):
        text = " ".join(rng.choices(words, k=rng.randint(5, 40)))
        (tmp_path / f"{number}.txt").write_text(f"Document {number}. {text}.")
    here = open_encoder("lexical")
    there = spread(here, None, open_ray(1, {"CPU": 0.5}))
    for name, encoder in (("here", here), ("there", there)):
        parsed = parse_paths([tmp_path / f"{number}.txt" for number in range(90)])
        assert create_index(tmp_path / name, encoder).add(parsed.documents).chunks == 90
    assert segments(tmp_path / "here") == segments(tmp_path / "there")


def segments(index: Path) -> list[str]:
    return [digest_tree(folder) for folder in sorted((index / "segments").iterdir())]


def test_answers_are_judged_the_same_on_a_node_that_has_only_what_it_was_sent(
    tmp_path: Path, two_nodes: TwoNodes
) -> None:
    """Code of the suite runs in the sandbox there, and the worker is killed in the middle."""
    run = finished_run(tmp_path, judged_rows("text", "code", "table"))
    killed: list[int] = []

    def kill(tally: Tally) -> None:
        if tally.done == 4:
            until_taken("first")
            killed.append(processes(ACTOR, two_nodes.mark)[0])
            os.kill(killed[0], signal.SIGKILL)

    executor = open_ray(1, {"CPU": 0.5, "first": 1})
    regrade_folder(run, tmp_path / "here", None, "auto", trust_checks=False)
    there = regrade_folder(
        run,
        tmp_path / "there",
        None,
        "auto",
        trust_checks=False,
        executor=executor,
        on_progress=kill,
    )
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    assert (there.graded, len(killed)) == (18, 1)
    seen = {item.reason for item in records(tmp_path / "there") if item.task_id == "code4"}
    assert seen == {"sees the file outside: False"}


def until_taken(resource: str) -> None:
    """Wait until a worker holds all that the cluster has of a resource."""
    library: Any = import_module("ray")
    until = time.monotonic() + 20
    while library.available_resources().get(resource, 0.0) > 0 and time.monotonic() < until:
        time.sleep(0.1)
    assert time.monotonic() < until


def test_a_resource_that_no_node_has_is_refused(tmp_path: Path, two_nodes: TwoNodes) -> None:
    suite = suite_in(tmp_path / "suite", 1)
    with serve(doubled) as served:
        with pytest.raises(BadInput, match=r"a worker asks for .*'GPU': 1"):
            evaluated(suite, tmp_path / "run", served, executor="ray", worker_resources={"GPU": 1})
        assert not served.bodies
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"

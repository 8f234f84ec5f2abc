"""A Ray cluster of two nodes on this machine, for the tests that need one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

MARK = "HARNESS_TEST_FLEET"


@dataclass
class TwoNodes:
    """The cluster, its nodes, a mark in the environment of its workers, and where they write."""

    cluster: Any
    head: Any
    other: Any
    mark: str
    temporary: str


@pytest.fixture(scope="module")
def two_nodes() -> Generator[TwoNodes]:
    """Each node has one core; the tag `sandbox` is offered by both, `first` by the first."""
    # Socket paths below it may have 107 characters: not in pytest's folder.
    with tempfile.TemporaryDirectory(prefix="r") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_enable_worker_prestart", "0")
        patch.setenv("RAY_prestart_worker_first_driver", "0")
        patch.setenv(MARK, folder)
        patch.setenv("TMPDIR", folder)
        patch.setenv("OPENAI_API_KEY", "none")
        from ray.cluster_utils import Cluster

        kind: Any = Cluster
        # Nothing here reads its logs, scales it or starts workers before they are asked for.
        common = {
            "num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False,
            "include_log_monitor": False, "no_monitor": True,
        }  # fmt: skip
        cluster = kind(
            initialize_head=True, shutdown_at_exit=False,
            head_node_args={**common, "resources": {"sandbox": 1, "first": 1}},
        )  # fmt: skip
        try:
            other = cluster.add_node(**common, resources={"sandbox": 1})
            patch.setenv("RAY_ADDRESS", cluster.address)
            yield TwoNodes(cluster, cluster.head_node, other, f"{MARK}={folder}", folder)
        finally:
            library: Any = import_module("ray")
            library.shutdown()
            cluster.shutdown()
    assert os.environ.get(MARK) is None

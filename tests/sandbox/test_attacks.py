"""Every attack on every back end that runs here, and the same attacks unsandboxed as a control."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.sandbox import Limits, select
from harness.sandbox.attacks import CONSUMING, PROBE_LIMITS, REACHING, Bait, storm
from harness.sandbox.backends import diagnose_landlock, launch_landlock
from harness.sandbox.cgroups import group_place
from harness.sandbox.execution import Sandbox
from tests.backends import available_backend


@pytest.fixture
def bait() -> Iterator[Bait]:
    with Bait() as context:
        yield context


@pytest.fixture(params=["landlock", "bubblewrap"])
def backend(request: pytest.FixtureRequest) -> str:
    return available_backend(request.param)


ALONE = Sandbox("landlock", diagnose_landlock, partial(launch_landlock, unshare=False))
"""As on a machine whose administrator forbids namespaces to ordinary users."""
BUFFERS = [Path(__file__).with_name("attack_buffers.py")]


def test_landlock_holds_where_no_namespace_can_be_made() -> None:
    available_backend("landlock")
    assert storm(ALONE) == ()


@pytest.fixture(params=["landlock", "bubblewrap", "alone"])
def any_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "alone":
        available_backend("landlock")
        return ALONE
    return select(available_backend(request.param))


def test_devices_stay_where_they_are(any_sandbox: Sandbox, tmp_path: Path) -> None:
    script = "for n in .sandbox-*/dev/* /dev/zero; do mv $n kept-$(basename $n); done; ls -a"
    any_sandbox.exec(["sh", "-c", script], workdir=tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.is_char_device()]


@pytest.mark.parametrize("attack", REACHING)
def test_reaching_out_is_stopped(backend: str, attack: str, bait: Bait) -> None:
    # A loaded machine may take long to begin, and what never began counts as an escape.
    limits = PROBE_LIMITS.model_copy(update={"wall_s": 15.0})
    escaped, _ = bait.attack(select(backend), [attack], limits)
    assert not escaped
    assert bait.secret.read_text() == "secret" and not bait.target.exists()
    assert bait.victim.poll() is None


@pytest.mark.parametrize("attack", CONSUMING)
def test_consuming_is_stopped(backend: str, attack: str, bait: Bait) -> None:
    begin = time.monotonic()
    escaped, result = bait.attack(select(backend), [attack])
    if escaped:  # as in the storm: one that did not begin in time on a loaded machine counts, too
        begin = time.monotonic()
        patient = PROBE_LIMITS.model_copy(update={"wall_s": 4.0})
        escaped, result = bait.attack(select(backend), [attack], patient)
    assert not escaped
    assert time.monotonic() - begin < 6
    allowed = {
        "forks": {"processes", "memory", None},
        "memory": {"memory", None},
        "memory_spread": {"memory", None},
        "loop": {"time"},
        "output": {"output"},
        "big_file": {"disk", None},
        "many_files": {"disk"},
        "daemon": {None},
        "page_tables": {"memory"},
        "held_output": {None},
        "empty_files": {"disk", "time"},
        "stopped_group": {"time"},
        "headless_memory": {"memory", None},
    }
    assert result.limit in allowed.get(attack, {"disk"})


def test_a_loop_is_stopped_when_it_is_given_more_time(backend: str, bait: Bait) -> None:
    """As on a loaded machine, where the storm tries again what did not begin in time."""
    limits = PROBE_LIMITS.model_copy(update={"wall_s": 6.0, "cpu_s": 60})
    escaped, result = bait.attack(select(backend), ["loop"], limits)
    assert not escaped
    assert result.limit == "time"


@pytest.mark.parametrize("attack", ["shared_memory", "socket_buffers", "pipe_buffers"])
def test_memory_of_the_kernel_is_limited_where_groups_can_be_made(
    backend: str, attack: str, bait: Bait
) -> None:
    place = group_place()
    if place is None:
        pytest.skip("this user may not make control groups")
    escaped, result = bait.attack(
        select(backend), [attack], PROBE_LIMITS.model_copy(update={"wall_s": 15.0}), BUFFERS
    )
    assert not escaped and result.limit in ("memory", None)
    assert not list(place[0].glob(f"harness-{os.getpid()}-*"))


@pytest.mark.parametrize(
    "attack",
    [
        *("read_outside", "write_outside", "tcp", "udp", "abstract_socket", "signal_host"),
        *("setuid_file", "kernel_queues", "undumpable", "kernel_keys", "posix_queue"),
        *("signal_queue", "signal_descriptor", "signal_owner", "signal_parent", "reserved_space"),
        *("loosened_sandbox", "leases", "watched_programs", "handled_crash", "host_facts"),
        *("pseudo_terminals", "mount_table", "datagram", "marked_files", "priority_of_others"),
        *("headless_files", "headless_memory", "memory_spread"),
    ],
)
def test_the_attacks_work_without_a_sandbox(attack: str, bait: Bait) -> None:
    # Limits are kept even without a sandbox: here none may end an attack before it says it worked.
    limits = PROBE_LIMITS.model_copy(update={"wall_s": 15.0, "disk_mb": 1024, "memory_mb": 1024})
    escaped, _ = bait.attack(select("none"), [attack], limits)
    assert escaped == {attack}


def test_proc_snooping_works_without_a_sandbox(bait: Bait) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    escaped, _ = bait.attack(select("none"), ["proc_environment", "planted_link"])
    assert escaped == {"proc_environment", "planted_link"}


def test_host_environment_does_not_leak(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "host-secret")
    script = "import os; print(dict(os.environ))"
    result = select(backend).exec(
        [sys.executable, "-c", script], workdir=tmp_path, env={"MINE": "1"}
    )
    assert "host-secret" not in result.stdout and "'MINE': '1'" in result.stdout


def test_memory_limit_names_itself(tmp_path: Path, backend: str) -> None:
    script = "import os,time\nfor _ in range(3): os.fork()\nx = b'x' * (40 << 20); time.sleep(3)"
    result = select(backend).exec(
        [sys.executable, "-c", script],
        workdir=tmp_path,
        limits=PROBE_LIMITS.model_copy(update={"memory_mb": 128, "wall_s": 5.0}),
    )
    assert result.limit == "memory" and result.exit_code is None


def test_root_switches_and_capabilities_work_without_a_sandbox(bait: Bait) -> None:
    if os.geteuid() or not sys.platform.startswith("linux"):
        pytest.skip("needs to be root on Linux")
    attacks = ["kernel_switches", "capabilities", "device_times", "raw_sockets", "kernel_log"]
    attacks += ["privileged_calls", "priority", "kernel_doors", "look_into_others"]
    escaped, _ = bait.attack(select("none"), attacks)
    assert escaped == set(attacks)


def test_ordinary_files_are_made_copied_and_marked_as_ever(backend: str, tmp_path: Path) -> None:
    script = (
        "import os, shutil; from pathlib import Path; Path('a').touch(); Path('a').touch();"
        "os.chmod('a', 0o755); shutil.copy2('a', 'b'); os.mkdir('c'); shutil.copytree('c', 'd')"
    )
    result = select(backend).exec([sys.executable, "-c", script], workdir=tmp_path)
    assert result.ok, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c", "d"]
    devices = ["sh", "-c", "echo x > /dev/null && head -c 3 /dev/zero && touch c && tar cf e a"]
    assert select(backend).exec(devices, workdir=tmp_path).stdout == "\0\0\0"


@pytest.mark.parametrize("before", ["", "trap '' XCPU; "])
def test_cpu_limit_names_itself(before: str, tmp_path: Path, backend: str) -> None:
    limits = Limits(cpu_s=1, wall_s=60)
    script = f"{before}while :; do :; done"
    result = select(backend).exec(["sh", "-c", script], workdir=tmp_path, limits=limits)
    assert result.limit == "cpu"


def test_a_process_holds_a_thousand_descriptors_open(tmp_path: Path, backend: str) -> None:
    """Each takes memory of the kernel's, which is counted only where control groups can be made."""
    script = "import os\nwhile True: os.open('.', os.O_RDONLY)"
    result = select(backend).exec([sys.executable, "-c", script], workdir=tmp_path)
    assert result.exit_code == 1 and "Too many open files" in result.stderr

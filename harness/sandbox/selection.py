"""Choice of a back end: those that run here, what each stops, and how fast it starts."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from harness.core import Value, cache_root, temporary_work_folder, write_atomic
from harness.core.errors import BadInput
from harness.sandbox.attacks import ATTACKS, storm
from harness.sandbox.backends import BACKENDS, UNCONFINED
from harness.sandbox.cgroups import group_place
from harness.sandbox.execution import Sandbox
from harness.sandbox.types import SandboxUnavailable

PREFERRED = tuple(BACKENDS)
"""The order in which `auto` tries back ends."""


class BackendReport(Value):
    """Abilities of one back end on this machine.

    Attributes:
        name: as typed after `--sandbox`.
        available: whether a command ran in it.
        reason: why it is unavailable or not admitted, and what to do; empty if admitted.
        stopped: attacks that it stopped.
        escaped: attacks that got through.
        spawn_ms: median time of the program `true`; None if it did not run.
    """

    name: str
    available: bool
    reason: str
    stopped: tuple[str, ...] = ()
    escaped: tuple[str, ...] = ()
    spawn_ms: float | None = None

    @property
    def admitted(self) -> bool:
        """True if it stopped every attack."""
        return self.available and not self.escaped


def probe_backends(*, refresh: bool = False) -> list[BackendReport]:
    """Try every back end with every attack; the answer is cached for this kernel, user and code.

    A first probe takes seconds (about five on two cores); a cached answer a millisecond.

    Args:
        refresh: probe again.
    """
    path = _cache_file()
    if not refresh:
        # A file that is missing or was written by other code is probed anew.
        with suppress(OSError, ValueError, TypeError):
            return [BackendReport(**row) for row in json.loads(path.read_text())]
    reports = [_probe(name) for name in BACKENDS]
    with suppress(BadInput):  # a home that cannot be written only costs the probe again
        write_atomic(path, json.dumps([report.model_dump() for report in reports]))
    return reports


def select(name: str = "auto") -> Sandbox:
    """The sandbox of a name; `auto`: the first of :data:`PREFERRED` that stops every attack.

    Raises:
        BadInput: an unknown name.
        SandboxUnavailable: no back end is admitted here (each with its reason).
    """
    if name == "none":
        return UNCONFINED
    if name != "auto" and name not in BACKENDS:
        names = ", ".join(["auto", *BACKENDS, "none"])
        raise BadInput(f"sandbox: expected one of {names}; found {name!r}.")
    reports = [report for report in probe_backends() if name in ("auto", report.name)]
    best = preferred(reports)
    if best is None:
        # A verdict from the cache may be out of date (something was installed since).
        reports = probe_backends(refresh=True) if name == "auto" else [_probe(name)]
        best = preferred(reports)
    if best is None:
        reasons = "\n".join(f"  {report.name}: {report.reason}" for report in reports)
        raise SandboxUnavailable(
            "sandbox: expected a back end that stops every attack, found none:\n"
            f"{reasons}\nMend one of them (`harness doctor` says more; on a busy machine attacks "
            "that do not begin in time count as not stopped: try again later), or type "
            "`--sandbox none` to run without protection."
        )
    return BACKENDS[best.name]


def preferred(reports: Iterable[BackendReport]) -> BackendReport | None:
    """The admitted back end that stands first in :data:`PREFERRED`; None if none is admitted.

    Not the fastest: start-up times are noise on a busy machine, and a run must not depend on them.
    """
    admitted = [report for report in reports if report.admitted]
    return min(admitted, key=lambda report: PREFERRED.index(report.name), default=None)


def cautions(name: str) -> tuple[str, ...]:
    """List what a back end does not keep from a hostile program on this machine, for this user."""
    notes: list[str] = []
    if name in ("bubblewrap", "landlock") and os.geteuid() == 0:
        notes.append("you are root: it gets no capability, but an ordinary user risks less.")
    if name == "landlock":
        notes.append("names, sizes and times of files outside the work folder can be seen (stat).")
    if name in ("bubblewrap", "landlock") and group_place() is None:
        notes.append(
            "no control group can be made: memory that no process shows (unmapped shared pages, "
            "socket buffers, epoll watches) passes the limit. "
            "As a user of systemd: `systemd-run --user --scope`."
        )
    return tuple(notes)


def _probe(name: str) -> BackendReport:
    sandbox = BACKENDS[name]
    times: list[float] = []

    def unavailable(reason: str) -> BackendReport:
        return BackendReport(name=name, available=False, reason=reason)

    if (reason := sandbox.diagnose()) is not None:
        return unavailable(reason)
    python = [sys.executable, "-c", "print(41)"]
    for command, output in [(["true"], "")] * 5 + [(python, "41")]:
        begin = time.perf_counter()
        try:
            with temporary_work_folder("harness-probe-") as folder:
                result = sandbox.exec(command, workdir=folder)
        except OSError as error:
            return unavailable(str(error))
        times.append(1000 * (time.perf_counter() - begin))
        if not result.ok or result.stdout.strip() != output:
            text = (result.stderr or result.stdout).strip()[-300:] or repr(result.exit_code)
            return unavailable(f"the program {Path(command[0]).name!r} did not run: {text}")
    escaped = storm(sandbox)
    return BackendReport(
        name=name,
        available=True,
        reason=f"attacks that it does not stop: {', '.join(escaped)}." if escaped else "",
        stopped=tuple(attack for attack in ATTACKS if attack not in escaped),
        escaped=escaped,
        spawn_ms=statistics.median(times[:5]),
    )


def _cache_file() -> Path:
    # The code of the room is part of the key: another filter is another verdict. So are the
    # bubblewrap program and the switches that say who may make user namespaces.
    stamp = max(int(path.stat().st_mtime) for path in Path(__file__).parent.glob("*.py"))
    program = shutil.which("bwrap")
    age = int(Path(program).stat().st_mtime) if program else 0
    kernel = Path("/proc/sys/kernel")
    knobs = ("apparmor_restrict_unprivileged_userns", "unprivileged_userns_clone")
    switches = [(kernel / knob).read_text().strip() for knob in knobs if (kernel / knob).exists()]
    parts = [platform.release(), os.getuid(), age, *switches, stamp]
    return cache_root() / f"sandbox-{'-'.join(map(str, parts))}.json"

"""The ladder: every rung, what it stops here, how fast it starts, and which one to use."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from harness.core import Value
from harness.core.cache import cache_root
from harness.core.errors import BadInput
from harness.sandbox.attacks import ATTACKS, storm
from harness.sandbox.base import Rung, RungSandbox
from harness.sandbox.bubblewrap import Bubblewrap
from harness.sandbox.engines import Container, Nsjail, Seatbelt, Unconfined
from harness.sandbox.landlock import Landlock
from harness.sandbox.sandlock import Sandlock
from harness.sandbox.types import Sandbox, SandboxUnavailable

_RUNGS: dict[str, Callable[[], Rung]] = {
    "sandlock": Sandlock,
    "landlock": Landlock,
    "bubblewrap": Bubblewrap,
    "nsjail": Nsjail,
    "docker": functools.partial(Container, "docker"),
    "podman": functools.partial(Container, "podman"),
    "seatbelt": Seatbelt,
}
PREFERRED = ("bubblewrap", "landlock", "nsjail", "podman", "docker", "seatbelt", "sandlock")
"""What `auto` takes first. In namespaces LibreOffice runs; landlock denies it its local socket."""
NEVER_RUN = frozenset({"nsjail", "docker", "podman", "seatbelt"})


class RungReport(Value):
    """What one rung can do on this machine.

    Attributes:
        name: as typed after `--sandbox`.
        available: whether a command ran in it.
        reason: why it is unavailable or not admitted, and what to do; empty if admitted.
        stopped: attacks that it stopped.
        escaped: attacks that got through.
        spawn_ms: median time of the program `true`; None if it did not run.
        ever_run: whether its authors, or this machine, have run it; else it is untried code.
    """

    name: str
    available: bool
    reason: str
    stopped: tuple[str, ...] = ()
    escaped: tuple[str, ...] = ()
    spawn_ms: float | None = None
    ever_run: bool = True

    @property
    def admitted(self) -> bool:
        """Whether it stopped every attack."""
        return self.available and not self.escaped


def ladder(*, refresh: bool = False) -> list[RungReport]:
    """Probe every rung with every attack; the answer is cached for this kernel, user and code.

    A first probe takes seconds (about five on two cores); a cached answer a millisecond.

    Args:
        refresh: probe again.
    """
    path = _cache_file()
    if not refresh:
        try:
            return [RungReport(**row) for row in json.loads(path.read_text())]
        except (OSError, ValueError, TypeError):
            pass  # none yet, or written by other code
    reports = [_probe(name) for name in _RUNGS]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps([report.model_dump() for report in reports]))
        draft.replace(path)
    except OSError:
        pass  # a home that cannot be written only costs the probe again
    return reports


def select(name: str = "auto") -> Sandbox:
    """The sandbox of a name; `auto`: the first of :data:`PREFERRED` that stops every attack.

    Raises:
        BadInput: an unknown name.
        SandboxUnavailable: no rung is admitted here (each with its reason).
    """
    if name == "none":
        return RungSandbox(Unconfined())
    if name != "auto" and name not in _RUNGS:
        names = ", ".join(["auto", *_RUNGS, "none"])
        raise BadInput(f"sandbox: expected one of {names}; found {name!r}.")
    reports = [report for report in ladder() if name in ("auto", report.name)]
    best = preferred(reports)
    if best is None:
        # A verdict from the cache may be out of date (something was installed since).
        reports = ladder(refresh=True) if name == "auto" else [_probe(name)]
        best = preferred(reports)
    if best is None:
        reasons = "\n".join(f"  {report.name}: {report.reason}" for report in reports)
        raise SandboxUnavailable(
            "sandbox: expected a rung that stops every attack, found none:\n"
            f"{reasons}\nMend one of them, or type `--sandbox none` to run without protection."
        )
    return RungSandbox(_RUNGS[best.name]())


def preferred(reports: Iterable[RungReport]) -> RungReport | None:
    """The admitted rung that stands first in :data:`PREFERRED`; None if none is admitted.

    Not the fastest: start-up times are noise on a busy machine, and a run must not depend on them.
    """
    admitted = [report for report in reports if report.admitted]
    return min(admitted, key=lambda report: PREFERRED.index(report.name), default=None)


def _probe(name: str) -> RungReport:
    rung = _RUNGS[name]()
    untried = name not in NEVER_RUN
    reason = rung.diagnose()
    if reason is not None:
        return RungReport(name=name, available=False, reason=reason, ever_run=untried)
    sandbox = RungSandbox(rung)
    times: list[float] = []
    with tempfile.TemporaryDirectory(prefix="harness-probe-") as folder:
        for _ in range(5):
            try:
                begin = time.perf_counter()
                result = sandbox.exec(["true"], workdir=Path(folder))
                times.append(1000 * (time.perf_counter() - begin))
            except OSError as error:
                return RungReport(name=name, available=False, reason=str(error), ever_run=untried)
            if not result.ok:
                text = (result.stderr or result.stdout).strip()[-300:]
                text = f"the program `true` did not run: {text or result.exit_code!r}"
                return RungReport(name=name, available=False, reason=text, ever_run=untried)
        check = sandbox.exec([sys.executable, "-c", "print(41)"], workdir=Path(folder))
        if check.stdout.strip() != "41":
            text = f"Python did not run: {check.stderr.strip()[-300:]}"
            return RungReport(name=name, available=False, reason=text, ever_run=untried)
    escaped = storm(sandbox)
    return RungReport(
        name=name,
        available=True,
        reason=f"does not stop: {', '.join(escaped)}." if escaped else "",
        stopped=tuple(attack for attack in ATTACKS if attack not in escaped),
        escaped=escaped,
        spawn_ms=statistics.median(times),
    )


def _cache_file() -> Path:
    try:
        installed = metadata.version("sandlock")
    except metadata.PackageNotFoundError:
        installed = "no"
    # The code of the room is part of the key: another filter is another verdict.
    stamp = max(int(path.stat().st_mtime) for path in Path(__file__).parent.glob("*.py"))
    key = f"{platform.release()}-{os.getuid()}-{installed}-{_host_state()}-{stamp}"
    return cache_root() / f"sandbox-{key}.json"


def _host_state() -> str:
    """What else decides a verdict: the bubblewrap program, and who may make user namespaces."""
    program = shutil.which("bwrap")
    age = int(Path(program).stat().st_mtime) if program else 0
    switches = (
        Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        Path("/proc/sys/kernel/unprivileged_userns_clone"),
    )
    return "-".join([str(age), *(path.read_text().strip() for path in switches if path.exists())])

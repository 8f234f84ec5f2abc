"""One execution on any rung: prepare the folder, launch, supervise, tidy up."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from harness.core.errors import BadInput
from harness.sandbox import tree
from harness.sandbox.plan import Launch, Plan, environment, readable_paths
from harness.sandbox.supervise import supervise
from harness.sandbox.types import Limits, Result


class Rung(Protocol):
    """One way to confine a command.

    Attributes:
        name: as typed after `--sandbox`.
        watch: whether its processes are our descendants, to be counted and killed by us.
    """

    name: str
    watch: bool

    def diagnose(self) -> str | None:
        """Why it cannot run here and what would fix that; None if it may."""
        ...

    def launch(self, plan: Plan) -> Launch:
        """What to start for `plan`."""
        ...


class RungSandbox:
    """The `Sandbox` of a rung."""

    def __init__(self, rung: Rung) -> None:
        self.rung = rung
        self.name = rung.name

    def exec(
        self,
        command: Sequence[str],
        *,
        workdir: Path,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
    ) -> Result:
        """See :meth:`harness.sandbox.Sandbox.exec`.

        Raises:
            BadInput: an empty command, a missing work folder, or a file outside it.
        """
        if not command:
            raise BadInput("sandbox: expected a command of at least one word, found none.")
        if not workdir.is_dir():
            raise BadInput(f"sandbox: expected an existing work folder, found {str(workdir)!r}.")
        folder = workdir.resolve()
        for name, content in (files or {}).items():
            _write(folder, name, content)
        used, largest = tree.folder_size(folder)
        limits = limits or Limits()
        scratch = Path(tempfile.mkdtemp(prefix=".sandbox-", dir=folder))
        launch: Launch | None = None
        try:
            for name in ("home", "tmp"):
                (scratch / name).mkdir()
            plan = Plan(
                tuple(command),
                folder,
                scratch,
                environment(scratch, env),
                limits,
                readable_paths(readable),
                largest + (limits.disk_mb << 20),
            )
            launch = self.rung.launch(plan)
            return supervise(
                launch,
                workdir=folder,
                limits=limits,
                disk_before=used,
                backend=self.name,
                watch=self.rung.watch,
            )
        finally:
            for descriptor in launch.pass_fds if launch else ():
                os.close(descriptor)
            shutil.rmtree(scratch, ignore_errors=True)


def _write(folder: Path, name: str, content: bytes) -> None:
    relative = PurePosixPath(name)
    target = folder / relative
    # A link planted by an earlier command must not carry this write out of the folder.
    inside = target.parent.resolve().is_relative_to(folder) and not target.is_symlink()
    if relative.is_absolute() or ".." in relative.parts or not inside:
        raise BadInput(f"sandbox: expected a file inside the work folder, found {name!r}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)

"""One engine for all commands of this machine: found, started when there is none, held while used.

Locks on files say who is there, so that the kernel cleans up after a kill: an engine locks its own
file while it lives, and every process that uses it shares a lock that the engine wants for itself
before it ends.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import subprocess
import threading
import time
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path

from harness.core import BadInput, Unreachable, cache_root, digest, private_folder
from harness.core.plugins import install_command
from harness.engines.embedded.process import Files, Launch, arguments

MODULE = "xllamacpp"
PREFIX = "HARNESS_ENGINE_"
START_S = 300.0
"""Within which an engine has loaded its weights, or is given up."""
DYING_S = 10.0
"""After which an engine that did not answer, and lives, is asked again."""
_POLL_S = 0.05
QUIET = {"GOMP_SPINCOUNT": "300"}
"""A thread that waits for another looks a few hundred times, and then gives its core away. Looking
without end, as OpenMP does by itself, two threads beside other work made 1.4 tokens a second; not
looking at all costs two fifths of the speed of a machine at rest (docs/concepts/models.md)."""

_local = threading.Lock()
_held: dict[Path, int] = {}
_children: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Address:
    """Address on which an engine listens.

    Attributes:
        url: such as `http://127.0.0.1:40123`.
        key: that it asks for.
        pid: of its process.
    """

    url: str
    key: str
    pid: int


def launch_settings(mode: str = "chat") -> Launch:
    """The settings that the environment asks for: `HARNESS_ENGINE_SLOTS`, `_CONTEXT`, ...

    Raises:
        BadInput: if one of them is no positive number.
    """
    settings: dict[str, float] = {}
    for field in fields(Launch):
        variable = PREFIX + field.name.upper()
        text = os.environ.get(variable)
        if isinstance(field.default, str) or not text:
            continue
        try:
            value = float(text) if field.name == "idle_s" else int(text)
        except ValueError:
            value = 0
        if value <= 0:
            raise BadInput(f"{variable}: expected a number above 0, got {text!r}")
        settings[field.name] = value
    return Launch(mode=mode, **settings)  # pyright: ignore[reportArgumentType]  # integers where integers belong


class SharedEngine:
    """The engine of a file on this machine, whoever started it.

    Args:
        path: GGUF file.
        launch: how it runs.

    Raises:
        BadInput: if the engine's library is not installed.
    """

    def __init__(self, path: Path, launch: Launch) -> None:
        if find_spec(MODULE) is None:
            raise BadInput(
                "local/ models need llama.cpp, which is not installed: run "
                f"`{install_command('local')}`; where there is no wheel of xllamacpp for this "
                "platform, serve the model with another server and reach it as openai/ with "
                "--base-url"
            )
        self._path = path.resolve()
        self._launch = launch
        name = digest({"path": str(self._path), **asdict(launch)})[:16]
        self.files = Files(cache_root() / "engines" / name)

    @property
    def running(self) -> Address | None:
        """The engine's address, None while there is none."""
        if not _locked(self.files.lock):
            return None
        try:
            return Address(**json.loads(self.files.address.read_text()))
        except (OSError, ValueError, TypeError):
            return None  # it still loads

    def start(self, lost: Address | None = None) -> Address:
        """The address of the engine, which is started if there is none; it is held from now on.

        Args:
            lost: an address that did not answer: its engine may be dying, which takes a moment.

        Raises:
            BadInput: if the weights do not load, or the cache cannot be written.
            Unreachable: if the engine does not answer in time.
        """
        with _local:
            try:
                private_folder(self.files.stem.parent)
                if self.files.users not in _held:
                    users = os.open(self.files.users, os.O_RDWR | os.O_CREAT, 0o600)
                    fcntl.flock(users, fcntl.LOCK_SH)  # waits for an engine that is ending
                    _held[self.files.users] = users  # until this process ends
            except OSError as error:
                raise BadInput(
                    f"cannot write {str(self.files.stem.parent)!r}: {error.strerror}; set "
                    "HARNESS_CACHE to a folder that can be written"
                ) from error
            begun = time.monotonic()
            process: subprocess.Popen[bytes] | None = None
            while (address := self.running) is None or (
                address == lost and time.monotonic() < begun + DYING_S
            ):
                if not _locked(self.files.lock):
                    if process is not None and process.poll():
                        raise BadInput(self._failure(process.returncode))
                    if process is None or process.poll() == 0:  # another was faster, and is gone
                        process = self._spawn()
                if time.monotonic() > begun + START_S:
                    raise Unreachable(
                        f"the engine of {str(self._path)!r} did not start within {START_S:.0f} s; "
                        f"see {str(self.files.log)!r}"
                    )
                time.sleep(_POLL_S)
            return address

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.files.log.open("ab") as log:
            process = subprocess.Popen(  # fixed arguments, no shell
                arguments(self._path, self.files, self._launch),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C ends the command, not what others use
                env=QUIET | os.environ,
                cwd=self.files.stem.parent,
            )
        _children.append(process)  # one that is forgotten would be warned of as still running
        return process

    def _failure(self, code: int) -> str:
        if code == -4:  # SIGILL
            return (
                "this processor lacks instructions that the wheel of xllamacpp was built for "
                "(AVX2): build xllamacpp from source, or reach a model as openai/ with --base-url"
            )
        lines = self.files.log.read_text(errors="replace").strip().splitlines()
        reason = next((line for line in reversed(lines) if "error" in line.lower()), "")
        last = reason or (lines[-1] if lines else f"exit code {code}")
        return (
            f"{str(self._path)!r} does not load: {last.strip()[-300:]!r}; see "
            f"{str(self.files.log)!r}"
        )


@atexit.register
def _leave() -> None:
    """Engines outlive the command that started them, and Python need not warn of it."""
    for process in _children:
        process.returncode = 0


def _locked(path: Path) -> bool:
    """Return True if a living process holds a lock."""
    try:
        with path.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # never locked
    return False

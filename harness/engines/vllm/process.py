"""One vLLM server as a process group: started, waited for, drained, killed; its log in a file."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from harness.core import BadInput, Unreachable

POLL_S = 0.25
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""A server of this machine is not asked through a proxy."""
LAST_LINES = 12
_LEAKED = re.compile(r"nanobind|^ - (leaked|\.\.\. skipped) ")
"""What a binding of Triton says at every end; the reason stands before it."""
_CAUSE = re.compile(r"\b[A-Z]\w*(?:Error|Exception): (?!Engine core initialization failed)")
"""Where a process of the engine says why it cannot begin, far above the last lines."""
_RELEASE_S = 10.0
"""After the last request: the engine frees its memory."""
_BOUND_BY_PARENT = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)\n"
    "os.getppid() == int(sys.argv[1]) or sys.exit('the harness is gone')\n"
    "os.execvp(sys.argv[2], sys.argv[2:])"
)
"""Ends the server when the harness is killed, too (PR_SET_PDEATHSIG)."""
_HINTS = {
    "No module named 'vllm'": "name the interpreter that vLLM is installed for: --python, or "
    "HARNESS_VLLM_PYTHON",
    "unrecognized arguments": "the installed vLLM is another version: see --dry-run",
    "invalid choice": "the installed vLLM is another version: see --dry-run",
    "out of memory": "lower --max-model-len, or share the weights among GPUs: --tensor-parallel",
    "larger than the available KV cache memory": "lower --max-model-len",
    "less than desired": "free memory, or take a smaller share of it: "
    "-- --gpu-memory-utilization 0.5",
    "No available memory for the cache blocks": "lower --max-model-len, or free the GPU",
    "ddress already in use": "choose another --port",
    "not a valid model identifier": "give a folder, or check the name and the network",
    "contains custom code": "if you trust the authors, name a profile that does (Kimi-VL: "
    "--profile kimi-vl) or one of your own",
    "libtorchcodec": "uninstall torchcodec, torchvision and torchaudio from vLLM's environment",
}


class Server:
    """One vLLM process group.

    Args:
        command: see :func:`harness.engines.vllm.command.command_line`.
        url: base URL that it will serve, with `/v1`.
        log: file that gets its output.
        environment: added to ours.

    Raises:
        BadInput: if the command or the log cannot be opened.
    """

    def __init__(
        self, command: list[str], url: str, log: Path, environment: Mapping[str, str]
    ) -> None:
        self.command, self.url, self.log = command, url, log
        bound = [command[0], "-c", _BOUND_BY_PARENT, str(os.getpid()), *command]
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("ab") as stream:
                stream.write(f"$ {shlex.join(command)}\n".encode())
                stream.flush()
                self._from = stream.tell()
                self._process = subprocess.Popen(
                    bound,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},
                    start_new_session=True,
                )
        except OSError as error:
            raise BadInput(f"cannot start {command[0]!r}: {error}; see --python, --log") from error

    @property
    def pid(self) -> int:
        """Of the process, and of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def healthy(self) -> bool:
        """Whether it takes requests."""
        where = f"{self.url.removesuffix('/v1')}/health"
        try:  # not httpx: making its client takes longer than the question
            with _DIRECT.open(where, timeout=5.0) as answer:
                return answer.status == 200
        except OSError:
            return False

    def wait_ready(self, limit_s: float) -> None:
        """Return once it takes requests.

        Raises:
            Unreachable: if it ends before, or takes too long; the message shows its last lines.
        """
        ends = time.monotonic() + limit_s
        while not self.healthy():
            if not self.alive:
                raise Unreachable(self.last_words("ended while it started"))
            if time.monotonic() > ends:
                self.kill()
                raise Unreachable(self.last_words(f"was not ready after {limit_s:.0f} s"))
            time.sleep(POLL_S)

    def terminate(self) -> None:
        """Tell it to stop taking requests and to end when those under way are answered."""
        if self.alive:
            self._process.send_signal(signal.SIGTERM)

    def wait_drained(self, limit_s: float) -> bool:
        """Wait until it ended by itself, then remove what is left of its group.

        Returns:
            Whether it ended within the limit.
        """
        try:
            self._process.wait(limit_s + _RELEASE_S)
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()
        return True

    def kill(self) -> None:
        """End the whole group at once; nothing if it has ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def last_words(self, what: str) -> str:
        """A message with the last lines of the log, and what to do where they tell."""
        with self.log.open("rb") as stream:
            stream.seek(self._from)
            said = stream.read().decode("utf-8", "replace")
        hints = [hint for sign, hint in _HINTS.items() if sign in said]
        told = [line for line in said.splitlines() if line.strip() and not _LEAKED.search(line)]
        last = told[-LAST_LINES:]
        causes = [line for line in told if _CAUSE.search(line)]
        if causes and causes[-1] not in last:
            last.insert(0, causes[-1])
        lines = [f"  {line[:300]}" for line in last]
        code = self._process.poll()
        ended = "" if code is None else f" (exit code {code})"
        advice = f"\n{hints[0]}" if hints else ""
        return (
            "\n".join([f"the server at {self.url} {what}{ended}; all of it: {self.log}", *lines])
            + advice
        )

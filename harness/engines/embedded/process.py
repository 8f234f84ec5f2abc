"""The engine process: llama.cpp's own server (`xllamacpp`) around one GGUF file, on loopback.

`python -m harness.engines.embedded.process FILE STEM LAUNCH` is started by :mod:`.shared`, once
for a file and its settings on a machine. It holds a lock for as long as it lives, writes its
address and a key where only its user reads them, and ends when nobody has asked anything for a
while.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from harness.core import BadInput, cache_root, write_atomic
from harness.models import HOST

LOOK_S = 0.5
PATIENCE = 10
"""An engine that is not asked ends after this many idle times even if a command still holds it."""
SPEED_TOKENS = 200
"""Tokens after which a measured speed is worth a note."""


@dataclass(frozen=True)
class Launch:
    """Settings of an engine; engines with other settings are other processes.

    Attributes:
        slots: requests that run at one time; others wait.
        context: tokens of prompt and answer that each of them may have.
        threads: 0 takes one for each physical core that the process may use.
        idle_s: seconds without a request after which an engine that no command holds ends.
        mode: `chat`, `embedding` or `rerank`.
        pooling: of an embedding, `mean`, `last` or `cls`; "" is what the file says.
        lora: GGUF file of a LoRA adapter; "" for none.
    """

    slots: int = 4
    context: int = 8192
    threads: int = 0
    idle_s: float = 30.0
    mode: str = "chat"
    pooling: str = ""
    lora: str = ""


@dataclass(frozen=True)
class Files:
    """Files of one engine, in a folder that only its user can read.

    Attributes:
        stem: path without a suffix.
    """

    stem: Path

    @property
    def lock(self) -> Path:
        """Locked by the engine while it lives."""
        return self.stem.with_suffix(".lock")

    @property
    def users(self) -> Path:
        """Locked, shared, by every process that uses the engine; wholly by an engine that ends."""
        return self.stem.with_suffix(".users")

    @property
    def address(self) -> Path:
        """JSON: `url`, `key`, `pid`."""
        return self.stem.with_suffix(".json")

    @property
    def log(self) -> Path:
        """File with the engine's standard output and error."""
        return self.stem.with_suffix(".log")


def main() -> int:
    """Serve until nobody asks."""
    path, stem, launch = Path(sys.argv[1]), Path(sys.argv[2]), Launch(**json.loads(sys.argv[3]))
    files = Files(stem)
    with files.lock.open("w") as lock:
        if not _lock(lock):
            return 0  # another engine was faster
        os.truncate(files.log, 0)
        files.address.unlink(missing_ok=True)
        key = secrets.token_urlsafe(24)
        server = serve(path, launch, key)
        address = {"url": server.listening_address, "key": key, "pid": os.getpid()}
        write_atomic(files.address, json.dumps(address))
        _watch(server, files, launch, speed_file(path))
        files.address.unlink(missing_ok=True)
        sys.stdout.flush()
        os._exit(0)  # the native threads are not waited for: nobody is served any more


def _lock(handle: IO[str]) -> bool:
    """Take the engine's lock, which those who look whether it is held share for a moment."""
    for _ in range(5):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            return True
    return False


def serve(path: Path, launch: Launch, key: str) -> Any:
    """llama.cpp's server around a file, in this process; it listens at once.

    Raises:
        RuntimeError: if the file does not load.
    """
    import xllamacpp  # pyright: ignore[reportMissingTypeStubs]

    library: Any = xllamacpp
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_parallel = launch.slots
    params.n_ctx = launch.slots * launch.context
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = launch.threads or physical_cores()
    params.hostnames, params.port, params.api_keys = [HOST], 0, [key]
    params.endpoint_metrics, params.endpoint_slots, params.ui = True, False, False
    params.cors_origins, params.cors_credentials = "", False
    params.cache_ram_mib = 0  # prefixes are kept in the slots; a second copy would take gigabytes
    params.verbosity = 1
    if launch.lora:
        adapter = library.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = launch.lora, 1.0
        params.lora_adapters = [adapter]
    if launch.mode != "chat":
        params.embedding = True
        params.n_batch = params.n_ubatch = launch.context  # a text is pooled in one piece
        pooling = "rank" if launch.mode == "rerank" else launch.pooling or "unspecified"
        kind = f"LLAMA_POOLING_TYPE_{pooling.upper()}"
        params.pooling_type = getattr(library.llama_pooling_type, kind)
    return library.Server(params)


def physical_cores() -> int:
    """Physical cores that this process may use, from the processor's topology; 1 at least."""
    everything = set(range(os.cpu_count() or 1))
    processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else everything
    cores = set[str]()
    for number in processors:
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        cores.add(siblings.read_text() if siblings.is_file() else str(number))
    return max(1, len(cores))


def speed_file(path: Path) -> Path | None:
    """Return the file with a model's speed: beside it in our cache; none beside a user's file."""
    cache_folder = (cache_root() / "models").resolve()
    return path.with_suffix(".speed.json") if path.parent == cache_folder else None


def _watch(server: Any, files: Files, launch: Launch, speeds: Path | None) -> None:
    """Return when nobody has asked for a while and nobody holds the engine, or for ten times that.

    Nobody can begin to hold it from then on until this process has ended.
    """
    users = files.users.open("w")
    figures, since, noted = dict[str, float](), time.monotonic(), 0.0
    while True:
        time.sleep(LOOK_S)
        latest = read_metrics(server.handle_metrics())
        if latest != figures or latest["requests_processing"] or latest["requests_deferred"]:
            figures, since = latest, time.monotonic()
            continue
        if speeds is not None and figures["tokens_predicted_total"] >= noted + SPEED_TOKENS:
            noted = figures["tokens_predicted_total"]
            with suppress(BadInput):  # a full disk is no reason to end
                _note_speed(figures, speeds)
        idle_s = time.monotonic() - since
        if idle_s < launch.idle_s:
            continue
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if idle_s < PATIENCE * launch.idle_s:
                continue
        return


def read_metrics(text: str) -> dict[str, float]:
    """Figures of llama.cpp's metrics page (Prometheus text), without their prefix."""
    lines = re.findall(r"^llamacpp:(\w+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def _note_speed(figures: dict[str, float], path: Path) -> None:
    """Keep what was measured while serving, for `harness models list`."""
    prompt_s, answer_s = figures["prompt_seconds_total"], figures["tokens_predicted_seconds_total"]
    if prompt_s and answer_s:
        speed = {
            "prompt_tokens_per_s": figures["prompt_tokens_total"] / prompt_s,
            "tokens_per_s": figures["tokens_predicted_total"] / answer_s,
        }
        write_atomic(path, json.dumps(speed))


def arguments(path: Path, files: Files, launch: Launch) -> list[str]:
    """The command line of the engine process."""
    settings = json.dumps(asdict(launch))
    return [sys.executable, "-P", "-m", __name__, str(path), str(files.stem), settings]


if __name__ == "__main__":
    sys.exit(main())

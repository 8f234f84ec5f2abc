"""One vLLM server: its process group, its log, its counters, and the requests that warm it.

The first request compiles and allocates; one with the skill and the tools also leaves their
attention state in the prefix cache, so that no rollout has to compute it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from harness.core import (
    BadInput,
    Unreachable,
    Value,
    canonical_json,
    http_client,
    on_loopback,
    read_json,
)
from harness.engines.vllm.command import ServedTask

POLL_S = 0.25
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
    "set_offset": "on a CPU, no prompt may be read in pieces while others are sampled with a seed: "
    "-- --no-enable-chunked-prefill --max-num-batched-tokens 16384",
    "libtorchcodec": "uninstall torchcodec, torchvision and torchaudio from vLLM's environment",
}
WARMED = 8
"""Beginnings that are warmed; the most frequent of a recording."""
_WARM_LIMIT_S = 600.0
_LINE = re.compile(r"^vllm:([a-z_]+)(?:\{.*\})? ([0-9.eE+-]+)$", re.MULTILINE)
_NAMES = {
    "num_requests_running": "running",
    "num_requests_waiting": "waiting",
    "prompt_tokens_total": "prompt_tokens",
    "generation_tokens_total": "completion_tokens",
    "prefix_cache_queries_total": "cache_queries",
    "prefix_cache_hits_total": "cache_hits",
}


class Server:
    """One vLLM process group.

    Args:
        command: see :func:`harness.engines.vllm.command_line`.
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
        """Number of the process, and of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process.poll() is None

    def healthy(self) -> bool:
        """Return True if it takes requests."""
        where = f"{self.url.removesuffix('/v1')}/health"
        import httpx

        try:  # unverified: what takes time in making a client is certificates, and none are asked
            with http_client(self.url, 5.0, trust_env=False, verify=False) as client:
                return client.get(where).status_code == 200
        except httpx.HTTPError:
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

    def last_words(self, event: str) -> str:
        """A message with the last lines of the log, and what to do about the causes we know."""
        with self.log.open("rb") as stream:
            stream.seek(self._from)
            text = stream.read().decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip() and not _LEAKED.search(line)]
        last = lines[-LAST_LINES:]
        causes = [line for line in lines if _CAUSE.search(line)]
        if causes and causes[-1] not in last:
            last.insert(0, causes[-1])
        code = self._process.poll()
        ended = "" if code is None else f" (exit code {code})"
        message = [f"the server at {self.url} {event}{ended}; its whole log: {self.log}"]
        message += [f"  {line[:300]}" for line in last]
        message += [hint for sign, hint in _HINTS.items() if sign in text][:1]
        return "\n".join(message)


class Figures(Value):
    """Counters of one or more servers since they started.

    Attributes:
        running: requests under way.
        waiting: requests that wait for their turn.
        prompt_tokens: of all requests.
        completion_tokens: of all requests.
        cache_queries: prompt tokens that were looked up in the prefix cache.
        cache_hits: those that were there.
    """

    running: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_queries: int = 0
    cache_hits: int = 0

    @property
    def hit_rate(self) -> float | None:
        """Share of prompt tokens that the prefix cache held; None before the first request."""
        return self.cache_hits / self.cache_queries if self.cache_queries else None

    def __add__(self, figures: Figures) -> Figures:
        added = figures.model_dump()
        return Figures(**{name: count + added[name] for name, count in self.model_dump().items()})

    def __sub__(self, earlier: Figures) -> Figures:
        """Subtract `earlier` figures; requests under way are those of now."""
        before = earlier.model_dump()
        since = {name: count - before[name] for name, count in self.model_dump().items()}
        return Figures(**{**since, "running": self.running, "waiting": self.waiting})


def parse_figures(text: str) -> Figures:
    """Read the text form of Prometheus; engines of one server are added up."""
    counts = dict.fromkeys(_NAMES.values(), 0.0)
    for name, value in _LINE.findall(text):
        if name in _NAMES:
            counts[_NAMES[name]] += float(value)
    return Figures(**{name: int(count) for name, count in counts.items()})


def authorised() -> dict[str, str]:
    """The header that shows a server the key of VLLM_API_KEY; {} without one."""
    key = os.environ.get("VLLM_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


def read_figures(url: str, direct: bool = False) -> Figures:
    """Ask a server.

    Args:
        url: base URL, with `/v1`.
        direct: go past any proxy; one on loopback is always asked so.

    Raises:
        Unreachable: if it does not answer.
    """
    import httpx

    address = f"{url.rstrip('/').removesuffix('/v1')}/metrics"
    proxied = not direct and not on_loopback(url)
    try:
        with http_client(url, 10.0, trust_env=proxied) as client:
            answer = client.get(address, headers=authorised()).raise_for_status()
    except httpx.HTTPError as error:
        raise Unreachable(f"{address} does not answer: {error}; is it a vLLM server?") from error
    return parse_figures(answer.text)


def warm_bodies(source: Path | None) -> list[dict[str, Any]]:
    """The requests that warm a server that generates.

    Args:
        source: a JSON file with `messages` and perhaps `tools`, or recorded calls (`calls.sqlite`
            of a run, or an export), whose most frequent instructions and tools are taken; None
            for a plain word.

    Raises:
        BadInput: if it is neither.
    """
    from harness.models import open_recording

    hello = {"role": "user", "content": "Hello"}
    if source is None:
        return [{"messages": [hello]}]
    if source.suffix == ".json":
        body = read_json(source)
        if isinstance(body, dict) and isinstance(body.get("messages"), list):  # pyright: ignore[reportUnknownMemberType]  # of JSON
            return [cast("dict[str, Any]", body)]
        raise BadInput(f"{str(source)!r}: expected a request with messages, found {body!r:.80}")
    beginnings: Counter[str] = Counter()
    for call in open_recording(source / "calls.sqlite" if source.is_dir() else source):
        shared = ("tools", "tool_choice", "chat_template_kwargs")
        beginning = {name: call.body[name] for name in shared if name in call.body}
        instructions = [m for m in call.body["messages"] if m["role"] in ("system", "developer")]
        beginnings[canonical_json({**beginning, "messages": [*instructions, hello]})] += 1
    frequent = [json.loads(text) for text, _ in beginnings.most_common(WARMED)]
    return frequent or [{"messages": [hello]}]


def warm(url: str, name: str, task: ServedTask, bodies: list[dict[str, Any]]) -> None:
    """Send the requests to one server and wait for the answers.

    Args:
        url: base URL.
        name: of the model.
        task: of the server; only one that generates is sent `bodies`.
        bodies: see :func:`warm_bodies`.

    Raises:
        Unreachable: if the server does not answer them.
    """
    import httpx

    path, requests = "chat/completions", bodies
    if task == "embed":
        path, requests = "embeddings", [{"input": ["Hello"]}]
    elif task == "rerank":
        path, requests = "rerank", [{"query": "Hello", "documents": ["Hello"]}]
    address = f"{url}/{path}"
    with http_client(url, _WARM_LIMIT_S, trust_env=False, headers=authorised()) as client:
        for request in requests:
            body = {**request, "model": name}
            if task == "generate":
                body |= {"max_tokens": 1, "stream": False}
            try:
                reply = client.post(address, json=body)
            except httpx.HTTPError as error:
                raise Unreachable(f"{address} did not answer the warm-up: {error}") from error
            if reply.status_code != 200:
                raise Unreachable(
                    f"{address} refused the warm-up (HTTP {reply.status_code}): "
                    f"{reply.text[:300]!r}"
                )

"""A fork server: a template process that has imported libraries, and a forked process for a call.

The template never runs a user's file. It imports the installed modules that earlier calls have
needed, so that a call costs a fork and the user's own file, which every process reads anew: no
global, client or environment of one call reaches the next. Each call has a guard, the parent of its
process, that outlives it: it passes on the result, and kills whatever the call has left, in any
session, as soon as the call ends or nobody waits for it any more.

A library that cannot be forked (it has started threads, or opened sockets, an event loop or a GPU
when it was imported) is noticed; from then on every process imports its libraries itself, and a
warning says why.

python -P -m harness.sandbox.forking DESCRIPTOR MODULE:FUNCTION    the template
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import operator
import os
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NoReturn

from harness.core import last_words

_log = logging.getLogger(__name__)
_SUBREAPER, _PDEATHSIG = 36, 1  # linux/prctl.h
_STANDARD = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib"))
_PATCHING = frozenset({"gevent", "eventlet"})
"""They replace the sockets and threads of libraries that are imported after them."""
_UNSAFE = ("/dev/nvidia", "socket:", "anon_inode:[eventpoll]", "anon_inode:[io_uring]")
"""Open files that two processes must not share: GPUs, connections, event loops."""
_NAMES = 500
"""Modules in one message: it has to fit into one datagram."""
_TAIL = 1 << 14
"""Bytes of a call's standard output and error that are kept, for messages."""
_MOST_BYTES = 1 << 26
"""Of an answer."""
_POLL_S = 0.05
"""Where the kernel cannot wait for a process and a pipe at one time."""
_MOST_FILES = 1 << 12
_PREPARED = set[str | None]()
_CONTEXTS = 4  # a client of OpenAI has one, one of LangChain two
Function = Callable[[dict[str, Any]], dict[str, Any]]


class ForkServer:
    """Forks a process for each call of a function.

    Args:
        function: `module:name`, called with a JSON object; it gives one. In every process anew.
        environment: variables of the template, beside those of this process.
    """

    def __init__(self, function: str, environment: Mapping[str, str]) -> None:
        self._function, self._environment = function, dict(environment)
        self._lock = threading.Lock()
        self._imported = set[str]()
        self._can_import = True
        self._start()

    def connect(self) -> socket.socket:
        """Open a connection for one call, to which :func:`encode_call` is written.

        It holds what :func:`read_result` reads when the call has ended, with all that it started.
        Shutting down or closing our side kills them.
        """
        local, remote = socket.socketpair()
        with self._lock, remote:
            with suppress(BlockingIOError):
                if reason := self._control.recv(1 << 12, socket.MSG_DONTWAIT).decode():
                    self._can_import = False
                    _log.warning("every attempt imports its libraries anew: %s", reason)
            try:
                socket.send_fds(self._control, [b"{}"], [remote.fileno()])
            except OSError:  # the template was killed
                self._end()
                self._start()
                socket.send_fds(self._control, [b"{}"], [remote.fileno()])
        return local

    def learn(self, result: Mapping[str, Any]) -> None:
        """Import the installed modules that a call has needed, for the calls after it."""
        names: list[str] = result.get("modules", [])
        with self._lock:
            fresh = [name for name in names if name not in self._imported]
            if not fresh or not self._can_import:
                return
            self._imported.update(fresh)
            with suppress(OSError):  # a template that has ended is replaced by the next call
                for start in range(0, len(fresh), _NAMES):
                    block = {"modules": fresh[start : start + _NAMES]}
                    block["environment"] = result.get("environment", {})
                    self._control.send(json.dumps(block).encode())

    def _start(self) -> None:
        self._imported.clear()
        self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with control:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(control.fileno()), self._function],
                env={**os.environ, **self._environment}, pass_fds=(control.fileno(),),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process, which ends the template
            )  # fmt: skip
        self._end = weakref.finalize(self, _end_template, process, self._control)


def _end_template(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    process.kill()
    process.wait()


def encode_call(request: Mapping[str, Any], environment: Mapping[str, str]) -> bytes:
    """A call as a line: the JSON object for the function, and variables of its process."""
    return json.dumps([request, environment]).encode() + b"\n"


def read_result(message: bytes) -> dict[str, Any]:
    """The outcome of a call: what its function gave, or `error` with `exit_code`.

    Args:
        message: everything that the connection held.
    """
    try:
        result: dict[str, Any] = json.loads(message)
    except ValueError:  # the guard was killed
        return {"error": "its process was killed", "exit_code": -9}
    tail, code = last_words(result["tail"]), result["exit_code"]
    with suppress(ValueError):
        return json.loads(result["result"])
    if code == 0:  # it was ended from inside (`os._exit`)
        words = f"its process ended without an answer (exit code 0) {tail}"
        return {"error": words.strip(), "exit_code": 0}
    return {"error": tail or "it printed no reason", "exit_code": code}


def _serve(control: socket.socket, function: Function) -> None:
    """Fork and import, as the other side asks, until it has gone."""
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1 << 18, 1)
        if not message:
            return
        if not descriptors:
            block, bare = json.loads(message), len(sys.argv) > 3
            os.environ.update(block["environment"])
            if not bare and (reason := _import(block["modules"])):
                control.send(reason.encode())
                descriptor = control.fileno()
                os.set_inheritable(descriptor, True)
                os.closerange(3, descriptor)
                os.closerange(descriptor + 1, _MOST_FILES)
                os.execv(sys.executable, [*sys.orig_argv, "bare"])  # this program anew
            continue
        with socket.socket(fileno=descriptors[0]) as connection:
            if os.fork() == 0:
                control.close()
                with suppress(BaseException):
                    _guard(connection, function)
                os._exit(0)


def _reap(*_: object) -> None:
    """Take the exit codes of the guards that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _import(names: Iterable[str]) -> str:
    """Import modules; return why this process cannot be forked any more, or ""."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a library may wait for a process of its own
    for name in names:
        with suppress(BaseException):  # what does not import here fails where it is needed
            import_module(name)
    signal.signal(signal.SIGCHLD, _reap)
    _reap()
    _prepare_contexts()
    with suppress(Exception):  # calls only take longer
        _remember_signatures()
        _rehearse()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the libraries
    if patching := _PATCHING & sys.modules.keys():
        return f"{min(patching)} replaces parts of other libraries"
    if threading.active_count() > 1:
        thread = next(
            running for running in threading.enumerate() if running is not threading.main_thread()
        )
        return f"a library has started the thread {thread.name!r} when it was imported"
    if (tasks := Path("/proc/self/task")).is_dir():
        native = len(list(tasks.iterdir())) - 1
        if native and native > _blas_threads():
            return f"a library has started {native} threads when it was imported"
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                target, is_ours = str(descriptor.readlink()), descriptor.name == sys.argv[1]
                if not is_ours and target.startswith(_UNSAFE):
                    return f"a library holds {target} open since it was imported"
    return ""


def _prepare_contexts() -> None:
    """Make TLS contexts in advance: reading all certificates takes longer than a fork."""
    import ssl

    certifi, httpcore2 = (sys.modules.get(name) for name in ("certifi", "httpcore2"))
    files = {os.environ.get("SSL_CERT_FILE"), certifi.where() if certifi else None}
    for file in filter(None, files - _PREPARED):
        _PREPARED.add(file)
        _make_in_advance(ssl, "create_default_context", cafile=file)
    if httpcore2 is not None and "httpcore2" not in _PREPARED:
        _PREPARED.add("httpcore2")
        _make_in_advance(httpcore2, "default_ssl_context", _trust_env=True)


def _make_in_advance(module: Any, name: str, **options: Any) -> None:
    """Let a function give results that were made before; each once, as new as one made then."""
    make = getattr(module, name)
    ready = [make(**options) for _ in range(_CONTEXTS)]

    def made(*arguments: Any, **keywords: Any) -> Any:
        usual = ready and not arguments and keywords == options
        return ready.pop() if usual else make(*arguments, **keywords)

    setattr(module, name, made)


def _remember_signatures() -> None:
    """Read the signature of a reducer of LangGraph once.

    That of a function in C is read with a copy of the table of modules, which counts a reference to
    each of them: in a forked process 1,000 pages are copied, a tenth of what an attempt takes.
    """
    inspect: Any = import_module("inspect")
    if "langgraph" in sys.modules and "inspect" not in _PREPARED:
        _PREPARED.add("inspect")
        inspect._signature_fromstr = cache(inspect._signature_fromstr)
        inspect.signature(operator.add)


def _rehearse() -> None:
    """Ask a client of OpenAI something that a function here answers.

    It builds its schemas with its first request and reply, longer than all else that a call takes.
    """
    openai: Any = sys.modules.get("openai")
    if openai is None or "openai" in _PREPARED:
        return
    _PREPARED.add("openai")
    http: Any = import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
    function = {"name": "f", "arguments": "{}", "parameters": {"type": "object"}}
    call = {"id": "c", "type": "function", "function": function}
    message = {"role": "assistant", "content": "a", "tool_calls": [call]}
    result = {"role": "tool", "content": "r", "tool_call_id": "c"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    reply = {
        "id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice],
        "usage": usage,
    }  # fmt: skip

    def answer(_: object) -> Any:
        return http.Response(200, json=reply)

    transport = http.MockTransport(answer)
    with openai.DefaultHttpxClient(transport=transport) as client:
        messages = [{"role": role, "content": "q"} for role in ("system", "user")]
        openai.OpenAI(
            api_key="k", base_url="http://127.0.0.1:9/v1", http_client=client
        ).chat.completions.create(model="m", messages=[*messages, message, result], tools=[call])


def _blas_threads() -> int:
    """Threads of OpenBLAS, which ends them before a fork and starts them after it."""
    try:
        from threadpoolctl import threadpool_info  # pyright: ignore
    except ImportError:
        return 0
    pools: Any = threadpool_info()  # pyright: ignore[reportUnknownVariableType]
    return sum(pool["num_threads"] - 1 for pool in pools if pool["internal_api"] == "openblas")


def _guard(connection: socket.socket, function: Function) -> None:
    """Run one call in a process below this one, and leave nothing of it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection.makefile("rb") as lines:
        line = lines.readline()
    if not line.endswith(b"\n"):
        return
    linux = sys.platform == "linux"
    if linux:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    (answers, answering), (words, talking) = os.pipe(), os.pipe()
    leader = os.fork()
    if leader == 0:
        connection.close()
        os.close(answers)
        os.close(words)
        request, environment = json.loads(line)
        _lead(request, environment, function, answering, talking, linux=linux)
    os.close(answering)
    os.close(talking)
    texts = {answers: bytearray(), words: bytearray()}
    reading, poll_s = {connection.fileno(), *texts}, _POLL_S
    with suppress(AttributeError, OSError):
        reading.add(os.pidfd_open(leader))
        poll_s = None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT  # its number is its own until its group is killed
    while os.waitid(os.P_PID, leader, flags) is None:
        ready = select.select(reading, [], [], poll_s)[0]
        if connection.fileno() in ready:  # nothing is ever sent: nobody waits for it any more
            break
        reading -= {pipe for pipe in texts if pipe in ready and not _read(pipe, texts)}
    status = _end_children(leader)
    for pipe in texts:
        while _read(pipe, texts):
            pass
    del texts[words][:-_TAIL]
    decoded = [text.decode(errors="replace") for text in texts.values()]
    result = {"exit_code": status, "result": decoded[0], "tail": decoded[1]}
    connection.sendall(json.dumps(result).encode())


def _read(pipe: int, texts: dict[int, bytearray]) -> bool:
    """Add what a pipe holds to its text; False at its end."""
    block = os.read(pipe, 1 << 16)
    texts[pipe] += block
    if len(texts[pipe]) > _MOST_BYTES:
        del texts[pipe][:-_TAIL]
    return bool(block)


def _end_children(leader: int) -> int:
    """Kill every process below this one, and those that they leave to it; return the exit code."""
    children, code = Path(f"/proc/self/task/{os.getpid()}/children"), 0
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            with suppress(FileNotFoundError, ProcessLookupError):  # without /proc: its group
                for child in children.read_text("ascii").split():
                    os.kill(int(child), signal.SIGKILL)
            pid, status = os.wait()
            code = os.waitstatus_to_exitcode(status) if pid == leader else code
    return code


def _lead(
    request: dict[str, Any], environment: dict[str, str], function: Function,
    answering: int, talking: int, *, linux: bool,
) -> NoReturn:  # fmt: skip
    """Make the call in this process, which ends with it."""
    os.setpgid(0, 0)
    if linux:
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.dup2(talking, 1)
    os.dup2(talking, 2)
    os.close(talking)
    for name in ("numpy.random", "torch"):  # Python's own generator does it by itself
        if name in sys.modules:
            sys.modules[name].seed()
    before = set(sys.modules)
    os.environ.update(environment)
    result = function(request)
    result["modules"] = [name for name in sys.modules if name not in before and _installed(name)]
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    with os.fdopen(answering, "wb") as pipe:
        pipe.write(json.dumps(result).encode())
    os._exit(0)  # whatever threads it has left


def _installed(name: str) -> bool:
    """Whether a module is one of the standard library, of an installed package, or of ours."""
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    is_harness = name.partition(".")[0] == "harness"
    return is_harness or file.startswith(_STANDARD) or "-packages" in file


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as control_of_template:
        _serve(control_of_template, resolve_name(sys.argv[2]))

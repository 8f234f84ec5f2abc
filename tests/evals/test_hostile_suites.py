"""Files that a stranger's suite names lie in its folder; nothing else of the host is read."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Task, digest_tree
from harness.evals import load_suite
from harness.evals.plan import sample_parts

CHECK = {"prompt": "p", "answer": "a", "check": "em"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A suite's folder, with a secret beside it and links to it inside."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "id_key").write_text("SECRET")
    folder = tmp_path / "suite"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.csv").write_text("1")
    (folder / "link").symlink_to(tmp_path / "secret" / "id_key")
    (folder / "folder").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to("loop")
    return folder


def suite_of(folder: Path, row: dict[str, Any], tasks: str = "tasks.jsonl") -> str:
    (folder / tasks).write_text(json.dumps({"id": "t", **CHECK, **row}) + "\n")
    (folder / "suite.yaml").write_text(f"name: s\ntasks: {tasks}\n")
    return str(folder)


FAR = ("/etc/passwd", "../secret/id_key", "data/../../secret/id_key", "link", "folder/id_key")


@pytest.mark.parametrize("path", FAR)
@pytest.mark.parametrize(
    "row",
    [
        {"files": {"a.txt": "PATH"}},
        {"files": ["data/a.csv", "PATH"]},
        {"answer": "PATH", "check": "spreadsheet"},
        {"answer": ["data/a.csv", "PATH"], "check": "spreadsheet"},
        {"meta": {"variants": [{"answer": "a", "files": {"input.xlsx": "PATH"}}]}},
        {"meta": {"variants": [{"answer": "a", "files": ["PATH"]}, 5, {"files": 5}]}},
        {
            "meta": {"variants": [{"answer": "PATH"}]},
            "answer": "data/a.csv",
            "check": "spreadsheet",
        },
    ],
)
def test_a_file_of_the_host_is_refused_unless_the_suite_is_trusted(
    folder: Path, path: str, row: dict[str, Any]
) -> None:
    reference = suite_of(folder, json.loads(json.dumps(row).replace("PATH", path)))
    with pytest.raises(BadInput, match=r"task 't': expected its files below .* or --trust"):
        load_suite(reference)
    assert load_suite(reference, trusted=True).tasks[0].id == "t"


def test_files_of_the_suite_are_its_own_however_they_are_named(folder: Path) -> None:
    (folder / "near").symlink_to("data/a.csv")
    files = {
        "1": "data/a.csv",
        "2": str(folder / "data" / "a.csv"),
        "3": "near",
        "4": "data/../near",
    }
    loaded = load_suite(suite_of(folder, {"files": files}))
    assert loaded.files == tuple(sorted(files.values()))
    assert load_suite(suite_of(folder, {"files": {"x": "no-such"}})).files == ()


@pytest.mark.parametrize("tasks", ["../secret/tasks.jsonl", "folder/tasks.jsonl"])
def test_the_task_file_lies_in_the_folder_too(folder: Path, tasks: str) -> None:
    reference = suite_of(folder, {}, tasks)
    with pytest.raises(BadInput, match="expected its files below"):
        load_suite(reference)
    assert len(load_suite(reference, trusted=True).tasks) == 1


def test_a_suite_in_the_home_folder_names_no_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    reference = suite_of(folder, {"files": ["data/a.csv"]})
    with pytest.raises(BadInput, match="expected a folder of its own"):
        load_suite(reference)
    assert load_suite(reference, trusted=True).files == ("data/a.csv",)
    assert load_suite(suite_of(folder, {})).files == ()


@pytest.mark.parametrize("answer", ["/etc/passwd", "../secret/id_key", "link", "loop", "n" * 300])
def test_an_answer_that_reads_as_a_path_is_no_file(folder: Path, answer: str) -> None:
    loaded = load_suite(suite_of(folder, {"answer": answer}))
    assert loaded.files == ()
    assert len(loaded.digest) == 64


def test_folders_and_devices_are_no_gold(folder: Path) -> None:
    """Reading either may never end."""
    os.mkfifo(folder / "pipe")
    parts = [
        sample_parts(Task(id="t", prompt="p", answer=answer), folder) for answer in ("/", "pipe")
    ]
    assert parts[0].files == parts[1].files


def test_the_digest_of_a_folder_passes_over_links_out_of_it(folder: Path) -> None:
    before = digest_tree(folder)
    (folder.parent / "secret" / "id_key").write_text("ANOTHER")
    assert digest_tree(folder) == before
    (folder / "near").symlink_to("data/a.csv")
    assert digest_tree(folder) != before


def test_a_corpus_is_no_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(folder / "cache"))
    (folder / "suite.yaml").write_text("name: s\ncorpus: ../../planted\n")
    with pytest.raises(BadInput, match="no corpus"):
        load_suite(str(folder))
    assert not list(folder.glob("planted*"))


@pytest.mark.parametrize(
    "text",
    [
        b"name: \xff\n",
        b"name: &n s\ntasks: *n\n",
        b"a: &a [1]\nb: &b [*a, *a]\nc: {<<: *a}\n",
        b"name: " + b"[" * 5000,
        b"name: !!timestamp x\n",
        b"name: !!bool x\n",
        b"name: " + b"1" * 5000 + b"\n",
        b"name: s\n" + b"# long\n" * 40_000,
        b"\x00",
        b"- a\n",
        b"name: s\nsampling: {temperature: 1e999}\n",
        b"name: s\nsampling: {extra: {a: .inf}}\n",
    ],
)
def test_a_suite_that_is_no_plain_yaml_is_named(folder: Path, text: bytes) -> None:
    (folder / "suite.yaml").write_bytes(text)
    with pytest.raises(BadInput, match=r"suite\.yaml"):
        load_suite(str(folder))


def test_a_task_file_of_no_possible_name_is_named(folder: Path) -> None:
    (folder / "suite.yaml").write_text(f"name: s\ntasks: {'a' * 5000}\n")
    with pytest.raises(BadInput, match="File name too long"):
        load_suite(str(folder))


def test_aliases_cost_no_memory(folder: Path) -> None:
    rows = [f"k{n}: &k{n} [{f'*k{n - 1}, ' * 9}]" for n in range(1, 12)]
    (folder / "suite.yaml").write_text("\n".join(["k0: &k0 [lol]", *rows]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadInput, match="alias"):
        load_suite(str(folder))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000

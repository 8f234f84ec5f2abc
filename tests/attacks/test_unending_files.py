"""Files that never end in what a stranger sends: pipes, devices, sparse files, wrong types."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from harness.core import BadInput, open_foreign
from harness.rag.retrieve.parse import parse_file
from tests.attacks.running import command, in_time, suite_of

FLOW = """
from langgraph.graph import START, MessagesState, StateGraph

graph = StateGraph(MessagesState).add_node("a", lambda _: {}).add_edge(START, "a")
"""
TASK = {"id": "t", "prompt": "p", "answer": "ok"}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


MAKERS: dict[str, Callable[[Path], None]] = {
    "pipe": pipe,
    "device": device,
    "sparse": sparse,
    "folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_reader(kind: str, tmp_path: Path) -> None:
    """One reader of files from elsewhere is given a pipe, a device, or a tebibyte of nothing."""
    MAKERS[kind](tmp_path / "file")
    with pytest.raises(BadInput, match="expected an ordinary file"):
        open_foreign(tmp_path / "file")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, replies, a run, its store, and an index."""
    folder = tmp_path_factory.mktemp("made")
    suite = suite_of(folder / "suite", [TASK])
    (folder / "replies.json").write_text('[{"text": "ok"}]')
    (folder / "documents").mkdir()
    (folder / "documents" / "a.md").write_text("The pump was replaced in 2019.\n")
    for words in (
        ("eval", suite, "--out", folder / "run", "--sandbox", "none",
         "--model", f"scripted/{folder}/replies.json"),
        ("trajectories", "import", folder / "run", "--out", folder / "store"),
        ("index", "build", folder / "documents", "--out", folder / "index", "--encoder", "lexical"),
    ):  # fmt: skip
        done = in_time(*words)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run"


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", ["run.json", "items.seg"])
def test_run_folder(kind: str, name: str, run: Path, tmp_path: Path) -> None:
    """A run from elsewhere has such a file in place of one of its own: compared, and taken over."""
    (run / name).unlink()
    MAKERS[kind](run / name)
    suite = f"scripted/{tmp_path}/replies.json"
    for words in (
        ("compare", run, run),
        ("eval", tmp_path / "suite", "--from", run, "--out", tmp_path / "again", "--model", suite,
         "--sandbox", "none"),
    ):  # fmt: skip
        done = in_time(*words)
        assert done.returncode in (0, 2), done.stderr
        assert "fault of ours" not in done.stderr


@pytest.mark.parametrize("kind", MAKERS)
def test_skill(kind: str, run: Path, tmp_path: Path) -> None:
    """A skill has such a file among its references: it is evaluated."""
    skill = tmp_path / "s"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: s\ndescription: Short answers.\n---\n# S\n")
    MAKERS[kind](skill / "references" / "a.md")
    done = in_time("eval", tmp_path / "suite", "--skill", skill, "--out", tmp_path / "again",
                   "--model", f"scripted/{tmp_path}/replies.json", "--sandbox", "none")  # fmt: skip
    assert done.returncode == (2 if kind == "sparse" else 0), done.stderr


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", ["log.jsonl", "log.json", "log.md", "log.eval"])
def test_trajectories(kind: str, name: str, tmp_path: Path) -> None:
    """A folder of trajectories to import has such a file in it, or is one."""
    (tmp_path / "in").mkdir()
    MAKERS[kind](tmp_path / "in" / name)
    for source in (tmp_path / "in", tmp_path / "in" / name):
        done = in_time("trajectories", "import", source, "--out", tmp_path / f"out-{source.name}")
        assert done.returncode == 2, (done.returncode, done.stderr)


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


@pytest.mark.parametrize("kind", {**MAKERS, "nested": nested})
def test_stores(kind: str, run: Path, tmp_path: Path) -> None:
    """A store and an index from elsewhere have such a file, which says what they hold."""
    store, index = run.with_name("store"), run.with_name("index")
    for file in (store / "index.jsonl", index / "manifest.json"):
        file.unlink()
        {**MAKERS, "nested": nested}[kind](file)
    done = in_time("trajectories", "show", store, "t")
    assert done.returncode in (0, 2), done.stderr
    assert in_time("index", "search", "pump", "--index", index).returncode == 2


@pytest.mark.parametrize("kind", MAKERS)
def test_archive(kind: str, tmp_path: Path) -> None:
    """A skill is installed from such a file."""
    MAKERS[kind](tmp_path / "skill.zip")
    done = in_time("skill", "install", tmp_path / "skill.zip", cwd=tmp_path)
    assert done.returncode == 2, done.stderr


def test_line_without_end(tmp_path: Path) -> None:
    """A line of a file of tasks is longer than any task."""
    sparse(tmp_path / "tasks.jsonl")
    done = in_time("eval", tmp_path / "tasks.jsonl", "--dry-run", "--model", "openai/m")
    assert done.returncode == 2, done.stderr
    assert "fault of ours" not in done.stderr


def test_names_that_are_no_text(run: Path, tmp_path: Path) -> None:
    """The folders of a suite, a skill, documents and a run have names that are not UTF-8."""
    name = os.fsdecode(b"name\xff")
    suite = suite_of(tmp_path / name, [TASK])
    skill, documents = tmp_path / "skill", tmp_path / "documents"
    for folder, file in ((skill, "SKILL.md"), (skill, name), (documents, f"{name}.md")):
        folder.mkdir(exist_ok=True)
        (folder / file).write_text(
            "---\nname: skill\ndescription: Use it.\n---\n# Heading\n\ntext\n"
        )
    model = ("--model", f"scripted/{tmp_path}/replies.json", "--sandbox", "none")
    for words in (
        ("eval", suite, "--out", tmp_path / f"{name}-run", "--skill", skill, *model),
        ("compare", tmp_path / f"{name}-run", tmp_path / f"{name}-run", "--json"),
        ("compress", documents, "--query", "text"),
    ):
        done = command(*words)
        assert done.returncode == 0, (words[:2], done.stderr)
    assert len(parse_file(documents / f"{name}.md")[0].digest) == 64
    refused = command("eval", suite.with_name(f"{name}-none"), *model)
    assert refused.returncode == 2 and "no suite" in refused.stderr


def test_damaged_files_that_are_typed(run: Path, tmp_path: Path) -> None:
    """A table of tasks of random bytes; replies, and an input of a graph, nested without end."""
    (tmp_path / "a.parquet").write_bytes(bytes(range(256)))
    nested(tmp_path / "deep.json")
    (tmp_path / "flow.py").write_text(FLOW)
    for words in (
        ("eval", tmp_path / "a.parquet", "--model", "none", "--dry-run"),
        ("eval", tmp_path / "suite", "--model", f"scripted/{tmp_path}/deep.json"),
        ("debug", f"{tmp_path}/flow.py:graph", "--input", "[" * 50_000),
    ):
        done = in_time(*words, cwd=tmp_path)
        assert done.returncode == 2, (words[:2], done.stderr)
        assert "damaged" in done.stderr or "nested too deeply" in done.stderr


def test_a_checkpoint_that_names_a_type_to_unpickle(tmp_path: Path) -> None:
    """A checkpoint of the debugger's says that it is to be unpickled, which would run code."""
    (tmp_path / "flow.py").write_text(FLOW)
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as db, db:
        db.execute("CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id,"
                   " parent_checkpoint_id, type, checkpoint, metadata)")  # fmt: skip
        db.execute("CREATE TABLE writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx,"
                   " channel, type, value)")  # fmt: skip
        row = ("1", "", "1ef0", None, "pickle", b"cos\nsystem\n(S'touch ran'\ntR.", b"{}")
        db.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    done = in_time("debug", "flow.py:graph", "--checkpoints", "c.sqlite", "--thread", "1",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 2 and "checkpoint 1ef0" in done.stderr, done.stderr
    assert not (tmp_path / "ran").exists()

"""Links in a folder of documents: a stranger's archive may have them, and they lead anywhere."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.rag.retrieve import parse_paths
from harness.synth.documents import Library
from tests.attacks.running import in_time

COMMANDS: dict[str, list[str]] = {
    "index": ["index", "build", "docs", "--encoder", "lexical", "--index", "out", "--json"],
    "ask": ["ask", "What is the password of the vault?", "docs", "--extract"],
    "check": ["check", "--answer", "answer.txt", "--documents", "docs", "--verifier", "rules"],
    "compress": ["compress", "--query", "password", "docs", "--critic", "lexical"],
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of documents with links, to a file of the user and to a folder above."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "a.txt").write_text("The pump was replaced in 2019.")
    (tmp_path / "private.txt").write_text("The password of the vault is 4711.")
    (tmp_path / "answer.txt").write_text("The password of the vault is 4711.")
    (tmp_path / "docs" / "b.txt").symlink_to(tmp_path / "private.txt")
    (tmp_path / "docs" / "sub" / "c.txt").symlink_to("../../private.txt")
    (tmp_path / "docs" / "up").symlink_to("..")
    return tmp_path


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", COMMANDS)
def test_links(name: str) -> None:
    """A folder of documents to index, ask, check or compress has links to a file of the user."""
    passed = in_time(*COMMANDS[name])
    assert "2 links to files were passed over; --follow-links reads them" in passed.stderr
    assert ("4711" in passed.stdout) == (name == "check")  # what it says is not supported
    assert passed.returncode == (5 if name == "check" else 0)
    followed = in_time(*COMMANDS[name], "--follow-links")
    assert followed.returncode == 0 and "passed over" not in followed.stderr
    assert ("4711" if name in ("ask", "compress") else "") in followed.stdout


def test_a_typed_link_is_read(home: Path) -> None:
    """What the user names is read, and a folder of links alone is said to be that."""
    (document,) = parse_paths([home / "docs" / "b.txt"]).documents
    assert "4711" in document.text
    (home / "only").mkdir()
    (home / "only" / "b.txt").symlink_to(home / "private.txt")
    with pytest.raises(BadInput, match="1 link to a file was passed over"):
        parse_paths([home / "only"])


def test_tasks_are_not_made_of_links(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder of documents that tasks are made of has links to a file of the user."""
    with caplog.at_level(logging.WARNING):
        library = Library.read(home / "docs", home / "work")
    assert list(library.sources) == ["a.txt"] and "2 links" in caplog.text

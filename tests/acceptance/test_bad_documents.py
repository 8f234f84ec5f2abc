"""Documents and options that cannot be used, through every command that reads documents.

One table of bad files and one of bad options, each through `index build`, `index add`, `ask` and
`compress`: the exit code, a message that names the file, no traceback, and an index that is as it
was. Kills during build and add are in `tests/rag/retrieve/test_kill.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.cli import main
from harness.rag.retrieve import create_index, open_encoder, open_index, parse_paths
from tests.rag.retrieve.parse.test_rich import pdf

GOOD = "The seal of pump P-101 wears out within 14 months. Replace it every year in spring.\n"
ONE_SENTENCE = "The seal of pump P-101 wears out within 14 months."
QUESTION = "When does the seal of pump P-101 wear out?"


class Done(NamedTuple):
    """Result of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line as its entry point has it, exit code included, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))

    def typed(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Done(left.value.code, said.out, said.err)

    return typed


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of one document, by its words."""
    (tmp_path / "good.txt").write_text(GOOD)
    folder = tmp_path / "index"
    create_index(folder, open_encoder("lexical")).add(
        parse_paths([tmp_path / "good.txt"]).documents
    )
    return folder


def command(name: str, file: str, index: Path) -> list[object]:
    """A command that reads a file, without a model and without an encoder."""
    commands: dict[str, list[object]] = {
        "build": ["index", "build", file, "--index", "new", "--encoder", "lexical"],
        "add": ["index", "add", file, "--index", index],
        "ask": ["ask", QUESTION, file, "--arm", "lexical", "--extract"],
        "compress": ["compress", "-q", QUESTION, file, "--budget", "60", "--critic", "lexical"],
    }
    return commands[name]


COMMANDS = ("build", "add", "ask", "compress")
FILES: dict[str, tuple[bytes, str]] = {
    "empty.txt": (b"", "is empty"),
    "blank.md": (b" \n\t\n", "is empty"),
    "program.txt": (b"\x7fELF\x02\x01\x00\x00" * 9, "is a binary file"),
    "photo.png": (b"\x89PNG\r\n\x1a\n\0\0\0\r", "is a binary file"),
    "locked.pdf": (pdf("Secret.", encrypt=True), "is encrypted"),
    "torn.pdf": (b"%PDF-1.7\nnothing else", "damaged pdf"),
    "scan.pdf": (pdf(""), "--ocr"),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_cannot_be_read_is_named(
    name: str, file: str, run: Run, index: Path, tmp_path: Path
) -> None:
    data, words = FILES[file]
    (tmp_path / file).write_bytes(data)
    before = (index / "manifest.json").read_bytes()
    done = run(*command(name, file, index))
    assert done.code == 2, done
    assert file in done.err
    assert words in done.err
    assert done.out == ""
    assert (index / "manifest.json").read_bytes() == before
    assert not (tmp_path / "new" / "manifest.json").exists()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_gigabyte_of_nothing_is_refused_before_it_is_read(
    name: str, run: Run, index: Path, tmp_path: Path
) -> None:
    with (tmp_path / "large.txt").open("wb") as sparse:
        sparse.truncate(1_000_000_000)
    done = run(*command(name, "large.txt", index))
    assert done.code == 2, done
    assert "1,000 MB, the limit is 200 MB" in done.err


@pytest.mark.parametrize("name", ("build", "add", "ask"))
def test_the_encoding_that_was_named_does_not_fit(
    name: str, run: Run, index: Path, tmp_path: Path
) -> None:
    (tmp_path / "latin.txt").write_bytes("Der Kühlkörper ist ölfrei.".encode("latin-1"))
    done = run(*command(name, "latin.txt", index), "--encoding", "utf-8")
    assert done.code == 2, done
    assert "latin.txt" in done.err
    assert "utf-8" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_another_encoding_is_guessed_and_said(
    name: str, run: Run, index: Path, tmp_path: Path
) -> None:
    text = "Der Kühlkörper der Pumpe ist ölfrei und wird im März geprüft. " * 20
    (tmp_path / "latin.txt").write_bytes(text.encode("cp1252"))
    done = run(*command(name, "latin.txt", index))
    assert done.code == 0, done
    assert "latin.txt" in done.err
    assert "encoding" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_one_sentence_is_a_document(name: str, run: Run, index: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(ONE_SENTENCE)
    done = run(*command(name, "one.txt", index))
    assert done.code == 0, done
    if name in ("ask", "compress"):
        assert "14 months" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_is_not_there(name: str, run: Run, index: Path) -> None:
    done = run(*command(name, "nowhere.pdf", index))
    assert done.code == 2, done
    assert "nowhere.pdf" in done.err


def test_without_a_hit_search_and_ask_say_so_and_compress_keeps_the_best(
    run: Run, index: Path
) -> None:
    found = run("index", "search", "zyzzyva", "--index", index, "--arm", "lexical")
    assert (found.code, found.out) == (0, "nothing found\n")
    asked = run("ask", "zyzzyva quux", "good.txt", "--arm", "lexical", "--extract", "--json")
    assert asked.code == 0, asked
    assert json.loads(asked.out)["answered"] is False
    kept = run("compress", "-q", "zyzzyva", "good.txt", "--budget", "20", "--critic", "lexical",
               "--markers", "none")  # fmt: skip
    assert kept.code == 0, kept
    assert kept.out.strip() in GOOD


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compress", "-q", "x", "good.txt", "--budget", "0"), "budget"),
        (("compress", "-q", "seal", "good.txt", "--budget", "2"), "smallest unit needs"),
        (("compress", "-q", "seal", "good.txt", "--ratio", "0"), "ratio"),
        (("ask", "seal?", "good.txt", "--budget", "0", "--extract"), "budget"),
        (("ask", "", "good.txt", "--extract"), "expected a question"),
        (("index", "search", " ", "--index", "index"), "expected a query"),
        (("index", "search", "seal", "--index", "index", "-k", "0"), "k of 1 or more"),
        (("index", "search", "seal", "--index", "gone"), "no index at 'gone'"),
        (("index", "add", "good.txt", "--index", "gone"), "no index at 'gone'"),
        (
            ("index", "build", "good.txt", "--index", "index", "--encoder", "local"),
            "built with the encoder",
        ),
        (("index", "build", "good.txt", "--index", "cache-of-others"), "other files"),
        (("index", "build", "--index", "index"), "expected files or folders"),
        (("index", "delete", "gone.txt", "--index", "index"), "no document 'gone.txt'"),
    ],
)
def test_an_option_that_cannot_be_used_is_exit_2_and_changes_nothing(
    arguments: tuple[str, ...], words: str, run: Run, index: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache-of-others").mkdir()
    (tmp_path / "cache-of-others" / "theirs.txt").write_text("x")
    before = (index / "manifest.json").read_bytes()
    done = run(*arguments)
    assert done.code == 2, done
    assert words in done.err
    assert (index / "manifest.json").read_bytes() == before
    open_index(index).verify()


def test_a_damaged_index_is_refused_by_every_command(run: Run, index: Path) -> None:
    manifest = index / "manifest.json"
    manifest.write_text(manifest.read_text().replace("lexical", "lexicon"))
    for arguments in (
        ("index", "search", "seal", "--index", index),
        ("index", "add", "good.txt", "--index", index),
        ("index", "info", "--index", index),
        ("ask", "seal?", "--index", index, "--extract"),
    ):
        done = run(*arguments)
        assert done.code == 2, (arguments, done)
        assert "checksum" in done.err

"""`harness index` as a user types it, without a sentence encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput

NOTES = {
    "pumps.md": "# Pumps\n\nThe seal of pump P-101 wears out within 14 months. "
    "Replace it every year in the spring maintenance.\n\n# Valves\n\nOpen valves slowly.\n",
    "bank.txt": "The central bank raised its interest rate to 4.25 percent this week. "
    "Inflation had reached six percent before that decision of the council.\n",
    "junk.bin": "\0\1",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["index", *map(str, arguments)])


def answer(*arguments: object) -> Any:
    found = ask(*arguments, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def refused(*arguments: object) -> str:
    found = ask(*arguments)
    assert isinstance(found.exception, BadInput), found.output
    return str(found.exception)


@pytest.fixture
def built(library: Path, tmp_path: Path) -> Path:
    done = answer("build", library, "--index", tmp_path / "index", "--encoder", "lexical")
    assert (done["added"], done["documents"]) == (2, 2)
    assert "junk.bin' is a binary file" in done["notes"][0]
    return tmp_path / "index"


def test_build_again_costs_nothing_and_search_cites(built: Path, library: Path) -> None:
    again = answer("build", library, "--index", built, "--encoder", "lexical")
    assert (again["unchanged"], again["chunks"]) == (2, 0)
    found = answer("search", "when does the seal of P-101 wear out", "--index", built, "-k", 1)
    [hit] = found["hits"]
    text = (library / "pumps.md").read_text()
    assert hit["text"] == text[hit["start"] : hit["end"]]
    assert "14 months" in hit["text"]
    shown = ask("search", "interest rate", "--index", built, "--where", "source~*bank.txt")
    assert "bank.txt [0:" in shown.stdout
    assert "pumps.md" not in shown.stdout
    assert ask("search", "zyzzyva", "--index", built, "--arm", "lexical").stdout == (
        "nothing found\n"
    )


def test_add_delete_and_info(built: Path, library: Path) -> None:
    new = library / "new.csv"
    new.write_text("part,price\nseal,12\n")
    assert answer("add", new, "--index", built)["added"] == 1
    facts = answer("info", "--index", built, "--ids", "--verify")
    assert (facts["documents"], facts["verified"]) == (3, True)
    assert new.as_posix() in facts["ids"]
    assert answer("delete", new.as_posix(), "--index", built)["documents"] == 2
    assert "no document 'gone'" in refused("delete", "gone", "--index", built)


def test_another_encoder_is_refused_and_reindex_puts_other_chunks_behind_it(
    built: Path, library: Path
) -> None:
    message = refused("build", library, "--index", built, "--encoder", "lexical",
                      "--chunk-tokens", 40, "--chunk-overlap", 5)  # fmt: skip
    assert "was chunked with" in message
    done = answer("build", "--reindex", "--index", built, "--encoder", "lexical",
                  "--chunk-tokens", 40, "--chunk-overlap", 5)  # fmt: skip
    assert done["replaced"] == 2
    assert answer("info", "--index", built)["chunking"]["size"] == 40


def test_bad_input_is_named(built: Path, tmp_path: Path) -> None:
    assert "no index at" in refused("search", "x", "--index", tmp_path / "none")
    assert "expected a query" in refused("search", " ", "--index", built)
    assert "expected files or folders" in refused("build", "--index", built)
    assert "overlap < size" in refused("build", tmp_path, "--chunk-tokens", 10)
    assert "year>=2020" in refused("search", "x", "--index", built, "--where", "new")
    assert "unknown reranker" in refused("search", "x", "--index", built, "--rerank", "best")
    assert "found nothing" in refused("build", tmp_path / "none", "--index", built)


def test_questions_and_ablate_without_labels(built: Path, library: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    drafted = answer("questions", library, "--out", cases, "--count", 3)
    assert drafted["cases"] == 3
    assert "favours the lexical arm" in drafted["method"]
    store = tmp_path / "mine.py"
    store.write_text("def nothing(query, k):\n    return []\n")
    done = answer("ablate", "--index", built, "--cases", cases, "--retriever", f"{store}:nothing",
                  "--write", tmp_path / "table.json")  # fmt: skip
    by_name = {arm["arm"]: arm for arm in done["arms"]}
    assert by_name["hybrid"]["recall"] == 1
    assert by_name[f"{store}:nothing"]["recall"] == 0
    assert json.loads((tmp_path / "table.json").read_text()) == done
    text = ask("ablate", "--index", built, "--cases", cases).stdout
    assert "recall@10" in text
    assert "lift against lexical" in text

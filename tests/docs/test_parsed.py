"""Every command that the documentation shows exists, with its options and values."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.core import assets
from tests.docs.commands import Line, help_lines, page_lines, parse, without_variables

PAGES = [
    *(assets.root() / folder / "README.md" for folder in ("", "examples")),
    *sorted((assets.root() / "docs").rglob("*.md")),
]
LINES = [
    *(line for page in PAGES if page.name != "commands.md" for line in page_lines(page)),
    *help_lines(),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.place}: {line.text}")
def test_a_command_that_is_shown_exists(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "last").mkdir(parents=True)
    for words in map(without_variables, line.commands):
        if words[0] == "harness":
            parse(words[1:])
        elif words[:2] == ["python", "-m"] and words[2].startswith(("harness", "benchmarks")):
            assert find_spec(words[2]) is not None


def test_lines_are_found() -> None:
    assert len(LINES) > 200
    assert len({line.place for line in LINES}) > 80

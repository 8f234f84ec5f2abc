"""docs/architecture.md: links lead to files, the walk opens at most twelve; names of benchmarks."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def test_the_walk_opens_at_most_twelve_files(repository: Path) -> None:
    page = (repository / "docs" / "architecture.md").read_text("utf-8")
    links = re.findall(r"\]\(\.\./([^)]+)\)", page)
    assert [link for link in links if not (repository / link).is_file()] == []
    walk = re.findall(r"^\| \d+ \|.*\]\(\.\./([^)]+)\)", page, re.MULTILINE)
    assert 8 <= len(walk) <= 12


def test_functions_named_in_the_walk_are_in_the_file_that_it_links(repository: Path) -> None:
    page = (repository / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \|[^|]*\(`([\w.]+)`[;)].*\]\(\.\./([^)]+)\)", page, re.MULTILINE)
    assert len(rows) >= 8
    for name, file in rows:
        owner, _, function = name.rpartition(".")
        source = (repository / file).read_text("utf-8")
        assert re.search(rf"(def|class) {function}\b", source), (name, file)
        assert not owner or f"class {owner}" in source, (name, file)


def test_no_benchmark_hides_a_module_of_the_standard_library(repository: Path) -> None:
    """Some run as a script in another tool's environment, with their folder first on the path."""
    names = {path.stem for path in (repository / "benchmarks").rglob("*.py")} - {"__init__"}
    assert sorted(names & sys.stdlib_module_names) == []

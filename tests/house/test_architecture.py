"""docs/architecture.md: its links lead to files, and the walk opens at most twelve of them."""

from __future__ import annotations

import re
from pathlib import Path


def test_the_walk_opens_at_most_twelve_files(repository: Path) -> None:
    page = (repository / "docs" / "architecture.md").read_text("utf-8")
    links = re.findall(r"\]\(\.\./([^)]+)\)", page)
    assert [link for link in links if not (repository / link).is_file()] == []
    walk = re.findall(r"^\| \d+ \|.*\]\(\.\./([^)]+)\)", page, re.MULTILINE)
    assert 8 <= len(walk) <= 12

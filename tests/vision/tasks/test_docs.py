"""The page about images: its example prints what it says."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_example_of_the_page(repository: Path) -> None:
    page = repository / "docs" / "concepts" / "vqa.md"
    failed, attempted = doctest.testfile(str(page), module_relative=False)
    assert attempted == 2
    assert failed == 0

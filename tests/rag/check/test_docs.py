"""The Python of the concept pages runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = ("checking.md",)


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str, repository: Path) -> None:
    blocks = BLOCK.findall((repository / "docs" / "concepts" / page).read_text())
    assert blocks
    for block in blocks:
        code = compile(block, page, "exec", dont_inherit=True)
        exec(code, {"__name__": "example"})  # noqa: S102  # our own pages

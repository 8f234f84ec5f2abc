"""Pages of the documentation: figures are those of the results, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.figures import FILES
from harness.core import assets

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
PAGES = [
    *(assets.root() / folder / "README.md" for folder in ("", "examples")),
    *sorted((assets.root() / "docs").rglob("*.md")),
]


@pytest.mark.parametrize("name", FILES)
def test_figures_are_those_of_the_results(name: str) -> None:
    assert (assets.root() / name).read_text("utf-8") == FILES[name](), (
        "run python -m benchmarks.figures"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_index() -> None:
    folder = assets.root() / "docs"
    listed = {(folder / link).resolve() for link in LINK.findall((folder / "index.md").read_text())}
    pages = {path.resolve() for path in PAGES if path.parent.name in ("docs", "concepts")}
    pages -= {(assets.root() / "README.md").resolve(), (folder / "index.md").resolve()}
    assert sorted(path.name for path in pages - listed) == []


def test_the_readme_is_short() -> None:
    assert len((assets.root() / "README.md").read_text("utf-8").split()) <= 500

"""The documentation as a site: every page, no link that leads nowhere, nothing from elsewhere."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.staticfiles import StaticFiles

from harness.models import serving
from tests.browser import browser_at, examine

ELSEWHERE = re.compile(
    r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["']?(?:https?:)?//[^>]*>"""
)


def build(tree: Path, out: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out],
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = build(repository, out)
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there_and_complete(site: Path, repository: Path) -> None:
    for source in (repository / "docs").rglob("*.md"):
        page = site / source.relative_to(repository / "docs").with_suffix(".html")
        text = page.read_text("utf-8")
        assert not re.search(r"<p>\s*(\||- )", text), f"{page.name}: a table or list that is none"
        assert ELSEWHERE.findall(text) == []
        assert "../harness/" not in text
    assert "Research notes" in (site / "guide.html").read_text("utf-8")


def test_a_link_that_leads_nowhere_is_an_error(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    for name in ("mkdocs.yml", "lab/documentation.py"):
        shutil.copy(repository / name, tmp_path / name)
    shutil.copytree(repository / "docs", tmp_path / "docs")
    with (tmp_path / "docs" / "guide.md").open("a") as page:
        page.write("\n[here](nowhere.md), [there](security.md#no-such-part)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "'nowhere.md'" in done.stderr
    assert "'security.md#no-such-part'" in done.stderr


def test_pages_in_a_browser(site: Path) -> None:
    async def scenario() -> None:
        app = Starlette()
        app.mount("/", StaticFiles(directory=site))
        async with serving(app) as url:
            for name in ("index", "concepts/evolution"):
                async with browser_at(f"{url}/{name}.html") as (page, asked):
                    await examine(page, f"site-{Path(name).name}")
                    assert [address for address in asked if not address.startswith(url)] == []
            async with browser_at(f"{url}/index.html") as (page, _):
                # By keys, as a person types: the page listens to nothing else.
                await page.get_by_placeholder("Search").press_sequentially("receipt")
                await page.locator(".md-search-result__item").first.wait_for()

    asyncio.run(scenario())

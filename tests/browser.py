"""Pages in Chromium: opened, examined as a person with a telephone or a screen reader would."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Page

PATIENCE_MS = 20_000
"""What a loaded machine may need for one click."""
NARROW, WIDE = (400, 860), (1280, 860)
TOO_WIDE = """() => [document.scrollingElement, ...document.querySelectorAll("main, #panel, #view")]
.filter((box) => box.scrollWidth > box.clientWidth + 1)
.map((box) => `${box.tagName}#${box.id}: ${box.scrollWidth} in ${box.clientWidth}`)"""
"""Boxes that only a sideways scroll shows; tables have regions of their own for that."""
BROKEN_NAMES = r"""() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const match of node.data.matchAll(/SKILL\.md(:\d+)?/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(match[0]);
    }
  }
  return broken;
}"""
"""Names of the skill's file that are cut by the end of a line."""
UNFOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"


@asynccontextmanager
async def browser_at(
    url: str, scheme: Literal["light", "dark"] = "light", ready: str = "body"
) -> AsyncGenerator[tuple[Page, list[str]]]:
    """An address in Chromium, and every address that it asked for.

    Args:
        url: of the page.
        scheme: that the reader prefers.
        ready: selector of what is there when the page can be used.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no browser to open the page in")
    from playwright.async_api import async_playwright, expect

    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = await browser.new_page(
            viewport={"width": WIDE[0], "height": WIDE[1]}, color_scheme=scheme
        )
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(url)
        await page.wait_for_selector(ready, state="attached")
        yield page, asked
        assert errors == []
        assert "taken over" not in await page.title()
        await browser.close()


async def keep(page: Page, name: str) -> None:
    """Keep a screenshot where CI collects them."""
    if folder := os.environ.get("HARNESS_SCREENSHOTS"):
        await page.screenshot(path=f"{folder}/{name}.png", full_page=True)


async def examine(page: Page, name: str) -> None:
    """Hold the page as it stands against what every page of ours must be.

    At 400 pixels nothing but tables scrolls sideways and no file name is cut; axe-core finds no
    violation, in light and in dark. Four screenshots are kept.
    """
    size = page.viewport_size
    dark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        await page.emulate_media(color_scheme=scheme)
        for width, height in (WIDE, NARROW):
            await page.set_viewport_size({"width": width, "height": height})
            await keep(page, f"{name}-{width}-{scheme}")
        problems = await faults(page)
        assert problems == [], f"{name}, {scheme}: {problems}"
    await page.emulate_media(color_scheme="dark" if dark else "light")
    if size is not None:
        await page.set_viewport_size(size)


async def faults(page: Page) -> list[str]:
    """List what does not fit the window, names that are cut, and objections of axe-core."""
    wide, broken = await page.evaluate(TOO_WIDE), await page.evaluate(BROKEN_NAMES)
    return [*wide, *broken, *await violations(page)]


async def violations(page: Page) -> list[str]:
    """List the objections of axe-core, with the elements."""
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-core is not installed")
    script = (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")
    await page.evaluate(script)
    result: dict[str, Any] = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]


def examine_file(path: Path, name: str) -> None:
    """Examine a page that is one file, folded and unfolded."""

    async def scenario() -> None:
        async with browser_at(path.as_uri()) as (page, asked):
            await examine(page, name)
            await page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
            await page.evaluate(UNFOLD)
            assert await faults(page) == [], f"{name}, unfolded"
            assert asked == [path.as_uri()]

    asyncio.run(scenario())

"""Runs and evolutions in a real browser: found, filtered, opened, traced to a step."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.checkpoints import open_store
from harness.debug import Debugger
from harness.debug.web import Library, open_page, open_view, write_copy
from harness.debug.web.browse import answers
from tests.browser import browser_at, examine, keep
from tests.debug.web.agent import HOSTILE, graph
from tests.debug.web.worlds import LESSON, QUOTE, write_run, write_world

if TYPE_CHECKING:
    from playwright.async_api import Page

NAMELESS = """() => [...document.querySelectorAll("a[href], button, select, input, table")]
.filter((one) => one.checkVisibility() && !(one.textContent.trim()
|| one.getAttribute("aria-label") || one.labels?.length)).length"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs and an evolution, written once."""
    return write_world(tmp_path_factory.mktemp("runs"))


READY = "body[data-ready]"
SENTENCE = "6 of 11 right, 55 % (28 to 79). 5 wrong, 1 could not be judged."
"""Of the run `eval`."""


def test_from_the_list_to_a_failed_sample(world: Path) -> None:
    async def scenario() -> None:
        async with open_view(Library(world)) as url, browser_at(url, ready=READY) as (page, asked):
            await find_a_sample(page)
            await walk_by_keys(page)
            assert {one.split("/")[2].split(":")[0] for one in asked} == {"127.0.0.1"}
            assert all("/x" not in one for one in asked)

    asyncio.run(scenario())


def test_texts_that_come_late_do_not_take_the_focus(world: Path) -> None:
    async def scenario() -> None:
        from playwright.async_api import Route, expect

        released = asyncio.Event()

        async def hold(route: Route) -> None:
            await released.wait()
            await route.continue_()

        async with open_view(Library(world)) as url, browser_at(url, ready=READY) as (page, _):
            await page.route("**/api/tasks*", hold)
            await page.get_by_role("link", name="eval", exact=True).click()
            await expect(page.get_by_role("heading", level=1)).to_contain_text("eval")
            for _ in range(2):
                await page.keyboard.press("j")
            second = page.locator("a.open").nth(1)
            await expect(second).to_be_focused()
            await expect(page.get_by_text("How many apples")).to_have_count(0)
            released.set()
            await expect(page.get_by_text("How many apples").first).to_be_visible()
            await expect(second).to_be_focused()

    asyncio.run(scenario())


async def find_a_sample(page: Page) -> None:
    """By clicks: the list, a run, its filters, a sample of another arm."""
    from playwright.async_api import expect

    await expect(page.get_by_role("table", name="Eval runs").locator("tbody tr")).to_have_count(3)
    made = page.get_by_role("table", name="Runs of evolved · order-desk")
    await expect(made).to_be_hidden()
    await page.get_by_text("1 run of this evolution").click()
    await expect(made.get_by_role("link", name="evolved/runs/train")).to_be_visible()
    await expect(page.get_by_role("row", name="old")).to_contain_text("schema 99")
    await examine(page, "runs")
    await page.get_by_label("Search runs").fill("order-desk")
    await expect(page.get_by_role("table", name="Eval runs").locator("tbody tr")).to_have_count(1)
    await page.get_by_role("link", name="eval", exact=True).click()

    await expect(page.get_by_role("heading", level=1)).to_contain_text("eval")
    await expect(page.get_by_role("table", name="Arms")).to_contain_text("eval-baseline")
    await expect(page.locator("p.lead")).to_have_text(SENTENCE)
    first = page.get_by_role("table", name="Failures to read first").locator("tbody tr")
    await expect(first).to_have_count(5)
    await expect(first.first).to_contain_text("expected 7, got 42")
    samples = page.get_by_role("table", name="Samples").locator("tbody tr")
    await expect(samples).to_have_count(12)
    await expect(page.locator("td.task").first).to_contain_text("How many apples")
    await examine(page, "run")
    await page.get_by_role("button", name="Arms differ").click()
    await expect(samples).to_have_count(3)
    await page.get_by_role("button", name="Failed").click()
    await expect(samples).to_have_count(5)
    await page.get_by_label("Arm", exact=True).select_option(label="eval-baseline")
    await expect(samples).to_have_count(8)
    await page.get_by_role("button", name="Time").click()
    await expect(samples.first).to_contain_text("t11")
    await expect(page.get_by_role("button", name="Time")).to_be_focused()
    await page.get_by_label("Search samples").fill("bananas")
    await expect(page.get_by_text("No sample is left")).to_be_visible()
    await page.get_by_role("button", name="All").click()
    await expect(samples).to_have_count(1)
    await page.reload()
    await expect(samples).to_have_count(1)

    await page.get_by_role("link", name="t3, eval: passed").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("t3 ✓ passed")
    await expect(page.locator(".step-card")).to_have_count(3)
    await expect(page.locator(".part.call")).to_contain_text("import csv")
    await expect(page.locator(".part.result")).to_contain_text(HOSTILE)
    assert await page.locator("#view img, #view script").count() == 0
    await examine(page, "transcript")


async def walk_by_keys(page: Page) -> None:
    """By keys: the list, a run, its failed samples one after the other, and up again."""
    from playwright.async_api import expect

    heading = page.get_by_role("heading", level=1)
    await page.locator("#path a").first.click()
    await expect(heading).to_have_text("Runs")
    await page.keyboard.press("/")
    await page.keyboard.type("baseline")
    await expect(page.locator("tbody tr")).to_have_count(1)
    for key in ("Escape", "j", "Enter"):
        await page.keyboard.press(key)
    await expect(heading).to_contain_text("eval-baseline")
    assert await page.evaluate(NAMELESS) == 0
    await page.get_by_role("button", name="Failed").click()
    for key in ("j", "j", "Enter"):
        await page.keyboard.press(key)
    await expect(heading).to_contain_text("t2")
    await page.keyboard.press("n")
    await expect(heading).to_contain_text("t4")
    await expect(page.get_by_role("navigation", name="Samples")).to_contain_text("3 of 8")
    await page.keyboard.press("p")
    await expect(heading).to_contain_text("t2")
    await page.keyboard.press("j")
    await expect(page.get_by_role("article", name="Step 1, User")).to_be_focused()
    assert await page.evaluate(NAMELESS) == 0
    await page.keyboard.press("u")
    await expect(page.locator('[data-outcome="fail"]')).to_have_attribute("aria-pressed", "true")
    await page.keyboard.press("?")
    await expect(page.locator("#help")).to_be_visible()


def test_a_line_of_a_skill_leads_to_the_step_it_came_from(world: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_view(Library(world)) as url, browser_at(url, "dark", READY) as (page, _):
            await follow_a_line(page)
            await look_at_graphs(page, url)
            with open_store(tmp_path / "store.sqlite") as store:
                debugger = Debugger(graph.compile(), store)
                async with open_page(debugger, "agent", library=Library(world)) as address:
                    await page.goto(address)
                    await page.get_by_role("link", name="Runs").click()
                    await page.get_by_role("link", name="Debugger").click()
                    await page.wait_for_selector("#title:has-text('agent')")

    asyncio.run(scenario())


async def follow_a_line(page: Page) -> None:
    """From a line of the skill to the quote in the run that taught it, and back."""
    from playwright.async_api import expect

    await page.get_by_role("link", name="evolved · order-desk").click()
    await page.locator(".line", has_text=LESSON).get_by_role("link", name="4 tasks").click()
    side = page.get_by_role("complementary")
    await expect(side).to_contain_text("Learned from 4 records of 4 tasks")
    await expect(side).to_contain_text("Cancelled rows were added. <img src=x")
    await examine(page, "evolution")
    await side.get_by_role("link", name="step 3").first.click()

    await expect(page.get_by_role("heading", level=1)).to_contain_text("t0")
    await expect(page.locator("mark")).to_have_text(QUOTE)
    await expect(page.locator("mark")).to_be_in_viewport()
    await expect(page.locator(".step-card.chosen")).to_have_attribute("data-step", "3")
    await keep(page, "debug-quote-dark")
    await page.reload()
    await expect(page.locator("mark")).to_be_in_viewport()
    await page.get_by_role("link", name="Back to the line").click()
    await expect(page.locator(".line.chosen")).to_contain_text(LESSON)
    await side.get_by_role("link", name="look in the run").first.click()
    await expect(page.locator("#toast")).to_contain_text("in no single step")


async def look_at_graphs(page: Page, url: str) -> None:
    """A sample's steps as a graph, and an evolution's own; nothing can be changed."""
    from playwright.async_api import expect

    await page.get_by_role("link", name="Graph view").click()
    await expect(page.locator(".step")).to_have_count(6)
    await expect(page.locator('[data-where="tool"]')).to_have_attribute(
        "aria-label", "tool, ran once"
    )
    await expect(page.get_by_role("toolbar")).to_be_hidden()
    await page.locator(".step", has_text="tool").click()
    await expect(page.locator("#panel")).to_contain_text("I read the file.")
    await expect(page.get_by_role("button", name="Fork here")).to_have_count(0)
    await examine(page, "sample-graph")
    await page.get_by_role("link", name="Runs").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("t0")
    await page.goto(url.replace("runs.html", "index.html") + "&evolution=evolved")
    await expect(page.locator('[data-where="apply"]')).to_have_attribute(
        "aria-label", "apply, ran once"
    )
    await examine(page, "evolution-graph")


def unsynced(_: int) -> None:
    """Thousands of records need not wait for the disk."""


def test_a_copy_needs_no_server_and_thousands_are_paged(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        write_copy(Library(world), tmp_path / "copy.html")
        async with browser_at(f"file://{tmp_path / 'copy.html'}", ready=READY) as (page, asked):
            await read_a_copy(page)
            assert len(asked) == 1
            async with open_view(Library(tmp_path)) as url:
                await page.goto(f"{url}#run=large")
                await turn_pages(page)

    monkeypatch.setattr(answers, "PAGE", 1000)
    monkeypatch.setattr("os.fsync", unsynced)
    outcomes = {f"t{number}": "pass" if number % 4 else "fail" for number in range(2100)}
    write_run(tmp_path / "large", outcomes)
    asyncio.run(scenario())


async def read_a_copy(page: Page) -> None:
    from playwright.async_api import expect

    await examine(page, "copy-runs")
    await page.get_by_role("link", name="evolved · order-desk").click()
    await page.locator(".line", has_text=LESSON).get_by_role("link").click()
    await examine(page, "copy-evolution")
    await page.get_by_role("link", name="step 3").first.click()
    await expect(page.locator("mark")).to_be_in_viewport()
    await examine(page, "copy-transcript")
    await expect(page.get_by_role("link", name="Graph view")).to_have_count(0)
    await page.locator("#path a").first.click()
    await page.get_by_role("link", name="eval-baseline").click()
    await page.get_by_role("button", name="Passed").click()
    await expect(page.get_by_role("table", name="Samples").locator("tbody tr")).to_have_count(4)
    await examine(page, "copy-run")


async def turn_pages(page: Page) -> None:
    from playwright.async_api import expect

    await expect(page.get_by_role("status")).to_have_text("2,100 of 2,100 samples")
    rows = page.get_by_role("table", name="Samples").locator("tbody tr")
    await expect(rows).to_have_count(100)
    await page.keyboard.press("]")
    await expect(rows.first).to_contain_text("t100")
    await page.get_by_role("button", name="Failed").click()
    await expect(page.get_by_role("status")).to_have_text("525 of 2,100 samples")

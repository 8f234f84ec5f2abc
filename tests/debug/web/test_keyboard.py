"""A whole session with the keyboard alone, and every tab of the page as axe-core sees it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser import examine
from tests.debug.web.test_page import page_of

if TYPE_CHECKING:
    from playwright.async_api import Page

GRAPH = """
from typing import TypedDict
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt

class State(TypedDict, total=False):
    n: int
    said: str

def plan(state, *, store):
    store.put(("users", "ada"), "colour", {"likes": "green"})
    return {"n": 1}

def ask(state):
    return {"said": interrupt("What is the name?")}

def end(state):
    return {"said": f"{state['said']} {state['n']}"}

graph = StateGraph(State).add_node(plan).add_node(ask).add_node(end).add_edge(START, "plan")
graph = graph.add_edge("plan", "ask").add_edge("ask", "end").compile(store=InMemoryStore())
"""
FOCUSED = """() => {
  const at = document.activeElement;
  return at.getAttribute("aria-label") || at.textContent.trim();
}"""


async def reach(page: Page, name: str) -> None:
    """Press the tab key until the element of that name has the focus."""
    passed: list[str] = []
    while (focused := await page.evaluate(FOCUSED)) != name:
        assert len(passed) < 60, f"{name!r} is not reached: {passed}"
        passed.append(focused[:30])
        await page.keyboard.press("Tab")


async def write(page: Page, text: str) -> None:
    """Write into the text box that has the focus, and press the button behind it."""
    await page.keyboard.press("Control+a")
    await page.keyboard.type(text)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")


def test_a_session_with_the_keyboard_alone(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(GRAPH)

    async def scenario() -> None:
        async with page_of(tmp_path, tmp_path / "flow.py") as (page, _):
            from playwright.async_api import expect

            where, branch = page.locator("#where"), page.locator("#branch")
            await reach(page, "State")
            await page.keyboard.press("ArrowLeft")
            await expect(page.get_by_role("tab", name="Start")).to_be_focused()
            await reach(page, "Input (JSON)")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await expect(where).to_contain_text("in front of plan")
            await page.keyboard.press("s")
            await expect(where).to_contain_text("in front of ask")
            await reach(page, "Edit n")
            await page.keyboard.press("Enter")
            await expect(page.get_by_label("New value of n")).to_be_focused()
            await write(page, "5")
            await expect(branch).to_have_value("main.1")
            await reach(page, "Steps of the branch")
            await page.keyboard.press("End")
            await page.keyboard.press("ArrowUp")
            await expect(page.locator('.step[aria-selected="true"]')).to_contain_text("plan")
            await reach(page, "Fork here")
            await page.keyboard.press("Enter")
            await expect(branch).to_have_value("main.2")
            await expect(where).to_contain_text("in front of plan")  # a running graph takes no keys
            await page.keyboard.press("s")
            await expect(where).to_contain_text("in front of ask")
            await page.keyboard.press("c")
            await expect(page.get_by_label("Answer (JSON or text)")).to_be_focused()
            await write(page, "Ann")
            await expect(where).to_contain_text("done")
            await expect(page.locator("#panel")).to_contain_text("Ann 1")
            await expect(page.locator('.step[aria-selected="true"]')).to_have_count(0)
            await expect(page.get_by_role("tab", name="State")).to_have_attribute(
                "aria-selected", "true"
            )
            await reach(page, "State")
            for tab in (
                "Changes",
                "Stop",
                "Breakpoints",
                "Branches",
                "Calls",
                "Store",
                "Start",
                "State",
            ):
                await page.keyboard.press("ArrowRight")
                await expect(page.get_by_role("tab", name=tab)).to_be_focused()
                if tab == "Changes":
                    await expect(page.locator("#panel")).to_contain_text("Changed by end")
                if tab == "Store":
                    await expect(page.locator("#panel")).to_contain_text("users/ada/colour")
                await examine(page, f"debug-tab-{tab.lower()}")
            await page.keyboard.press("?")
            await examine(page, "debug-keys")

    asyncio.run(scenario())

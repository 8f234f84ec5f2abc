"""Samples that are hard to read: long answers, images as data, Markdown, scripts of two ways."""

from __future__ import annotations

import asyncio
import base64
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import open_store
from harness.core import AgentInfo, Step, Trajectory
from harness.core.rundir import RunWriter
from harness.debug import Debugger
from harness.debug.web import Library, open_page, open_view
from harness.evals import ItemRecord
from tests.browser import browser_at, examine
from tests.debug.web.agent import HOSTILE
from tests.debug.web.worlds import lock, write_long_sample

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = f"data:image/png;base64,{base64.b64encode(DOT).decode()}"
SAID = f"""# Result

The **total** is `42`, not {HOSTILE}.

- one
- [two](https://example.org/two) and [three](javascript:alert(1))

| fruit | sum |
|---|---|
| apples | 7 |

![elsewhere](https://example.org/x.png) {PICTURE}

السعر هو ٤٢ دولارًا."""


def write_run(path: Path) -> Path:
    """Three samples that passed, failed and were invalid; the first has a very long answer."""
    with RunWriter(path, lock()) as run:
        for number, outcome in enumerate(("pass", "fail", "invalid")):
            name = f"t{9 + number}"
            steps = (
                Step(step_id=1, source="user", message=f"How many? {PICTURE}"),
                Step(step_id=2, source="agent", message=SAID),
            )
            trajectory = Trajectory(
                trajectory_id=name,
                agent=AgentInfo(name="clerk", version="1"),
                steps=steps,
                extra={"harness": {"task": {"prompt": "How many?", "expected": "42 apples"}}},
            )
            run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
            answer = "word " * 40_000 if outcome == "pass" else "7"
            item = ItemRecord.model_validate(
                {"id": name, "task_id": name, "outcome": outcome, "value": 1.0, "answer": answer}
            )
            run.append_item(item.model_dump(mode="json"))
    return path


def test_a_sample_shows_images_markdown_and_the_expected_answer(tmp_path: Path) -> None:
    write_run(tmp_path / "eval")

    async def scenario() -> None:
        from playwright.async_api import expect

        place = "#run=eval&item=t9"
        async with (
            open_view(Library(tmp_path)) as url,
            browser_at(url + place, ready="body[data-ready]") as (page, asked),
        ):
            await expect(page.locator(".facts")).to_contain_text("42 apples")
            cards = page.locator(".step-card")
            top = await cards.first.bounding_box()
            assert top is not None and top["y"] < 1000
            said = cards.nth(1)
            await expect(said.get_by_role("heading", name="Result")).to_be_visible()
            await expect(said.locator("strong")).to_have_text("total")
            await expect(said.locator("table")).to_contain_text("apples")
            await expect(said).to_contain_text(HOSTILE)
            await expect(said).to_contain_text("![elsewhere](https://example.org/x.png)")
            assert await said.locator("a[href]").evaluate_all("all => all.map((a) => a.href)") == [
                f"{page.url.partition('#')[0]}#run=eval&item=t9&step=2&quote=",
                "https://example.org/two",
            ]
            arabic = said.locator("p", has_text="السعر")
            assert await arabic.evaluate("(p) => getComputedStyle(p).direction") == "rtl"
            assert await page.locator("img").evaluate_all("all => all.map((i) => i.width > 0)") == [
                True,
                True,
            ]
            assert "base64" not in await page.locator("#view").inner_text()
            await page.get_by_role("button", name="Show all 200,000 characters").click()
            await expect(page.get_by_role("button", name="Show less")).to_be_visible()
            await page.get_by_role("button", name="Show less").click()
            await examine(page, "reading")
            assert {address.split("/")[2].split(":")[0] for address in asked} == {"127.0.0.1"}

    asyncio.run(scenario())


def test_a_quote_is_marked_in_the_text_as_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path / "eval")

    async def scenario() -> None:
        from playwright.async_api import expect

        place = "#run=eval&item=t9&step=2&quote=The+**total**+is+%6042%60"
        async with (
            open_view(Library(tmp_path)) as url,
            browser_at(url + place, ready="body[data-ready]") as (page, _),
        ):
            await expect(page.locator("mark")).to_have_text("The **total** is `42")

    asyncio.run(scenario())


def test_rows_are_sorted_by_every_column(tmp_path: Path) -> None:
    write_run(tmp_path / "eval")
    write_run(tmp_path / "older")

    async def scenario() -> None:
        from playwright.async_api import expect

        async with (
            open_view(Library(tmp_path)) as url,
            browser_at(url, ready="body[data-ready]") as (page, _),
        ):
            names = page.locator("tbody th a")
            await page.get_by_role("button", name="Run", exact=True).click()
            await expect(names).to_have_text(["older", "eval"])
            await page.get_by_role("button", name="Run", exact=True).click()
            await expect(names).to_have_text(["eval", "older"])
            await names.first.click()
            names = page.get_by_role("table", name="Samples").locator("tbody th a")
            await page.get_by_role("button", name="Sample", exact=True).click()
            await expect(names).to_have_text(["t11", "t10", "t9"])
            await page.get_by_role("button", name="eval", exact=True).click()
            await expect(names).to_have_text(["t9", "t11", "t10"])
            head = page.get_by_role("columnheader", name="eval")
            await expect(head).to_have_attribute("aria-sort", "descending")

    asyncio.run(scenario())


class Wide(TypedDict, total=False):
    """Marks of the nodes that ran."""

    marks: Annotated[list[int], operator.add]


def test_a_wide_graph_begins_where_the_run_stands_and_follows_it(tmp_path: Path) -> None:
    """Sixty nodes, forty of them side by side: all of it in the window could not be read."""
    builder: Any = StateGraph(Wide)

    def mark(_: Wide) -> dict[str, list[int]]:
        return {"marks": [1]}

    for number in range(60):
        builder.add_node(f"node_{number}", mark)
    builder.add_edge(START, "node_0")
    for number in range(1, 60):
        builder.add_edge(f"node_{(number - 1) // 3}", f"node_{number}")
    graph = builder.compile()

    async def scenario() -> None:
        from playwright.async_api import expect

        with open_store(tmp_path / "c.sqlite") as store:
            debugger = Debugger(graph, store)
            debugger.start({"marks": []})
            async with (
                open_page(debugger, "wide") as url,
                browser_at(url, ready="body[data-ready]") as (page, _),
            ):
                for _ in range(4):
                    now = page.locator(".node.now").first
                    await expect(now).to_be_in_viewport()
                    box = await now.bounding_box()
                    assert box is not None and box["height"] > 20
                    await page.keyboard.press("s")
                    await expect(page.locator("#where")).to_contain_text("in front of")
                await page.get_by_role("button", name="Fit").click()
                for end in (page.locator(".node").first, page.locator(".node.end")):
                    await expect(end).to_be_in_viewport(ratio=1)

    asyncio.run(scenario())


def test_a_megabyte_of_answers_is_cut_and_opens_as_a_whole(tmp_path: Path) -> None:
    write_long_sample(tmp_path / "eval")

    async def scenario() -> None:
        from playwright.async_api import expect

        async with (
            open_view(Library(tmp_path)) as url,
            browser_at(url + "#run=eval&item=t1", ready="body[data-ready]") as (page, _),
        ):
            cards = page.locator(".step-card")
            assert await cards.nth(0).locator("table").count() > 200  # there is room for the first
            tables = cards.nth(19).locator("table")
            assert 5 < await tables.count() < 40
            await cards.nth(19).get_by_role("button", name="Show all 20,000 characters").click()
            await expect(tables).to_have_count(await cards.nth(0).locator("table").count())

    asyncio.run(scenario())

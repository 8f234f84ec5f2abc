"""The page in a real browser: what a user clicks and types, and what must not happen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.checkpoints import open_store
from harness.debug import Debugger, load_graph
from harness.debug.web import open_page
from tests.browser import browser_at, examine
from tests.debug.web.agent import HOSTILE

if TYPE_CHECKING:
    from playwright.async_api import Page

AGENT = Path(__file__).with_name("agent.py")


@asynccontextmanager
async def page_of(folder: Path, agent: Path = AGENT) -> AsyncGenerator[tuple[Page, list[str]]]:
    """The page in Chromium, and every address that it asked for."""

    def load() -> Any:
        return load_graph(f"{agent}:graph")

    with open_store(folder / "store.sqlite") as store:
        async with (
            open_page(
                Debugger(load(), store), "agent.py:graph", reload=load, root=agent.parent
            ) as url,
            browser_at(url, ready="body[data-ready]") as (page, asked),
        ):
            yield page, asked


async def start(page: Page, text: str = '{"path": []}') -> None:
    await page.get_by_role("tab", name="Start").click()
    await page.get_by_label("Input (JSON)").fill(text)
    await page.get_by_role("button", name="Start", exact=True).click()


def test_step_break_edit_fork_and_compare(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with page_of(tmp_path) as (page, asked):
            from playwright.async_api import expect

            where = page.locator("#where")
            await start(page)
            await expect(where).to_contain_text("step in front of plan")
            await page.locator('[data-where="check"]').click()
            await expect(page.locator('[data-where="check"]')).to_have_attribute(
                "aria-label", "check, breakpoint"
            )
            await page.get_by_role("button", name="Step", exact=True).click()
            await expect(where).to_contain_text("work")
            await page.get_by_role("button", name="Continue").click()
            await expect(where).to_contain_text("breakpoint in front of check")
            await examine(page, "debug-breakpoint")

            await page.get_by_role("tab", name="State").click()
            await expect(page.get_by_role("heading", name="Changed by work")).to_be_visible()
            await expect(page.locator("#panel .key-row.added", has_text="n added")).to_be_visible()
            await page.get_by_role("button", name="Edit n").click()
            await page.get_by_label("New value of n").fill("8")
            await page.get_by_role("button", name="Save and go on from here").click()
            await expect(page.locator("#branch")).to_have_value("main.1")
            await page.get_by_role("button", name="Continue").click()
            await expect(where).to_contain_text("ValueError: too much: 8")
            await page.get_by_role("tab", name="Stop").click()
            await expect(page.locator("#panel")).to_contain_text("state = ")
            await examine(page, "debug-exception")

            await page.get_by_role("tab", name="Branches").click()
            await page.get_by_role("button", name="Compare").click()
            await expect(page.locator("#panel")).to_contain_text("They part at step")
            await examine(page, "debug-compare")

            await page.locator(".step", has_text="plan").click()
            await page.get_by_role("tab", name="State").click()
            await page.get_by_role("button", name="Fork here").click()
            await expect(page.locator("#branch")).to_have_value("main.2")
            await expect(where).to_contain_text("in front of plan")
            assert {url.split("/")[2].split(":")[0] for url in asked} == {"127.0.0.1"}

    asyncio.run(scenario())


def test_keys_do_what_the_buttons_do(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with page_of(tmp_path) as (page, _):
            from playwright.async_api import expect

            where = page.locator("#where")
            await start(page)
            await expect(where).to_contain_text("plan")
            await page.locator('[data-where="write"]').focus()
            await page.keyboard.press("b")
            await expect(page.locator('[data-where="write"]')).to_have_attribute(
                "aria-pressed", "true"
            )
            await page.keyboard.press("s")
            await expect(where).to_contain_text("work")
            await page.keyboard.press("i")
            await expect(where).to_contain_text("work/read")
            await page.keyboard.press("o")
            await expect(where).to_contain_text("check")
            await page.keyboard.press("c")
            await expect(where).to_contain_text("breakpoint in front of write")
            await page.keyboard.press("/")
            await page.keyboard.type("work/read")
            await expect(page.locator(".step")).to_have_count(3)
            await page.locator("#list").focus()
            await page.keyboard.press("ArrowDown")
            await expect(page.locator('.step[aria-selected="true"]')).to_contain_text("work/read")
            await page.locator("#tab-state").focus()
            await page.keyboard.press("ArrowRight")
            await expect(page.locator("#panel")).to_contain_text("By work/read")
            await page.keyboard.press("?")
            await expect(page.locator("#help")).to_be_visible()
            nameless = await page.evaluate(
                """() => [...document.querySelectorAll("button, select, input, [role=button]")]
                .filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label")
                || one.labels?.length)).length"""
            )
            assert nameless == 0

    asyncio.run(scenario())


def test_what_a_model_wrote_is_text(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with page_of(tmp_path) as (page, asked):
            from playwright.async_api import expect

            await start(page)
            await expect(page.locator("#where")).to_contain_text("plan")
            await page.keyboard.press("s")
            await page.get_by_role("tab", name="State").click()
            await expect(page.locator(".message .markdown").last).to_have_text(HOSTILE)
            assert await page.title() == "agent.py:graph · harness debug"
            assert await page.locator("#panel img, #panel script").count() == 0
            assert all("/x" not in url for url in asked)

    asyncio.run(scenario())


def test_a_broken_node_is_mended_and_nothing_before_it_runs_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        agent, log = tmp_path / "mended.py", tmp_path / "log"
        noted = f"    with open({str(log)!r}, 'a') as log:\n        log.write('read\\n')"
        text = AGENT.read_text().replace('    """Count."""', noted)
        agent.write_text(text)
        async with page_of(tmp_path, agent) as (page, _):
            from playwright.async_api import expect

            await start(page, '{"path": [], "n": 7}')
            await expect(page.locator("#where")).to_contain_text("plan")
            await page.keyboard.press("c")
            await expect(page.locator("#where")).to_contain_text("too much: 8")
            agent.write_text(text.replace("> 5", "> 50"))
            await page.get_by_role("button", name="Reload").click()
            await expect(page.locator("#where")).to_contain_text("step in front of write")
            await page.keyboard.press("c")
            await expect(page.locator("#where")).to_contain_text("done")
            assert log.read_text() == "read\n"

    asyncio.run(scenario())


def test_an_address_leads_back_to_a_step(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with page_of(tmp_path) as (page, _):
            from playwright.async_api import expect

            await start(page)
            await expect(page.locator("#where")).to_contain_text("plan")
            await page.keyboard.press("c")
            await expect(page.locator("#where")).to_contain_text("done")
            await page.locator(".step", has_text="check").first.click()
            await page.get_by_role("tab", name="Changes").click()
            await expect(page.locator("#panel")).to_contain_text("By check")
            await page.reload()
            await page.wait_for_selector("body[data-ready]")
            await expect(page.locator("#panel")).to_contain_text("By check")

    asyncio.run(scenario())


LOOK = """
from typing import Annotated, Any, TypedDict
import operator
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph

PICTURE = "data:image/png;base64,IMAGE"

class State(TypedDict, total=False):
    messages: Annotated[list[Any], operator.add]
    cells: dict[str, int]

def look(state):
    used = {"input_tokens": 1200, "output_tokens": 34, "total_tokens": 1234}
    text = "Seen:\\n\\n| a | b |\\n|---|---|\\n| 1 | <b>2</b> |"
    said = AIMessage([{"type": "text", "text": text},
                      {"type": "image_url", "image_url": {"url": PICTURE}}],
                     usage_metadata=used, response_metadata={"model_name": "gpt-4.1-mini"})
    return {"messages": [said], "cells": {"A1": 1, "B1": 2}}

def judge(state):
    return {"cells": {"A1": state["cells"]["C1"], "B1": 0}}

graph = StateGraph(State).add_node("look", look).add_node("judge", judge)
graph = graph.add_edge(START, "look").add_edge("look", "judge").add_edge("judge", END).compile()
"""


def test_images_cells_tokens_and_a_node_mended_in_the_page(tmp_path: Path) -> None:
    from tests.debug.web.test_shown import URL

    file = tmp_path / "look.py"
    file.write_text(LOOK.replace("data:image/png;base64,IMAGE", URL))

    async def scenario() -> None:
        async with page_of(tmp_path, file) as (page, asked):
            from playwright.async_api import expect

            await start(page, "{}")
            await expect(page.locator("#where")).to_contain_text("in front of look")
            await page.get_by_role("button", name="Continue").click()
            await expect(page.locator("#where")).to_contain_text("KeyError")
            look = page.locator('[data-where="look"]')
            await expect(look).to_have_attribute("aria-label", "look, ran once, 1234 tok $0.0005")
            await expect(page.locator(".step", has_text="look")).to_contain_text("1234 tok")
            await page.get_by_role("tab", name="State").click()
            picture = page.locator("#panel img.thumb").last
            assert await picture.evaluate("image => image.naturalWidth") == 1
            await expect(page.locator("#panel .message table td").last).to_have_text("<b>2</b>")
            await expect(page.locator("#panel .cells th[scope=col]").last).to_have_text("B")
            await examine(page, "debug-values")

            await page.keyboard.press("e")
            area = page.get_by_label("Source", exact=True)
            await expect(area).to_have_value(re.compile("def judge"))
            text = await area.input_value()
            await area.fill(text.replace('["C1"]', '["B1"'))
            await page.get_by_role("button", name="Save, load and go on").click()
            alert = page.get_by_role("dialog").get_by_role("alert")
            await expect(alert).to_contain_text("expected Python")
            assert '["B1"' in await area.input_value()
            await examine(page, "debug-source")
            await area.fill(text.replace('["C1"]', '["B1"]'))
            await page.get_by_role("button", name="Save, load and go on").click()
            await expect(page.locator("#where")).to_contain_text("step in front of judge")
            await page.get_by_role("button", name="Continue").click()
            await expect(page.locator("#where")).to_contain_text("done")
            assert {url.split("/")[2].split(":")[0] for url in asked if "//" in url} == {
                "127.0.0.1"
            }

    asyncio.run(scenario())
    assert '["B1"]' in file.read_text()
    assert '["C1"]' in file.with_name("look.py.bak").read_text()


ASKS = """
from typing import TypedDict
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

class State(TypedDict, total=False):
    n: int
    said: str

def plan(state):
    return {"n": 1}

def spread(state):
    return [Send("work", {"n": 1})]

def work(state):
    return {"n": 2}

def ask(state):
    return {"said": interrupt({"question": "\u05de\u05d4 the name?"})}

graph = StateGraph(State).add_node(plan).add_node(work).add_node(ask)
graph = graph.add_edge(START, "plan").add_conditional_edges("plan", spread, ["work"])
graph = graph.add_edge("work", "ask").compile()
"""


def test_a_question_opens_its_box_and_a_refused_answer_is_kept(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(ASKS)

    async def scenario() -> None:
        async with page_of(tmp_path, tmp_path / "asks.py") as (page, _):
            from playwright.async_api import expect

            await start(page, "{}")
            await expect(page.locator("#where")).to_contain_text("in front of plan")
            await page.keyboard.press("c")
            area = page.get_by_label("Answer (JSON or text)")
            await expect(area).to_be_visible()
            await expect(page.locator("#panel")).to_contain_text("ask asks")
            node = page.locator('[data-where="ask"]')
            await expect(node).to_have_attribute("aria-label", re.compile("waits for an answer"))
            await expect(
                page.locator('[data-source="plan"][data-target="work"].taken')
            ).to_have_count(1)
            await examine(page, "debug-question")
            await area.fill('{"name":')
            await page.get_by_role("button", name="Answer", exact=True).click()
            await expect(page.locator("#toast")).to_contain_text("not JSON")
            await page.get_by_role("tab", name="State").click()
            await page.get_by_role("tab", name="Stop").click()
            await expect(area).to_have_value('{"name":')
            await area.fill("Ann")
            await page.get_by_role("button", name="Answer", exact=True).click()
            await expect(page.locator("#where")).to_contain_text("done")

    asyncio.run(scenario())


def test_a_call_is_answered_and_compared_in_the_page(tmp_path: Path) -> None:
    from contextlib import ExitStack

    from harness.debug.attempts import ask_model
    from harness.debug.subjects import Subject
    from tests.debug.test_calls import ASKING

    (tmp_path / "asking.py").write_text(ASKING)

    async def scenario() -> None:
        from playwright.async_api import expect

        with ExitStack() as stack:
            store = stack.enter_context(open_store(tmp_path / "store.sqlite"))
            answers = ask_model("person", None, store, stack)
            graph = load_graph(f"{tmp_path / 'asking.py'}:graph")
            subject = Subject(graph, {"messages": ["go"]}, answers=answers, over_http=True)
            debugger = subject.begin(store)
            async with (
                open_page(debugger, "asking") as url,
                browser_at(url, ready="body[data-ready]") as (page, _),
            ):
                await page.keyboard.press("s")
                area = page.get_by_label("Answer (JSON or text)")
                await expect(page.locator("#panel")).to_contain_text("first?")
                await expect(page.locator("#where")).to_contain_text("model call in twice")
                await expect(page.get_by_role("button", name="Step", exact=True)).to_be_disabled()
                await examine(page, "debug-model-call")
                await area.fill("One. ")
                await page.get_by_role("button", name="Answer", exact=True).click()
                await expect(page.locator("#panel")).to_contain_text("second?")
                await area.fill("Two.")
                await page.get_by_role("button", name="Answer", exact=True).click()
                await expect(page.locator("#where")).to_contain_text("in front of inner")
                await page.get_by_role("tab", name="Calls").click()
                await page.get_by_label("Call", exact=True).select_option("0")
                await page.get_by_label("Compared with").select_option("1")
                await page.get_by_role("button", name="Show").click()
                await expect(page.locator(".sent .old")).to_contain_text("first?")
                await expect(page.locator(".sent .new")).to_contain_text("second?")
                await examine(page, "debug-calls")
                await page.keyboard.press("s")
                await expect(page.locator('[data-where="inner/streamed"]')).to_have_attribute(
                    "aria-label", re.compile("waits for an answer")
                )
                await area.fill("Three.")
                await page.get_by_role("button", name="Answer", exact=True).click()
                await expect(page.locator("#where")).to_contain_text("done")

    asyncio.run(scenario())


STREAMS = """
import threading
from langchain_core.language_models import FakeListChatModel
from langgraph.graph import START, MessagesState, StateGraph

model = FakeListChatModel(responses=["so far"])
GO = threading.Event()

def talk(state):
    text = "".join(chunk.content for chunk in model.stream("go"))
    GO.wait(60)
    return {"messages": [("ai", text)]}

graph = StateGraph(MessagesState).add_node(talk).add_edge(START, "talk").compile()
"""


def test_what_a_model_streams_is_seen_while_its_node_runs(tmp_path: Path) -> None:
    (tmp_path / "streams.py").write_text(STREAMS)
    graph = load_graph(f"{tmp_path / 'streams.py'}:graph")
    go: Any = graph.nodes["talk"].bound.func.__globals__["GO"]

    async def scenario() -> None:
        from playwright.async_api import expect

        with open_store(tmp_path / "store.sqlite") as store:
            async with (
                open_page(Debugger(graph, store), "streams") as url,
                browser_at(url, ready="body[data-ready]") as (page, _),
            ):
                await start(page, '{"messages": []}')
                await expect(page.locator("#where")).to_contain_text("in front of talk")
                await page.keyboard.press("s")
                await expect(page.locator("#streamed")).to_have_text("so far")
                node = page.locator('[data-where="talk"]')
                await expect(node).to_have_attribute("aria-label", "talk, runs")
                await examine(page, "debug-streaming")
                go.set()
                await expect(page.locator("#where")).to_contain_text("done")
                await expect(page.locator("#streamed")).to_be_hidden()

    asyncio.run(scenario())

"""A model chooses the description of a new skill, by the question that `--agent choose` asks."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from harness.core import plugins
from harness.evolve import Candidate
from harness.evolve.description import Described, describe
from harness.models import ChatModel, open_model
from harness.receipts.trigger.choosing import measure_descriptions
from tests.models.http_server import Answer, completion, serve

REQUESTS = [
    f"I want to {verb} {thing}"
    for verb in ("delete", "sort", "mark")
    for thing in ("the blank rows", "the dates of a column", "the totals", "the cells")
]
PROMPTS = [f"{text} in the case of Quill{n}.xlsx." for n, text in enumerate(REQUESTS)]
WRITTEN = "Use when someone asks to tidy rows or cells of a workbook. Not for charts."
LEAKY = "Use when someone asks to tidy rows of Quill4."


def clerk(decide: Callable[[dict[str, str], str], str]) -> Callable[[dict[str, Any]], Answer]:
    """A server whose model picks a skill for a request, and writes descriptions when asked to."""

    def answer(body: dict[str, Any]) -> Answer:
        text = body["messages"][-1]["content"]
        if "three different descriptions" in text:
            return completion(json.dumps({"descriptions": [WRITTEN, LEAKY]}))
        listed, _, request = text.partition("Request: ")
        skills = dict(re.findall(r"^([\w-]+): (.+)$", listed, re.MULTILINE))
        named = next((name for name in skills if name in request), None)
        return completion(json.dumps({"skill": named or decide(skills, request)}))

    return answer


def tidy(skills: dict[str, str], request: str) -> str:
    """Opens only what speaks of tidying, for requests about workbooks."""
    (name,) = [name for name in skills if not name.startswith("skill-")]
    return name if "tidy" in skills[name] and "xlsx" in request else "none"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fresh installation registers it."""
    point = EntryPoint(
        "choose", "harness.receipts.trigger.choosing:measure_descriptions", "harness.triggers"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    earlier = plugins.plugins

    def present(group: str) -> dict[str, EntryPoint]:
        return {"choose": point} if group == "triggers" else earlier(group)

    monkeypatch.setattr(plugins, "plugins", present)


def described(decide: Callable[[dict[str, str], str], str]) -> Described:
    async def ask(model: ChatModel) -> Described:
        try:
            return await describe("workbook-repair", PROMPTS, ["xlsx"] * 12, frozenset(), model)
        finally:
            await model.aclose()

    with serve(clerk(decide)) as served:
        return asyncio.run(ask(open_model("openai/x", base_url=served.url)))


def test_the_model_writes_candidates_and_its_choices_decide() -> None:
    result = described(tidy)
    assert (result.text, result.by) == (WRITTEN, "openai/x")
    best = result.candidates[0]
    assert (best.recall, best.wrong) == (1.0, 0.0)
    assert LEAKY not in [row.text for row in result.candidates]  # a name of one task
    assert result.usage.calls > 40


def test_a_model_that_loads_nothing_by_name_decides_nothing() -> None:
    def blind(body: dict[str, Any]) -> Answer:
        return completion('{"skill": "none"}')

    async def measured() -> list[Candidate]:
        with serve(blind) as served:
            model = open_model("openai/x", base_url=served.url)
            rows, usage = await measure_descriptions("a", ["Use it."], ["x"], [], ["y"], model)
            await model.aclose()
        assert usage.calls == 3  # the control alone
        return rows

    assert asyncio.run(measured()) == []


def test_a_reply_that_is_no_choice_leaves_it_to_the_words() -> None:
    result = described(lambda skills, request: "something else")
    assert result.by == "words" and ".xlsx" in result.text

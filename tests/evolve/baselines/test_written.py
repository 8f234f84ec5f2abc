"""Baselines that a model writes: replies that can be used, and replies that cannot."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

from harness.evolve.baselines import Ground, make
from harness.models import open_model
from tests.evolve.conftest import Answer

Endpoint = Callable[[Answer], str]


def _ground(ground: Ground, endpoint: Endpoint, answer: Answer) -> Ground:
    return replace(ground, model=open_model("openai/canned", base_url=endpoint(answer)))


def _append(content: str, section: str = "## How to use this skill") -> str:
    edit = {"file": "SKILL.md", "op": "append_to_section", "content": content}
    return json.dumps({"reasoning": "", "edits": [{**edit, "target_section": section}]})


def test_a_parametric_skill_is_written_from_prompts_alone(
    ground: Ground, endpoint: Endpoint
) -> None:
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return json.dumps({"description": "Answers about orders.", "body": "# Orders\n\n- Count."})

    found = asyncio.run(make("parametric", _ground(ground, endpoint, answer)))
    assert found.skill is not None
    assert (found.skill.name, found.skill.description) == ("order-desk", "Answers about orders.")
    assert "- Count." in found.skill.body
    assert (found.usage.calls, found.usage.tokens, found.losses) == (1, 10, ())
    assert prompts[0].count("Order book train-") == 20
    runs = ground.done.evolution.store.load(ground.done.runs.runs)
    replies = {str(one.harness.get("answer")) for one in runs}
    assert not [reply for reply in replies if f"answer: {reply}" in prompts[0].lower()]
    assert "REASONING" not in prompts[0]


def test_without_a_usable_reply_the_parametric_skill_is_the_seed(
    ground: Ground, endpoint: Endpoint
) -> None:
    bodies = [f'{{"description": "{text}", "body": "# Orders"}}' for text in ("", "---")]
    for reply in ("no JSON", '{"body": "# Orders"}', *bodies):
        found = asyncio.run(make("parametric", _ground(ground, endpoint, lambda _, r=reply: r)))
        assert found.skill == ground.start
        assert (found.usage.calls, len(found.losses)) == (3, 1)


def test_each_step_sees_the_skill_that_the_step_before_left(
    ground: Ground, endpoint: Endpoint
) -> None:
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return _append(f"- **Rule {len(prompts)}**: Follow lesson number {len(prompts)}.")

    found = asyncio.run(make("sequential-4", _ground(ground, endpoint, answer)))
    steps = -(-len(ground.records) // 4)
    assert len(prompts) == steps > 1
    for number, prompt in enumerate(prompts):
        assert prompt.count("Follow lesson number") == number
    shown = [prompt.count("\n<record>\n") for prompt in prompts]
    assert (shown[0], sum(shown)) == (4, len(ground.records))
    order = [ground.records.index(one) for one in ground.records if one.summary in prompts[0]]
    assert order[:4] == [0, 1, 2, 3]
    assert found.skill is not None
    assert found.skill.text.count("Follow lesson number") == steps
    assert found.losses == ()


def test_a_step_that_fails_keeps_the_skill_and_is_counted(
    ground: Ground, endpoint: Endpoint
) -> None:
    two = json.loads(_append("- **Good**: Keep the total."))
    two["edits"] += json.loads(_append("- **Lost**: Nowhere."))["edits"]
    two["edits"][1]["file"] = "../outside.md"
    replies = {0: _append("- **First**: Read the table."), 1: "no JSON", 2: json.dumps(two)}
    firsts: list[str] = []

    def answer(prompt: str) -> str:
        if prompt.startswith("Improve"):
            firsts.append(prompt)
        return replies.get(len(firsts) - 1, '{"edits": []}')

    found = asyncio.run(make("sequential-1", _ground(ground, endpoint, answer)))
    assert found.skill is not None
    assert "Read the table." in found.skill.text
    assert "Keep the total." not in found.skill.text
    assert "Nowhere" not in found.skill.text
    assert [loss.split(":")[0] for loss in found.losses] == ["step 2", "step 3"]
    assert "1 of 2 edits withheld" in found.losses[1]
    assert found.usage.calls == len(ground.records) + 2
    assert "2 kept the skill as it was" in found.note

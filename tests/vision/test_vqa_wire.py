"""Images as a model that sees receives them, through the real client: order, limits and form."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.agents import AgentContext, Sample, react_context
from harness.core import BadInput
from harness.models import open_model
from harness.vision.agent import ask, packed_images
from harness.vision.profiles import vision_profile
from tests.models.http_server import completion, serve

COLOURS = ("red", "lime", "blue", "black", "aqua")
MODELS = (
    "openai/gpt-4.1-mini",
    "vllm/Qwen/Qwen2.5-VL-7B-Instruct",
    "vllm/Qwen/Qwen3-VL-8B-Instruct",
    "vllm/moonshotai/Kimi-VL-A3B-Thinking-2506",
)


def _sent(model: str, work: Path, reply: str = "ok") -> tuple[dict[str, Any], str]:
    """The body that a server gets for one question about the work folder, and the text."""

    async def run(url: str) -> str:
        opened = open_model(model, base_url=url)
        try:
            sample = Sample(id="s", task_id="s", prompt="?", workdir=work)
            context = react_context(sample, AgentContext(model=opened))
            packed = await packed_images(context)
            return (await ask(context, "Which colours?", packed, turns=0))[0]
        finally:
            await opened.aclose()

    with serve(lambda body: completion(reply)) as served:
        text = asyncio.run(run(served.url))
    (body,) = served.bodies
    return body, text


def _image(part: dict[str, Any]) -> Image.Image:
    head, _, data = part["image_url"]["url"].partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    return Image.open(BytesIO(b64decode(data, validate=True))).convert("RGB")


@pytest.mark.parametrize("model", MODELS)
def test_images_come_first_in_order_within_the_limits(model: str, tmp_path: Path) -> None:
    for at, colour in enumerate(COLOURS):
        size = (2600, 1900) if at == 2 else (120, 70 + 9 * at)
        Image.new("RGB", size, colour).save(tmp_path / f"{at}.png")
    body, _ = _sent(model, tmp_path)
    assert body["model"] == model.partition("/")[2]
    (message,) = body["messages"]
    assert message["role"] == "user"
    *content, last = message["content"]
    assert last == {"type": "text", "text": "Which colours?"}
    names, parts = content[::2], content[1::2]
    assert names == [
        {"type": "text", "text": f"Image {at + 1} ({at}.png):"} for at in range(len(COLOURS))
    ]
    assert [set(part) for part in parts] == [{"type", "image_url"}] * 5
    # No `detail`: sizes are chosen here, and servers other than OpenAI's refuse or ignore it.
    assert [set(part["image_url"]) for part in parts] == [{"url"}] * 5
    limits = vision_profile(model).images
    for part, colour in zip(parts, COLOURS, strict=True):
        image = _image(part)
        wanted = Image.new("RGB", (1, 1), colour).getpixel((0, 0))
        found = image.getpixel((image.width // 2, image.height // 2))
        assert isinstance(found, tuple)
        assert isinstance(wanted, tuple)
        assert max(abs(one - two) for one, two in zip(found, wanted, strict=True)) < 12
        assert limits.least_pixels <= image.width * image.height <= limits.most_pixels
        assert image.width % limits.multiple == image.height % limits.multiple == 0


def test_what_is_beyond_the_count_limit_is_named(tmp_path: Path) -> None:
    for at in range(11):
        Image.new("RGB", (60, 60), "white").save(tmp_path / f"{at:02}.png")
    body, _ = _sent("openai/gpt-4.1-mini", tmp_path)
    content = body["messages"][0]["content"]
    assert [part["type"] for part in content].count("image_url") == 8
    assert content[-2] == {
        "type": "text",
        "text": "Not sent, beyond the limit of images: 08.png, 09.png, 10.png",
    }


def test_reasoning_of_the_family_is_taken_out(tmp_path: Path) -> None:
    Image.new("RGB", (60, 60), "red").save(tmp_path / "a.png")
    kimi = _sent(MODELS[3], tmp_path, "◁think▷Hm.◁/think▷Red.")
    qwen = _sent("vllm/Qwen/Qwen3-VL-30B-A3B-Thinking", tmp_path, "<think>Hm.</think>Red.")
    assert (kimi[1], qwen[1]) == ("Red.", "Red.")


def test_without_images_a_message_is_plain_text(tmp_path: Path) -> None:
    body, _ = _sent("openai/gpt-4.1-mini", tmp_path)
    assert body["messages"] == [{"role": "user", "content": "Which colours?"}]


def test_what_keeps_the_replies_is_not_taken_for_the_endpoint(tmp_path: Path) -> None:
    Image.new("RGB", (90, 60), "red").save(tmp_path / "0.png")

    def full(event: dict[str, Any]) -> None:
        raise BadInput(f"cannot write the {event['type']}: no space left")

    async def run(url: str) -> None:
        opened = open_model(MODELS[0], base_url=url)
        try:
            sample = Sample(id="s", task_id="s", prompt="?", workdir=tmp_path)
            context = replace(react_context(sample, AgentContext(model=opened)), on_event=full)
            await ask(context, "Which?", await packed_images(context), turns=0)
        finally:
            await opened.aclose()

    with serve(lambda body: completion("ok")) as served, pytest.raises(BadInput) as caught:
        asyncio.run(run(served.url))
    assert str(caught.value) == "cannot write the reply: no space left"

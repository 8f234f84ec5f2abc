"""A scripted model that looks at pictures, and a work folder with two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from tests.agents.scripted import Script, completion
from tests.models.http_server import Answer

SOLVED = '{"steps": [{"text": "Jan is 40.", "seen": "Jan is 40"}, {"text": "So."}], "answer": "40"}'
_OPENINGS = {
    "Say what": "perceive",
    "A question": "plan",
    "Look at one": "look",
    "Look at the image and write": "extract",
    "Compare one claim": "audit",
    "Judge one step": "judge",
}


def pictures(folder: Path) -> Path:
    """A work folder with two pictures, one of them far too large."""
    folder.mkdir()
    Image.new("RGB", (300, 200), "white").save(folder / "a.png")
    Image.new("L", (4000, 3000), 128).save(folder / "b.jpg")
    return folder


def prompt_of(messages: list[dict[str, Any]]) -> str:
    """The text of the first user message."""
    content = next(m["content"] for m in messages if m["role"] == "user")
    return content if isinstance(content, str) else content[-1]["text"]


def kind_of(messages: list[dict[str, Any]]) -> str:
    """Name the graph's call."""
    text = prompt_of(messages)
    return next((kind for start, kind in _OPENINGS.items() if text.startswith(start)), "reason")


def looking_script(**replies: Answer) -> Script:
    """Script the model's reply to every kind of call."""
    said = {
        "perceive": completion("A bar chart."),
        "plan": completion("Here:\n- the bar of Jan\n2. the unit\n"),
        "look": completion("Seen: Jan is 40"),
        "reason": completion(SOLVED),
    } | replies
    return lambda messages: said[kind_of(messages)]

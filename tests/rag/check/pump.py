"""Notes about a pump, a wrong answer, and a Checker that quotes the notes."""

from __future__ import annotations

import json
from typing import Any

from tests.models.http_server import Answer, completion

NOTES = "The pump was replaced in 2019. It moves 320 litres per minute."
WRONG = "The pump moves 420 litres per minute."


def quoting(body: dict[str, Any]) -> Answer:
    """Answer as an endpoint: the flow to every question of a Checker, no pair otherwise."""
    one = {"evidence": "It moves 320 litres per minute.", "answer": "320 litres per minute"}
    blind = "from the documents alone" in body["messages"][-1]["content"]
    return completion(json.dumps([one] * 9) if blind else "[]")

"""Functions as agents that know nothing of the harness.

Every attempt imports this file in a process of its own: it loads no library that takes a second.
"""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path


def asks(prompt: str, workdir: str, skill: str | None) -> str:
    """One call."""
    assert Path(workdir).is_dir() and skill is None
    return _reply(prompt)


def asks_with_skill(prompt: str, workdir: str, skill: str | None) -> str:
    """Ask with the skill, if there is one, before the prompt."""
    text = Path(skill, "SKILL.md").read_text("utf-8") if skill else ""
    return _reply(f"{text}{prompt}")


def _reply(prompt: str) -> str:
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps({"model": "any", "messages": [{"role": "user", "content": prompt}]}).encode(),
        {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def returns_nothing(prompt: str, workdir: str, skill: str | None) -> None:
    """It forgot its answer."""

"""The simulated analyst and merger: lessons from logs, and one patch from many."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from harness.models.simulated.conversation import Conversation
from harness.models.simulated.profile import FailureMode, Profile

_IDLE = "Read the task twice before you start."
_PATCH_WORDS = ('"edits"', "changelog_entries", "JSON patch")
_HEADING = re.compile(r"^## (?!.*\b(?:Failure|Success|Log|Task|Title|Step)\b).+$", re.MULTILINE)


def analysis(profile: Profile, view: Conversation) -> str | None:
    """A reply to an analyst's or a merger's request; None if the request is neither."""
    text = view.instructions
    if any(word in text for word in _PATCH_WORDS):
        patches = _patches(view.task)
        return json.dumps(_merged(patches) if len(patches) > 1 else _patch(profile, view))
    for kind in ("Failure", "Success"):
        if f"{kind} Memory Item" in text:
            return _report(profile, view, kind)
    return None


def _recognised(profile: Profile, log: str) -> list[FailureMode]:
    return [
        mode
        for mode in profile.modes
        if mode.lesson and mode.symptom and re.search(mode.symptom, log)
    ][:3]


def _patch(profile: Profile, view: Conversation) -> dict[str, Any]:
    modes = _recognised(profile, view.task)
    lessons = [mode.lesson for mode in modes] or [_IDLE]
    heading = _HEADING.search(view.task)
    edits = [
        {
            "file": "SKILL.md",
            "op": "append_to_section" if heading else "add_section",
            "target_section": heading[0].strip() if heading else "## Lessons",
            "content": f"- {lesson}",
        }
        for lesson in lessons
    ]
    names = ", ".join(mode.name for mode in modes) or "nothing that the log explains"
    return {"reasoning": f"The log shows: {names}.", "edits": edits, "changelog_entries": lessons}


def _patches(text: str) -> list[dict[str, Any]]:
    """Every JSON object with `edits` in the text."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    position = text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except ValueError:
            end = position + 1
        else:
            found += [item for item in _objects(value) if item.get("edits")]
        position = text.find("{", end)
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", value)] if isinstance(value, dict) else []


def _merged(patches: list[dict[str, Any]]) -> dict[str, Any]:
    """Edits of the same content once, the most frequent first, idle advice dropped."""
    counts: dict[str, int] = {}
    edits: dict[str, dict[str, Any]] = {}
    for patch in patches:
        for edit in patch["edits"]:
            content = str(edit.get("content", ""))
            counts[content] = counts.get(content, 0) + 1
            edits.setdefault(content, edit)
    order = sorted(edits, key=lambda content: (-counts[content], content))
    kept = [content for content in order if _IDLE not in content] or order
    return {
        "reasoning": f"{len(edits)} distinct edits in {len(patches)} patches.",
        "edits": [edits[content] for content in kept],
        "changelog_entries": [content.lstrip("- ") for content in kept],
    }


def _report(profile: Profile, view: Conversation, kind: str) -> str:
    modes = _recognised(profile, view.task)
    lessons = [(mode.name, mode.lesson) for mode in modes] or [("care", _IDLE)]
    parts = [f"# {kind} Cause Item 1\n\n{lessons[0][0]}"] if kind == "Failure" else []
    for number, (name, lesson) in enumerate(lessons, start=1):
        parts.append(
            f"# {kind} Memory Item {number}\n\n## Title\n{name}\n\n## Description\n{name}: how to "
            f"avoid it.\n\n## Content\n{lesson}"
        )
    return "\n\n".join(parts)

"""The simulated analyst and merger: lessons from logs, and one patch from many."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from lab.simulator.conversation import Conversation
from lab.simulator.profile import FailureMode, Profile

_IDLE = "Read the task twice before you start."
_PATCH_WORDS = ('"edits"', "changelog_entries", "JSON patch")
_NUMBERED = re.compile(r"^(\S+) \(support (\d+)\): (\{.*\})$", re.MULTILINE)
_FENCED = re.compile(r"<<<BEGIN DATA (\w+)>>>\n(.*)\n<<<END DATA \1>>>", re.DOTALL)
_RECORDS = re.compile(r"<record>\n(.*?)\n</record>", re.DOTALL)
_HEADING = re.compile(r"^## (?!.*\b(?:Failure|Success|Log|Task|Title|Step)\b).+$", re.MULTILINE)


def analysis(profile: Profile, view: Conversation) -> str | None:
    """A reply to an analyst's or a merger's request; None if the request is neither.

    The first user message says which role is asked; a later one may only complain of a reply.
    """
    text = f"{view.system}\n{view.opening}"
    if '"memory_items"' in text:
        log, failed = _part(view.opening, "transcript"), '"error"' in view.opening
        if profile.analyst is not None:
            return json.dumps(profile.analyst.record(log, failed=failed))
        return json.dumps(_record(profile, log, failed))
    if numbered := _NUMBERED.findall(view.opening):
        return json.dumps(_merged_by_id(numbered))
    if records := _RECORDS.findall(view.opening):
        return json.dumps(_mapped(records, _part(view.opening, "skill")))
    modes = _recognised(profile, view.task)
    if any(word in text for word in _PATCH_WORDS):
        patches = _patches(view.task)
        if len(patches) > 1:
            return json.dumps(_merged(patches))
        lessons = [mode.lesson for mode in modes] or [_IDLE]
        names = ", ".join(mode.name for mode in modes) or "nothing that the log explains"
        return json.dumps({
            "reasoning": f"The log shows: {names}.",
            "edits": [_edit(f"- {lesson}", view.task) for lesson in lessons],
            "changelog_entries": lessons,
        })  # fmt: skip
    kind = next((kind for kind in ("Failure", "Success") if f"{kind} Memory Item" in text), None)
    if kind is None:
        return None
    items = [(mode.name, mode.lesson) for mode in modes] or [("care", _IDLE)]
    parts = [f"# {kind} Cause Item 1\n\n{items[0][0]}"] if kind == "Failure" else []
    parts += [
        f"# {kind} Memory Item {number}\n\n## Title\n{name}\n\n## Description\n{name}: how to "
        f"avoid it.\n\n## Content\n{lesson}"
        for number, (name, lesson) in enumerate(items, start=1)
    ]
    return "\n\n".join(parts)


def _part(text: str, tag: str) -> str:
    """Return the text between two tags, without a fence around it."""
    part = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    inner = part[1] if part else ""
    fenced = _FENCED.search(inner)
    return fenced[2] if fenced else inner


def _record(profile: Profile, log: str, failed: bool) -> dict[str, Any]:
    """Describe what one log shows, with the lines that show it."""
    modes = _recognised(profile, log) if failed else []
    first = next((line.strip() for line in log.splitlines() if line.strip()), "")
    quotes: list[str] = []
    for mode in modes:
        # The line of the symptom, with the one before it: a symptom alone may be short.
        symptom = re.search(mode.symptom, log)
        assert symptom is not None, "it was recognised"
        before = log.rfind("\n", 0, max(0, log.rfind("\n", 0, symptom.start())))
        ending = log[symptom.end() :].partition("\n")[0]
        quotes.append((log[before + 1 : symptom.end()] + ending).strip()[-200:])
    lessons = [(mode.name, mode.lesson) for mode in modes] or [("care", _IDLE)]
    cause = ", ".join(mode.name for mode in modes) or "nothing that the log explains"
    return {
        "analyst_type": "error" if failed else "success",
        "root_cause" if failed else "success_surface": f"The log shows: {cause}.",
        "evidence": quotes or [first[:100]],
        "memory_items": [
            {"title": name, "lesson": lesson, "generalization": "every task of this kind"}
            for name, lesson in lessons
        ],
    }


def _mapped(records: list[str], skill: str) -> dict[str, Any]:
    """One edit for each lesson of the records that the skill does not say yet."""
    items: list[dict[str, Any]] = []
    for record in records:
        raw: dict[str, Any] = json.loads(record)
        items += raw.get("items") or raw.get("memory_items") or []
    lessons = [(str(item.get("title", "")), str(item.get("lesson", ""))) for item in items]
    new = [lesson for lesson in lessons if lesson[1] not in skill] or lessons
    return {
        "reasoning": f"{len(new)} lessons of {len(records)} records.",
        "edits": [
            _edit(f"- **{title.strip().capitalize()}**: {lesson}", skill) for title, lesson in new
        ],
        "changelog_entries": [lesson for _, lesson in new],
    }


def _edit(content: str, skill: str) -> dict[str, Any]:
    heading = _HEADING.search(skill)
    return {
        "file": "SKILL.md",
        "op": "append_to_section" if heading else "add_section",
        "target_section": heading[0].strip() if heading else "## Lessons",
        "content": content,
    }


def _merged_by_id(numbered: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Edits of the same content become one, which names the ids of all of them."""
    groups: dict[str, tuple[int, list[str], dict[str, Any]]] = {}
    for name, support, text in numbered:
        edit: dict[str, Any] = json.loads(text)
        content = str(edit.get("content", "")).strip()
        count, names, first = groups.get(content, (0, [], edit))
        groups[content] = (count + int(support), [*names, name], first)
    ranked = sorted(groups.values(), key=lambda group: (-group[0], group[1][0]))
    fields = ("file", "op", "target_section", "target_text", "content", "old_text", "after_section")
    return {
        "reasoning": f"{len(groups)} distinct edits among {len(numbered)}.",
        "edits": [
            {"from": names} | {name: edit[name] for name in fields if edit.get(name)}
            for _, names, edit in ranked
        ],
        "changelog_entries": [str(edit.get("content", "")).lstrip("- ") for *_, edit in ranked],
    }


def _recognised(profile: Profile, log: str) -> list[FailureMode]:
    return [
        mode
        for mode in profile.modes
        if mode.lesson and mode.symptom and re.search(mode.symptom, log)
    ][:3]


def _patches(text: str) -> list[dict[str, Any]]:
    """Every JSON object with `edits` in the text."""
    decoder = json.JSONDecoder()
    patches: list[dict[str, Any]] = []
    position = text.find("{")
    while position >= 0:
        try:
            decoded: tuple[dict[str, Any], int] = decoder.raw_decode(text, position)
        except ValueError:
            decoded = {}, position + 1
        value, end = decoded
        patches += [value] if value.get("edits") else []
        position = text.find("{", end)
    return patches


def _merged(patches: list[dict[str, Any]]) -> dict[str, Any]:
    """Edits of the same content once, the most frequent first, idle advice dropped."""
    counts: Counter[str] = Counter()
    edits: dict[str, dict[str, Any]] = {}
    for edit in (edit for patch in patches for edit in patch["edits"]):
        content = str(edit.get("content", ""))
        counts[content] += 1
        edits.setdefault(content, edit)
    order = sorted(edits, key=lambda content: (-counts[content], content))
    useful = [content for content in order if _IDLE not in content] or order
    return {
        "reasoning": f"{len(edits)} distinct edits in {len(patches)} patches.",
        "edits": [edits[content] for content in useful],
        "changelog_entries": [content.lstrip("- ") for content in useful],
    }

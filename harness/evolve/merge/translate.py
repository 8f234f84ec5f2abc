"""Edits whose anchors do not stand in the skill: the merger may put them right, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.core import Edit, Patch, Usage, render
from harness.evolve.analysts.json_reply import ask_json
from harness.models import Model
from harness.skills import Skill, apply_patch

ANCHORS = ("target_section", "target_text", "old_text", "after_section")
ANCHORED = ("insert_after", "insert_before", "append_to_section", "replace_in_section")


async def translate(
    skill: Skill, edits: Sequence[Edit], model: Model
) -> tuple[tuple[Edit, ...], Usage]:
    """The edits, with corrected anchors where a trial application withheld one.

    Only anchors may change: a reply that changes anything else is not used, and the edit stays
    as it was, to be withheld with its reason.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    trial = apply_patch(skill, Patch(edits=tuple(edits)))
    withheld = {edit.model_dump_json(): reason for edit, reason in trial.withheld}
    found: list[Edit] = []
    usage = Usage()
    for edit in edits:
        reason = withheld.get(edit.model_dump_json())
        text = skill.file_text(edit.file)
        if reason is None or text is None or edit.op not in ANCHORED:
            found.append(edit)
            continue
        corrected, used = await _corrected(edit, reason, text, model)
        usage += used
        found.append(corrected or edit)
    return tuple(found), usage


async def _corrected(edit: Edit, reason: str, text: str, model: Model) -> tuple[Edit | None, Usage]:
    def accept(data: dict[str, Any]) -> Edit | None:
        raw = data.get("edit")
        if raw is None:
            return None
        if not isinstance(raw, dict):
            raise ValueError('expected {"edit": {...}} or {"edit": null}')
        anchors = {name: str(raw[name]) for name in ANCHORS if name in raw}  # pyright: ignore[reportUnknownArgumentType]  # JSON
        return edit.model_copy(update=anchors)

    shown = edit.model_dump_json(exclude={"sources", "support"}, exclude_defaults=True)
    prompt = render("patch_translate", edit=shown, reason=reason, file=edit.file, text=text)
    found, _, usage = await ask_json(model, prompt, accept)
    return found, usage

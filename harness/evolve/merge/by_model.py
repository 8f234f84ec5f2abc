"""Merging by a model, with books kept: no source is lost and none invented; anchors put right."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness.core import Edit, Patch, Usage, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.merge.deterministic import batches, merge_deterministic, support
from harness.evolve.types import Loss, Merge, MergeStep
from harness.models import Model
from harness.skills import Skill, apply_patch

# Patches of one merge prompt together: what a window of 32,000 tokens holds with its reply.
PROMPT_CHARACTERS = 60_000
ANCHORS = ("target_section", "target_text", "old_text", "after_section")
ANCHORED = ("insert_after", "insert_before", "append_to_section", "replace_in_section")


def prompt_batches(patches: Sequence[Patch], size: int) -> list[list[Patch]]:
    """Batches of `size`, halved until each part fits a prompt."""

    def fitting(batch: list[Patch]) -> list[list[Patch]]:
        edits = [edit for patch in batch for edit in patch.edits]
        length = sum(len(edit.content) + len(edit.old_text) for edit in edits)
        if length <= PROMPT_CHARACTERS or len(batch) < 2:
            return [batch]
        middle = len(batch) // 2
        return [*fitting(batch[:middle]), *fitting(batch[middle:])]

    return [part for batch in batches(patches, size) for part in fitting(batch)]


async def merge_batch(
    patches: Sequence[Patch], model: Model, tasks: Mapping[str, str], terms: frozenset[str]
) -> MergeStep:
    """Merge one batch by the model.

    A merge that loses a source or invents one is sent back, and after two repairs replaced by the
    deterministic merge of the same batch; a batch of one patch is left as it is.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    if len(patches) == 1:
        return MergeStep(merge=Merge(patch=patches[0]), members=1)
    all_edits = [edit for patch in patches for edit in patch.edits]
    edits = {f"e{number}": edit for number, edit in enumerate(all_edits, start=1)}
    rows: list[dict[str, Any]] = []
    for key, edit in edits.items():
        shown = edit.model_dump(exclude={"sources", "support"}, exclude_defaults=True)
        text = json.dumps(shown, ensure_ascii=False)
        rows.append({"id": key, "support": edit.support, "edit": text})
    prompt = render("patch_merge", edits=rows)
    patch, reason, usage = await ask_json(model, prompt, lambda data: balanced(data, edits, tasks))
    if patch is not None:
        return MergeStep(merge=Merge(patch=patch), members=len(patches), usage=usage)
    reason = f"batch of {len(patches)} merged without the model: {reason}"
    loss = Loss(trajectory_id="", stage="reduce", reason=reason)
    fallback = merge_deterministic(patches, tasks, terms)
    return MergeStep(merge=fallback, members=len(patches), losses=(loss,), usage=usage)


def balanced(data: dict[str, Any], edits: Mapping[str, Edit], tasks: Mapping[str, str]) -> Patch:
    """The merged patch with sources from `from` ids.

    Raises:
        ValueError: if an id is invented, lost or used twice.
    """
    merged: list[Edit] = []
    used: list[str] = []
    for raw in cast("list[dict[str, Any]]", data.get("edits") or []):
        ids = [str(name) for name in cast("list[Any]", raw.get("from") or [])]
        if not ids:
            raise ValueError("an edit has no `from`")
        if invented := [name for name in ids if name not in edits]:
            raise ValueError(f"`from` holds ids that were not given: {invented!r}")
        used += ids
        sources = tuple(sorted({source for name in ids for source in edits[name].sources}))
        fields = {key: raw[key] for key in Edit.model_fields if key in raw}
        fields |= {"sources": sources, "support": support(sources, tasks)}
        merged.append(Edit.model_validate(fields))
    lost = sorted(edits.keys() - set(used))
    twice = sorted({name for name in used if used.count(name) > 1})
    if lost or twice:
        raise ValueError(f"ids missing from every `from`: {lost!r}; ids used twice: {twice!r}")
    entries = cast("list[Any]", data.get("changelog_entries") or [])
    return Patch(
        reasoning=str(data.get("reasoning", "")),
        edits=tuple(merged),
        changelog_entries=tuple(map(str, entries)),
    )


async def translate_anchors(
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
    translated: list[Edit] = []
    total = Usage()
    for edit in edits:
        reason, text = withheld.get(edit.model_dump_json()), skill.file_text(edit.file)
        if reason is None or text is None or edit.op not in ANCHORED:
            translated.append(edit)
            continue

        def corrected(data: dict[str, Any], edit: Edit = edit) -> Edit:
            raw = data.get("edit")
            if raw is None:
                return edit
            if not isinstance(raw, dict):
                raise ValueError('expected {"edit": {...}} or {"edit": null}')
            anchors = {name: str(raw[name]) for name in ANCHORS if name in raw}  # pyright: ignore[reportUnknownArgumentType]  # JSON
            return edit.model_copy(update=anchors)

        shown = edit.model_dump_json(exclude={"sources", "support"}, exclude_defaults=True)
        prompt = render("patch_translate", edit=shown, reason=reason, file=edit.file, text=text)
        new, _, usage = await ask_json(model, prompt, corrected)
        total += usage
        translated.append(new or edit)
    return tuple(translated), total

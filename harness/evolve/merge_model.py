"""Hierarchical merging by a model, with books kept: no source is lost and none invented."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness.core import Edit, Patch, Usage, Value
from harness.core.prompts import render
from harness.evolve.analysts import side_by_side
from harness.evolve.batches import batches
from harness.evolve.dialogue import ask_json
from harness.evolve.merge import merge_deterministic, support
from harness.evolve.types import Conflict, Discarded, Loss, Merge
from harness.models.types import Model


class ModelMerge(Value):
    """The result of a hierarchical merge.

    Attributes:
        merge: the final patch with what the fall-backs left out.
        levels: the patches of every level, the first level first.
        losses: batches whose reply was rejected; they were merged without a model.
    """

    merge: Merge
    levels: tuple[tuple[Patch, ...], ...]
    losses: tuple[Loss, ...]
    usage: Usage


async def merge_with_model(
    patches: Sequence[Patch],
    model: Model,
    tasks: Mapping[str, str],
    *,
    batch: int = 32,
    terms: frozenset[str] = frozenset(),
    concurrency: int = 16,
) -> ModelMerge:
    """Merge level by level in batches of `batch` until one patch is left.

    A merge that loses a source or invents one is sent back, and after two repairs replaced by the
    deterministic merge of the same batch.
    """
    levels: list[tuple[Patch, ...]] = []
    losses: list[Loss] = []
    discarded: list[Discarded] = []
    conflicts: list[Conflict] = []
    usage = Usage()
    current = list(patches)
    while len(current) > 1:

        async def merge_one(members: list[Patch]) -> tuple[Merge, str, Usage]:
            return await _merge_batch(members, model, tasks, terms)

        merged = await side_by_side(batches(current, batch), merge_one, concurrency)
        for result, reason, used in merged:
            usage += used
            discarded += result.discarded
            conflicts += result.conflicts
            if reason:
                losses.append(Loss(trajectory_id="", stage="reduce", reason=reason))
        current = [result.patch for result, _, _ in merged]
        levels.append(tuple(current))
    final = current[0] if current else Patch(reasoning="no patches")
    edits = sorted(final.edits, key=lambda edit: -edit.support)
    return ModelMerge(
        merge=Merge(
            patch=final.model_copy(update={"edits": tuple(edits)}),
            discarded=tuple(discarded),
            conflicts=tuple(conflicts),
            method=f"model {model.spec}, batches of {batch}",
        ),
        levels=tuple(levels),
        losses=tuple(losses),
        usage=usage,
    )


async def _merge_batch(
    patches: Sequence[Patch], model: Model, tasks: Mapping[str, str], terms: frozenset[str]
) -> tuple[Merge, str, Usage]:
    if len(patches) == 1:
        return Merge(patch=patches[0]), "", Usage()
    known = {
        f"e{number}": edit
        for number, edit in enumerate((e for p in patches for e in p.edits), start=1)
    }
    prompt = render("patch_merge", edits=[_entry(key, edit) for key, edit in known.items()])
    patch, reason, usage = await ask_json(model, prompt, lambda data: balanced(data, known, tasks))
    if patch is not None:
        return Merge(patch=patch), "", usage
    fallback = merge_deterministic(patches, tasks, terms)
    return fallback, f"batch of {len(patches)} merged without the model: {reason}", usage


def _entry(key: str, edit: Edit) -> dict[str, Any]:
    shown = edit.model_dump(exclude={"sources", "support"}, exclude_defaults=True)
    return {"id": key, "support": edit.support, "edit": json.dumps(shown, ensure_ascii=False)}


def balanced(data: dict[str, Any], known: Mapping[str, Edit], tasks: Mapping[str, str]) -> Patch:
    """The merged patch with sources from `from` ids.

    Raises:
        ValueError: if an id is invented, lost or used twice.
    """
    edits: list[Edit] = []
    used: list[str] = []
    for raw in cast("list[dict[str, Any]]", data.get("edits") or []):
        ids = [str(one) for one in cast("list[Any]", raw.get("from") or [])]
        invented = [one for one in ids if one not in known]
        if invented or not ids:
            raise ValueError(f"`from` holds ids that were not given: {invented!r}" if invented
                             else "an edit has no `from`")  # fmt: skip
        used += ids
        fields = {key: raw[key] for key in Edit.model_fields if key in raw}
        sources = tuple(sorted({source for one in ids for source in known[one].sources}))
        fields |= {"sources": sources, "support": support(sources, tasks)}
        edits.append(Edit.model_validate(fields))
    lost = sorted(known.keys() - set(used))
    twice = sorted({one for one in used if used.count(one) > 1})
    if lost or twice:
        raise ValueError(f"ids missing from every `from`: {lost!r}; ids used twice: {twice!r}")
    return Patch(
        reasoning=str(data.get("reasoning", "")),
        edits=tuple(edits),
        changelog_entries=tuple(
            str(one) for one in cast("list[Any]", data.get("changelog_entries") or [])
        ),
    )

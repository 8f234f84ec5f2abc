"""Hierarchical merging by a model, with books kept: no source is lost and none invented."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from harness.core import Edit, Patch, Usage, Value, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.merge.deterministic import merge_deterministic, support
from harness.evolve.types import Loss, Merge
from harness.models import Model


class MergeStep(Value):
    """One merge of one batch.

    Attributes:
        merge: the batch as one patch, with what a fall-back left out.
        members: number of patches in the batch.
        losses: why the model's reply was rejected, if it was: the batch was merged without it.
    """

    merge: Merge
    members: int = 0
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()


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
    known = {
        f"e{number}": edit
        for number, edit in enumerate((e for p in patches for e in p.edits), start=1)
    }
    prompt = render("patch_merge", edits=[_entry(key, edit) for key, edit in known.items()])
    patch, reason, usage = await ask_json(model, prompt, lambda data: balanced(data, known, tasks))
    if patch is not None:
        return MergeStep(merge=Merge(patch=patch), members=len(patches), usage=usage)
    reason = f"batch of {len(patches)} merged without the model: {reason}"
    loss = Loss(trajectory_id="", stage="reduce", reason=reason)
    fallback = merge_deterministic(patches, tasks, terms)
    return MergeStep(merge=fallback, members=len(patches), losses=(loss,), usage=usage)


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

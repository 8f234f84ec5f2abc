"""Merging by a model, with books kept: no source is lost and none invented, every rule says
what its sources said, and anchors are put right.

A model that merges lessons writes sentences of its own. Each is held against its sources
(:func:`harness.evolve.merge.wording.fault`): code and names that none of them has, the opposite
polarity, words from nowhere and words that nobody used. Where it fails, the source's lesson that is
most like it takes its place.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from harness.core import Edit, Patch, Usage, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.merge.answers import named_answers
from harness.evolve.merge.contradictions import disagreement, sides
from harness.evolve.merge.deterministic import merge_deterministic, rule_of, varying
from harness.evolve.merge.evidence import quoted, signs_of
from harness.evolve.merge.lessons import Cause, Lesson, Lessons, of_edit, support
from harness.evolve.merge.similarity import similarities
from harness.evolve.merge.speakers import distinct
from harness.evolve.merge.wording import best_wording, content_words, fault
from harness.evolve.rules import Rule
from harness.evolve.types import SAID, AnalystRecord, Discarded, Loss, Merge, MergeStep
from harness.models import Model
from harness.skills import Skill, apply_patch

if TYPE_CHECKING:
    from harness.evolve.merge.outcomes import Contrast

# Patches of one merge prompt together: what a window of 32,000 tokens holds with its reply.
PROMPT_CHARACTERS = 60_000
# Part of the likeness to the most similar rule of a merge that a rule has which says a lesson.
NEAREST = 0.5
ANCHORS = ("target_section", "target_text", "old_text", "after_section")
ANCHORED = ("insert_after", "insert_before", "append_to_section", "replace_in_section")

ItemT = TypeVar("ItemT")


def batches(items: Sequence[ItemT], size: int) -> list[list[ItemT]]:
    """Deal `items` into batches of `size`.

    Full batches in order; a remainder below half a batch is dealt one by one to the batches
    before it, a larger one is a batch of its own (Trace2Skill, official `chunk_list`:
    70 at 32 gives [35, 35]).

    Raises:
        ValueError: if `size` is below 2, which would never come to one patch.
    """
    if size < 2:
        raise ValueError(f"a merge batch holds at least 2 patches, got {size}")
    dealt = [list(items[start : start + size]) for start in range(0, len(items), size)]
    if len(dealt) > 1 and 2 * len(dealt[-1]) < size:
        for position, item in enumerate(dealt.pop()):
            dealt[position % len(dealt)].append(item)
    return dealt


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
    patches: Sequence[Patch],
    model: Model,
    tasks: Mapping[str, str],
    terms: frozenset[str],
    labels: tuple[str, ...] = (),
) -> MergeStep:
    """Merge one batch by the model.

    A merge that loses a source or invents one is sent back, and after two repairs replaced by the
    deterministic merge of the same batch; a batch of one patch is left as it is. That a rule says
    a lesson is checked (:func:`verified`).

    Args:
        patches: the batch.
        model: that merges.
        tasks: trajectory id -> task id.
        terms: words of the benchmark that no rule may hold.
        labels: answers that agents choose among.

    Raises:
        Unreachable, LimitReached: answered calls are in the request cache.
    """
    if len(patches) == 1:
        return MergeStep(merge=Merge(patch=patches[0]), members=1)
    all_edits = [edit for patch in patches for edit in patch.edits]
    edits = {f"e{number}": edit for number, edit in enumerate(all_edits, start=1)}
    rows: list[dict[str, Any]] = []
    for key, edit in edits.items():
        fields = edit.model_dump(exclude={"sources", "support"}, exclude_defaults=True)
        text = json.dumps(fields, ensure_ascii=False)
        rows.append({"id": key, "support": edit.support, "edit": text})
    prompt = render("patch_merge", edits=rows)
    merge, reason, usage = await ask_json(
        model, prompt, lambda data: verified(*balanced(data, edits), tasks, terms, labels)
    )
    if merge is not None:
        return MergeStep(merge=merge, members=len(patches), usage=usage)
    reason = f"batch of {len(patches)} merged without the model: {reason}"
    loss = Loss(trajectory_id="", stage="reduce", reason=reason)
    fallback = merge_deterministic(patches, tasks, terms)
    return MergeStep(merge=fallback, members=len(patches), losses=(loss,), usage=usage)


def balanced(
    data: dict[str, Any], edits: Mapping[str, Edit]
) -> tuple[Patch, list[tuple[Edit, ...]]]:
    """The merged patch without sources, and the edits that each of its edits names in `from`.

    Raises:
        ValueError: if an id is invented, lost or used twice.
    """
    merged: list[Edit] = []
    members: list[tuple[Edit, ...]] = []
    used: list[str] = []
    for raw in cast("list[dict[str, Any]]", data.get("edits") or []):
        ids = [str(name) for name in cast("list[Any]", raw.get("from") or [])]
        if not ids:
            raise ValueError("an edit has no `from`")
        if invented := [name for name in ids if name not in edits]:
            raise ValueError(f"`from` holds ids that were not given: {invented!r}")
        used += ids
        fields = {key: raw[key] for key in Edit.model_fields if key in raw}
        merged.append(Edit.model_validate({**fields, "sources": (), "support": 0}))
        members.append(tuple(edits[name] for name in ids))
    lost = sorted(edits.keys() - set(used))
    twice = sorted({name for name in used if used.count(name) > 1})
    if lost or twice:
        raise ValueError(f"ids missing from every `from`: {lost!r}; ids used twice: {twice!r}")
    entries = cast("list[Any]", data.get("changelog_entries") or [])
    reasoning = str(data.get("reasoning", ""))
    entries = tuple(map(str, entries))
    return Patch(reasoning=reasoning, edits=tuple(merged), changelog_entries=entries), members


def verified(
    patch: Patch,
    members: Sequence[Sequence[Edit]],
    tasks: Mapping[str, str],
    terms: frozenset[str],
    labels: tuple[str, ...],
) -> Merge:
    """The merge, in which each rule has the lessons that it says; others are merged without it.

    A rule says a lesson if nothing that matters tells them apart, and it asks for the same answer,
    or shares words with it and is not far less like it than the most similar rule. A lesson that
    contradicts the rule it is listed under, which more tasks teach, is left out.

    Args:
        patch: as the model merged it.
        members: of each of its edits, those that it says it was made of.
        tasks: trajectory id -> task id.
        terms: words of the benchmark that no rule may hold.
        labels: answers that agents choose among.
    """
    listed = [(index, edit) for index, edits in enumerate(members) for edit in edits]
    alike = similarities([edit.content for edit in (*patch.edits, *(edit for _, edit in listed))])
    joined: list[list[Edit]] = [[] for _ in members]
    separate: list[Edit] = []
    discarded: list[Discarded] = []
    for (index, lesson), likeness in zip(
        listed, alike[len(members) :, : len(members)], strict=True
    ):
        rule, votes = patch.edits[index], sum(edit.support for edit in members[index])
        texts = [" ".join(part.text for part in of_edit(edit)) for edit in (rule, lesson)]
        answers, lesson_answers = (named_answers(text, labels)[0] for text in texts)
        words, lesson_words = (set(content_words(text)) for text in texts)
        near = bool(words & lesson_words) and likeness[index] >= NEAREST * likeness.max()
        apart = distinct(*texts, labels) or disagreement(*map(sides, texts))
        if texts[0] == texts[1] or (not apart and (near or answers & lesson_answers)):
            joined[index].append(lesson)
            if texts[0] != texts[1]:
                row = Discarded.of(lesson, SAID)
                discarded.append(row.model_copy(update={"rule": rule.content}))
        elif near and apart not in ("number", "name", "") and 2 * lesson.support < votes:
            reason = f"it contradicts a rule that more tasks teach: {rule.content!r}"
            discarded.append(Discarded.of(lesson, reason))
        else:
            separate.append(lesson)
    without = merge_deterministic([Patch(edits=tuple(separate))], tasks, terms)
    edits = list(without.patch.edits)
    for rule, lessons in zip(patch.edits, joined, strict=True):
        if lessons:
            sources = tuple(sorted({source for edit in lessons for source in edit.sources}))
            update = {"sources": sources, "support": support(sources, tasks)}
            edits.append(rule.model_copy(update=update))
    return Merge(
        patch=patch.model_copy(update={"edits": tuple(edits)}),
        discarded=(*discarded, *without.discarded),
        conflicts=without.conflicts,
    )


def faithful(
    patch: Patch, patches: Sequence[Patch], terms: frozenset[str] = frozenset()
) -> tuple[Patch, tuple[Discarded, ...]]:
    """The patch, rules that say what no source said replaced; and the wordings that were refused.

    Args:
        patch: as the model merged it.
        patches: what the analysts wrote, before any merge.
        terms: words of the benchmark that no rule may hold.
    """
    lessons_of: dict[str, list[Lesson]] = defaultdict(list)
    for edit in (edit for member in patches for edit in member.edits):
        for lesson in of_edit(edit):
            for source in edit.sources:
                lessons_of[source].append(lesson)
    texts = {lesson.wording for lessons in lessons_of.values() for lesson in lessons}
    vocabulary = frozenset(word for text in texts for word in content_words(text))
    checked: list[Edit] = []
    refused: list[Discarded] = []
    for edit in patch.edits:
        rules = of_edit(edit)
        lessons = [lesson for source in edit.sources for lesson in lessons_of[source]]
        wordings = [lesson.text for lesson in lessons]
        faults = [
            reason
            for rule in rules
            if rule.text not in wordings and (reason := fault(rule.text, wordings, vocabulary))
        ]
        if not faults or not lessons:
            checked.append(edit)
            continue
        words = set(content_words(edit.content))
        likeness = [len(words & set(content_words(text))) for text in wordings]
        nearest = sorted(range(len(lessons)), key=lambda index: -likeness[index])
        wording = best_wording(lessons, nearest, terms)
        content = wording.markdown() if wording is not None else ""
        reason = f"a wording of the model's: {faults[0]}"
        refused.append(Discarded.of(edit, reason).model_copy(update={"rule": content}))
        checked += [edit.model_copy(update={"content": content})] if content else []
    return patch.model_copy(update={"edits": tuple(checked)}), tuple(refused)


def with_grounds(
    patch: Patch,
    rules: Sequence[Rule],
    records: Sequence[AnalystRecord],
    tasks: Mapping[str, str],
    contrast: Contrast | None,
) -> list[Rule]:
    """The known rules, and what the others rest on: of every source, the lesson most like the rule.

    Args:
        patch: with all rules.
        known: those of the deterministic merge.
        records: of the analysts.
        tasks: trajectory id -> task id.
        contrast: the runs; None where no lesson quotes any.
    """
    contents = {rule.content for rule in rules}
    lessons = [lesson for edit in patch.edits for lesson in of_edit(edit)]
    lessons = [lesson for lesson in lessons if lesson.for_readers() not in contents]
    by_run = {record.trajectory_id: record for record in records if record.items}
    rows: list[Lesson] = []
    quotes: list[tuple[str, ...]] = []
    causes: list[Cause] = []
    for number, lesson in enumerate(lessons):
        words, first = set(content_words(lesson.text)), len(rows)
        taught = [by_run[source] for source in lesson.sources if source in by_run]
        for record in taught:
            item = max(record.items, key=lambda item: len(words & set(content_words(item.line))))
            source = record.trajectory_id
            rows.append(Lesson(title=item.title, text=item.line, sources=(source,)))
            quotes.append(quoted(rows[-1], {(source, item.line): item.evidence}))
        praises = 2 * sum(record.kind == "success" for record in taught) > len(taught)
        members = range(first, len(rows))
        causes.append(Cause(number, members, lesson, lesson.sources, praises))
    praise = [cause.praise for cause in causes for _ in cause.members]
    quotes, confusions = varying(rows, quotes, praise, contrast)
    blamed = [
        [n for n in cause.members if not confusions[n]] for cause in causes if not cause.praise
    ]
    signs = signs_of(rows, quotes, blamed)
    merged = Lessons(rows=rows, tasks=tasks, quotes=quotes, praise=praise, confusions=confusions)
    return [*rules, *(rule_of(merged, cause, signs) for cause in causes)]


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

        edit_json = edit.model_dump_json(exclude={"sources", "support"}, exclude_defaults=True)
        prompt = render("patch_translate", edit=edit_json, reason=reason, file=edit.file, text=text)
        new, _, usage = await ask_json(model, prompt, corrected)
        total += usage
        translated.append(new or edit)
    return tuple(translated), total

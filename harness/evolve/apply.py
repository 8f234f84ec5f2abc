"""The last stages: one patch becomes a skill, is validated, written and gated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput, Edit, Patch, Usage, Value
from harness.evals import ItemRecord
from harness.evolve.evolution import Event, Evolution, State, Update, detached
from harness.evolve.gate import sequential_gate
from harness.evolve.merge.by_model import merged
from harness.evolve.merge.translate import translate
from harness.evolve.types import Discarded, GateResult
from harness.skills import (
    ApplyResult,
    Problem,
    Skill,
    admit_scripts,
    apply_patch,
    lint_text,
    scripts_of,
    validate,
    write_skill,
)


class Translated(Value):
    """The merged patch with anchors that exist in the seed, and what may not enter any skill."""

    patch: Patch
    discarded: tuple[Discarded, ...] = ()


class Final(Value):
    """The patch as it is applied, and what found no place in it."""

    patch: Patch
    discarded: tuple[Discarded, ...] = ()


async def to_edits(evolution: Evolution, state: State) -> Update:
    """The merged patch as edits of the seed, without unsafe ones, with anchors that exist."""
    patch = merged(evolution, state).patch
    edits, unsafe = _safe(patch.edits)
    used = Usage()
    if evolution.merger is not None and not evolution.exemplar:
        edits, used = await translate(evolution.seed, edits, evolution.merger)
    found = patch.model_copy(update={"edits": edits, "batch_index": -1})
    key = evolution.shelf.put(Translated(patch=found, discarded=unsafe))
    return {"edits": key, "spent": [used.model_dump(mode="json")]}


def _safe(edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """Edits without secrets, machine paths, injected instructions or hidden text, and the rest."""
    kept: list[Edit] = []
    unsafe: list[Discarded] = []
    for edit in edits:
        warning = next((message for _, message in lint_text(edit.content)), None)
        if warning is None:
            kept.append(edit)
        else:
            one = Discarded(
                content=edit.content, reason=warning, sources=edit.sources, support=edit.support
            )
            unsafe.append(one)
    return tuple(kept), tuple(unsafe)


def applied(evolution: Evolution, state: State) -> ApplyResult:
    """The final patch on the seed: whole or not at all, and always the same."""
    return apply_patch(evolution.seed, evolution.shelf.hold(state["final"], Final).patch)


def apply(evolution: Evolution, state: State) -> Update:
    """The digest of the skill that the final patch makes of the seed."""
    result = applied(evolution, state)
    evolution.progress(Event(stage="apply", message=f"{len(result.applied)} edits"))
    changed = any(one.changed for one in result.applied)
    return {"skill": result.skill.digest, "learned": changed}


def verify(evolution: Evolution, state: State) -> Update:
    """The skill is validated, and written only if it has no error.

    Raises:
        BadInput: if it has one; then nothing is written.
    """
    skill = applied(evolution, state).skill
    found = validate(skill)
    errors = [str(one) for one in found if one.level == "error"]
    if errors:
        raise BadInput(f"the evolved skill is not valid, nothing was written: {errors[0]}")
    problems = [str(one) for one in (*found, *_tried(evolution, skill))]
    write_skill(skill, evolution.skill_dir)
    return {"problems": problems}


def _tried(evolution: Evolution, skill: Skill) -> list[Problem]:
    """What running the skill's scripts in the sandbox showed.

    Raises:
        BadInput: if one cannot be run, or there is no sandbox to run it in.
    """
    if not scripts_of(skill):
        return []
    if evolution.execute is None:
        raise BadInput(
            f"{scripts_of(skill)[0]!r} is a script, and there is no sandbox to try it in"
        )
    problems = admit_scripts(skill, evolution.execute)
    if errors := [one for one in problems if one.level == "error"]:
        raise BadInput(f"a script of the evolved skill does not run: {errors[0]}")
    return problems


async def gate_skill(evolution: Evolution, state: State) -> Update:
    """Before and after on tasks that no analyst saw; without them the skill is not gated."""
    used: list[Usage] = []
    plan = evolution.plan
    if not state["learned"]:
        reason = "nothing was learned: no edit came out of these runs"
        verdict = GateResult(verdict="not gated", reason=reason)
    elif plan is None or evolution.evaluate is None:
        reason = "no gate was asked for: whether the skill helps is unknown"
        verdict = GateResult(verdict="not gated", reason=reason)
    else:
        runs = evolution.evaluate

        async def run(skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
            found = await detached(runs(skill, tasks))
            used.extend(item.usage for item in found)
            return found

        verdict = await sequential_gate(
            lambda tasks: run(evolution.options.skill, tasks),
            lambda tasks: run(evolution.skill_dir, tasks),
            evolution.gate_tasks,
            plan,
            margin=evolution.options.margin,
            tell=lambda done, total, decision: evolution.progress(
                Event(stage="gate", done=done, total=total, message=decision.verdict)
            ),
        )
    return {
        "gate": verdict.model_dump(mode="json"),
        "spent": [sum(used, Usage()).model_dump(mode="json")],
    }

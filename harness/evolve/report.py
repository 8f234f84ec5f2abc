"""Report of a finished evolution, read from its last state, and the files that it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from harness.core import BadInput, Patch, Usage, render_page, shown, write_atomic, write_json
from harness.core.terminal import dollars, tokens_text
from harness.evolve.analysts.location import Location, Locator
from harness.evolve.artifacts import NAME, Runs
from harness.evolve.description import Described
from harness.evolve.evolution import Evolution, State
from harness.evolve.formats.patches import OfficialPatches, write_official_patches
from harness.evolve.merge.skill_layout import REFERENCE
from harness.evolve.objections import Ground, rule_evidence, sample
from harness.evolve.rules import ClaimCheck, Rule
from harness.evolve.selection import Selection
from harness.evolve.types import (
    SAID,
    Collected,
    Discarded,
    Draft,
    EvolveResult,
    GateResult,
    Judged,
    Loss,
    Merge,
    Patches,
    Sifted,
)
from harness.skills import (
    RULES,
    ApplyResult,
    Skill,
    apply_patch,
    count_tokens,
    load_skill,
    provenance_of,
    read_provenance,
    record_version,
    review_form,
    review_rows,
    shown_blocks,
    sources_of,
    write_provenance,
    write_skill,
)

RESULT = "evolve.json"
UNREAD = "which an agent without a tool that opens files never reads (--size compact makes none)"
TEMPLATE = Path(__file__).parent / "templates" / "evolution.html.j2"


@dataclass(frozen=True)
class Finished:
    """All that the report is written from.

    Attributes:
        evolution: what was asked for.
        seed: the skill that the patch was applied to.
        described: how its description was chosen.
        runs: the trajectories.
        collected: the analysts' records.
        levels: patches of every merge level; level 0 is one a record.
        merge: the merged patch, with contradictions.
        final: the patch as it was applied.
        rules: what its rules rest on.
        selection: the sets of lessons that were tried; None where all were taken.
        applied: the skill, and what happened to each edit.
        discarded: everything that is not in the skill, with reasons.
        losses: records and merges that gave nothing, with reasons.
        claims: what lessons claimed of code, with the programs that judged it.
        judged: what a judge made of the proposed edits; None without one.
        problems: warnings of the validator.
        gate: the verdict.
        usage: of everything.
    """

    evolution: Evolution
    seed: Skill
    described: Described
    runs: Runs
    collected: Collected
    levels: tuple[tuple[Patch, ...], ...]
    merge: Merge
    final: Patch
    rules: tuple[Rule, ...]
    selection: Selection | None
    applied: ApplyResult
    discarded: tuple[Discarded, ...]
    losses: tuple[Loss, ...]
    claims: ClaimCheck
    judged: Judged | None
    problems: tuple[str, ...]
    gate: GateResult
    usage: Usage

    @property
    def written(self) -> bool:
        """True if there is a skill: a new one that learned nothing would be empty."""
        deepened = self.evolution.options.skill is not None
        return deepened or any(edit.changed for edit in self.applied.applied)


def finished(evolution: Evolution, state: State) -> Finished:
    """Read the stages' results from the artifact store."""
    store = evolution.store
    collected, final = store.get(state["collected"], Collected), store.get(state["final"], Draft)
    steps, merge = evolution.steps(state), evolution.merged(state)
    seed = evolution.start(state)
    applied = apply_patch(seed, final.patch, evolution.options.limits)
    sifted = store.get(state["claims"], Sifted)
    judged = store.get(state["judged"], Judged) if state.get("judged") else None
    refused = judged.discarded if judged else ()
    withheld = (Discarded.of(edit, reason) for edit, reason in applied.withheld)
    usages = [Usage.model_validate(usage) for usage in state["spent"]]
    return Finished(
        evolution=evolution,
        seed=seed,
        described=store.get(state["described"], Described),
        runs=evolution.runs(state),
        collected=collected,
        levels=tuple(store.get(key, Patches).patches for key in state["levels"]),
        merge=merge,
        final=final.patch,
        rules=final.rules,
        selection=store.get(state["selection"], Selection) if state.get("selection") else None,
        applied=applied,
        discarded=(
            *collected.left_out,
            *sifted.discarded,
            *refused,
            *merge.discarded,
            *final.discarded,
            *withheld,
        ),
        losses=(*collected.losses, *(loss for step in steps for loss in step.losses)),
        claims=sifted.checked,
        judged=judged,
        problems=tuple(state["problems"]),
        gate=GateResult.model_validate(state["gate"]),
        usage=sum((step.usage for step in steps), sum(usages, collected.usage)),
    )


def check_out(out: Path) -> None:
    """Refuse a folder that holds something else.

    Raises:
        BadInput: if `out` is a file, or a folder with files that no evolution wrote.
    """
    if out.is_file():
        raise BadInput(f"expected a folder for --out, found a file at {str(out)!r}")
    own_files = ("skill", "patches", "agent", "runs", "calls.sqlite", NAME, "writer.lock", RESULT)
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in own_files):
        raise BadInput(f"{str(out)!r} holds other files: give an empty folder for --out")


def result_of(
    evolved: Finished,
    identity: str,
    seconds: float,
    baselines: Sequence[BaseModel] = (),
    transfer: Sequence[BaseModel] = (),
) -> EvolveResult:
    """The summary of a finished evolution, with rows of baselines and users if any were run."""
    skill, problems = evolved.applied.skill, evolved.problems
    if further := sum(edit.edit.file == REFERENCE for edit in evolved.applied.applied):
        problems += (f"{further} edits are in {REFERENCE}, {UNREAD}",)
    rules = Counter(edit.support for edit in evolved.merge.patch.edits)
    users = tuple(row.model_dump(mode="json", by_alias=True) for row in transfer)
    simulated = any(run.simulated for run in evolved.runs.runs)
    return EvolveResult(
        skill=str(evolved.evolution.skill_dir) if evolved.written else "",
        accepted={"accepted": True, "refused": False}.get(evolved.gate.verdict),
        edits=sum(edit.changed for edit in evolved.applied.applied),
        discarded=sum(row.reason != SAID for row in evolved.discarded),
        gate=evolved.gate,
        calls=evolved.usage.calls,
        tokens=evolved.usage.tokens,
        unreported=evolved.usage.unreported,
        cost_usd=evolved.usage.cost_usd,
        seconds=seconds,
        records=len(evolved.collected.records),
        losses=len(evolved.losses),
        conflicts=len(evolved.merge.conflicts),
        method=evolved.merge.method,
        lines=skill.text.count("\n"),
        skill_tokens=count_tokens(skill.text),
        support={str(support): count for support, count in sorted(rules.items())},
        identity=identity,
        simulated=evolved.evolution.simulated
        or simulated
        or (evolved.judged is not None and evolved.judged.acceptance.simulated)
        or any(row["simulated"] for row in users),
        judge=evolved.judged.acceptance if evolved.judged else None,
        problems=problems,
        left_out=tuple(f"{row.content}: {row.reason}" for row in evolved.collected.left_out),
        baselines=tuple(row.model_dump(mode="json") for row in baselines),
        transfer=users,
    )


def write_all(evolved: Finished, result: EvolveResult) -> None:
    """Write everything but the skill; `evolve.json` last, so that it marks a whole result."""
    evolution, records = evolved.evolution, evolved.collected.records
    out, skill = evolution.options.out, evolved.applied.skill
    (out / RESULT).unlink(missing_ok=True)
    # The intermediates under the names of the official code, which reads them back.
    write_official_patches(
        OfficialPatches(levels=evolved.levels, final=evolved.final), out / "patches"
    )
    earlier = None  # a seed that no evolution wrote has no provenance of its own
    if evolution.options.skill is not None:
        with suppress(BadInput):
            earlier = read_provenance(evolution.options.skill)
    untold = evolved.gate.verdict == "not gated"
    provenance = provenance_of(evolved.applied, evolved.seed, earlier).model_copy(
        update={
            "gate": "none" if untold else evolved.gate.verdict,
            "gate_said": evolved.gate.reason if evolved.gate.stopped else "",
        }
    )
    if evolved.written and not evolution.skill_dir.exists():
        write_skill(skill, evolution.skill_dir)
    # A person may have edited the skill of an evolution that had ended.
    if evolved.written and load_skill(evolution.skill_dir).digest == skill.digest:
        write_provenance(provenance, evolution.skill_dir)
        record_version(
            evolution.skill_dir,
            f"evolved from {len(records)} records",
            provenance,
            parent=evolved.seed,
            parent_provenance=earlier,
        )
    # The analysts' records, each quote with the step of the trajectory that holds it.
    locations = locate(evolved)
    rows: list[dict[str, Any]] = []
    for record, located in zip(records, locations, strict=True):
        row = record.model_dump(mode="json")
        if located:
            row["evidence_steps"] = [location.step for location in located]
            row["evidence_places"] = [location.model_dump(mode="json") for location in located]
        rows.append(row)
    ground = Ground(
        records,
        locations,
        evolved.runs.runs,
        evolution.store,
        evolved.rules,
        evolved.claims.results,
    )
    recorded = evolved.collected.recorded
    details = {
        "options": evolution.options.fingerprint(),
        "seed": evolved.seed.digest,
        "description": evolved.described.model_dump(mode="json", exclude={"usage"}),
        "skill": skill.digest,
        "result": result.model_dump(
            mode="json", exclude={"seconds", "skill", "identity", "request", "given"}
        ),
        "records": {
            "error": sum(record.kind == "error" for record in records),
            "success": sum(record.kind == "success" for record in records),
            "repaired": recorded.repaired if recorded else (),
            "trimmed": recorded.trimmed if recorded else 0,
            "unmatched": recorded.unmatched if recorded else (),
        },
        "selection": evolved.selection.model_dump(mode="json") if evolved.selection else None,
        "losses": [loss.model_dump(mode="json") for loss in evolved.losses],
        "reasoning": evolved.merge.patch.reasoning,
    }
    edits = [edit.edit for edit in evolved.applied.applied if edit.changed]
    page = render_page(
        TEMPLATE,
        result=result.model_copy(update={"skill": skill.name}),
        gate=result.gate,
        method=result.method,
        blocks=shown_blocks(provenance, skill) if evolved.written else (),
        discarded=evolved.discarded,
        conflicts=evolved.merge.conflicts,
        review=review_form(review_rows(edits, sources_of(rows)), skill.digest),
        losses=evolved.losses,
        unmatched=recorded.unmatched if recorded else (),
        selection=evolved.selection,
        histogram=[(int(support), count) for support, count in result.support.items()],
    )
    evidence = [] if not evolution.options.lessons else rule_evidence(edits, ground)
    documents: dict[str, Any] = {
        "records.json": rows,
        RULES: [rule.model_dump(mode="json") for rule in evidence],
        "provenance.json": provenance.model_dump(mode="json"),
        "discarded.json": [row.model_dump(mode="json") for row in evolved.discarded],
        "claims.json": evolved.claims.model_dump(mode="json"),
        "conflicts.json": [row.model_dump(mode="json") for row in evolved.merge.conflicts],
        "report.json": details,
        RESULT: result.model_dump(mode="json"),
    }
    write_atomic(out / "report.html", page)
    for name, document in documents.items():
        write_json(out / name, document)


def locate(evolved: Finished) -> list[list[Location]]:
    """Locate each quote of each record; [] for a record whose trajectory is not at hand."""
    store, runs = evolved.evolution.store, {run.id: run for run in evolved.runs.runs}
    records = evolved.collected.records
    if not any(record.evidence for record in records):
        return [[] for _ in records]
    locator = Locator.of(store.load(sample(evolved.runs.runs)))
    locations: list[list[Location]] = []
    for record in records:
        run = runs.get(record.trajectory_id)
        if run is None or not record.evidence:
            locations.append([])
            continue
        (trajectory,) = store.load([run])
        locations.append(locator.locate(record.evidence, trajectory))
    return locations


def result_text(result: EvolveResult, tint: Callable[[str], str] = str) -> str:
    """A result for people; `tint` may colour the verdict."""
    lines: list[str] = []
    if result.simulated:
        lines.append("SIMULATED model: says nothing about a real one")
    if not result.edits:
        head = f"{result.skill} is its seed, unchanged" if result.skill else "no skill was written"
        lines.append(f"{head}; {result.gate.reason}")
        lines += [f"  {line}" for line in result.unsolved[1:]]
    else:
        verdict = tint(result.gate.verdict)
        lines += [
            shown([f"{result.skill}:", verdict, f"({result.gate.reason})"], " "),
            f"SKILL.md has {result.lines} lines, {result.skill_tokens} tokens; "
            f"{result.edits} edits made it",
            *(f"  {line}" for line in (*result.unsolved, *result.problems)),
        ]
    counts = [
        (result.records, "runs gave lessons"),
        (result.losses, "gave none"),
        (result.discarded - len(result.left_out), "lessons left out"),
        (result.conflicts, "contradictions withheld"),
    ]
    if texts := [f"{count:,} {label}" for count, label in counts if count]:
        lines.append(", ".join(texts))
    if result.edits:  # where there are none, the verdict says it
        lines += [f"left out: {text}" for text in result.left_out]
    if result.support:
        shares = (
            f"{count} from {tasks} task{'s'[: tasks != '1']}{' each' if count > 1 else ''}"
            for tasks, count in result.support.items()
        )
        lines.append(f"what taught the edits: {', '.join(shares)}; method: {result.method}")
    if (judge := result.judge) is not None:
        cost = dollars(judge.usage.cost_usd)
        lines.append(f"judge {judge}; {judge.usage.tokens:,} tokens, {cost}")
    cost = dollars(result.cost_usd)
    spent = tokens_text(result.tokens, result.calls, result.unreported)
    lines.append(f"models: {spent}, cost {cost}, {result.seconds:.1f} s")
    for row in result.baselines:
        rate = "no valid attempt" if row["pass_rate"] is None else f"{row['pass_rate']:.1%} pass"
        lines.append(f"baseline {row['name']}: {rate}; evolved skill {_points(row)}")
    for row in result.transfer:
        sides = (row["without"], row["with"])
        rates = " -> ".join("none valid" if rate is None else f"{rate:.1%}" for rate in sides)
        lines.append(
            f"transfer {row['author']} -> {row['user']} on {row['suite']}: {rates}, "
            f"{_points(row)}, {row['n']} tasks, {row['invalid']} invalid: {row['verdict']}"
        )
    return shown(lines)


def _points(row: dict[str, Any]) -> str:
    """The evolved skill minus what it is compared with, and the interval."""
    if row["difference"] is None:
        return "not comparable"
    low, high = row["ci95"] or (float("nan"), float("nan"))
    by = f" by group, {row['groups']} groups" if row.get("groups") else ""
    return f"{100 * row['difference']:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}){by}"

"""Trace2Skill (arXiv 2603.25158, figure 2) as a state machine.

    rollouts ─► fleet ═► analyst (n) ─┐    one Send per trajectory, in waves
                  ▲───────────────────┘
                  └─► collect ─► claims ─► judge ─► deal ═► merge (n) ─┐    one Send per batch,
                                                    ▲──────────────────┘    level by level
                                           └─► translate ─► weigh ─► select ─► describe
                                           ─► apply ─► verify ─► gate_skill

Stage 1 makes trajectories (`rollouts`), stage 2 has every one of them read by an analyst of its own
(`fleet`, `analyst`, `collect`), stage 3 merges their patches into one (`deal`, `merge`), which is
then made exact, chosen from, applied and checked. `claims` (what lessons say of code is run),
`judge` and the gate are ours: the paper believes every analyst and adopts every skill.

State carries digests and JSON only, so every step can be resumed and forked; what the stages make
lies in the artifact store of the runtime context, an :class:`harness.evolve.Evolution`.
"""

from __future__ import annotations

import asyncio
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph.graph carries no marker
from langgraph.runtime import Runtime
from langgraph.types import Send

from harness.core import Edit, Patch, Usage, remove_tree
from harness.evolve import Evolution, exemplar_patch, merge_deterministic, shards, to_patch
from harness.evolve.analysts.readings import answered, read_run
from harness.evolve.evolution import check_skill, detached, horizon
from harness.evolve.formats.records import read_collected
from harness.evolve.gate import gate, nothing_learned
from harness.evolve.merge.by_model import (
    faithful,
    merge_batch,
    prompt_batches,
    translate_anchors,
    with_grounds,
)
from harness.evolve.merge.claims import sift
from harness.evolve.merge.outcomes import weighed
from harness.evolve.merge.skill_layout import assemble
from harness.evolve.selection import try_edits
from harness.evolve.types import Collected, Discarded, Draft, MergeStep, Patches, Sifted
from harness.skills import apply_patch, lint_text, write_skill
from harness.trajectories import open_trajectories

# Analysts per superstep: many more than run at one time, few enough for small checkpoints.
WAVE = 1024


class State(TypedDict):
    """Content of a checkpoint.

    Attributes:
        runs: digest of the list of trajectories.
        fleet: numbers of the trajectories that an analyst reads.
        sent: analysts started so far.
        readings: [number of the trajectory, digest of its reading].
        collected: digest of all records.
        claims: digest of what lessons claim of code, and of the lessons that running refuted.
        judged: digest of the edits that a judge did not accept, if there is one.
        levels: digest of the patches of each merge level.
        stuck: whether the last level merged nothing, because no two patches fit one prompt.
        merged: [level, number of the batch, digest of its merge].
        edits: digest of the merged patch with anchors that exist.
        selection: digest of what a selection tried, if one was asked for.
        final: digest of the patch as it is applied.
        described: digest of the description of a new skill.
        skill: digest of the skill; learned: whether it differs from the seed.
        problems: warnings of the validator.
        gate: the verdict.
        spent: usage outside the fleet and the merges.
    """

    runs: str
    fleet: list[int]
    sent: int
    readings: Annotated[list[list[Any]], add]
    collected: str
    claims: str
    judged: str
    levels: list[str]
    stuck: bool
    merged: Annotated[list[list[Any]], add]
    edits: str
    selection: str
    final: str
    described: str
    skill: str
    learned: bool
    problems: list[str]
    gate: dict[str, Any]
    spent: Annotated[list[dict[str, Any]], add]


class Unit(State):
    """One piece of work of a fleet: its number, with the few values of the state that it needs."""

    number: int


Context = Runtime[Evolution]
Update = dict[str, Any]


async def rollouts(state: State, runtime: Context) -> Update:
    """Stage 1: tasks to trajectories, one an attempt with the frozen skill; or those given."""
    evolution = runtime.context
    path, used = evolution.options.trajectories, Usage()
    if evolution.rollouts is not None:
        path, used = await detached(evolution.rollouts())
    assert path is not None, "an evolution begins with trajectories, or with what makes them"
    runs = evolution.store.take_in(open_trajectories(path))
    evolution.store.refuse_unjudged(runs, sampled=evolution.rollouts is not None)
    if evolution.options.lessons and evolution.rollouts is None:  # else it was said beforehand
        evolution.tell("rollouts", horizon(len(runs.runs), evolution.options.min_support))
    # T- and T+ by outcome; +Error, +Success or +Combined says which of them teach (section 2.2).
    fleet = [
        number
        for number, run in enumerate(runs.runs)
        if evolution.read is not None and evolution.options.teaches(run.outcome)
    ]
    spent = [used.model_dump(mode="json")]
    return {"runs": evolution.store.put(runs), "fleet": fleet, "sent": 0, "spent": spent}


def send_wave(state: State, runtime: Context) -> Update:
    """Stage 2: let the next analysts start."""
    evolution = runtime.context
    evolution.total, evolution.done = len(state["fleet"]), len(state["readings"])
    evolution.tell("analysts", count=evolution.done, total=evolution.total)
    return {"sent": min(state["sent"] + WAVE, len(state["fleet"]))}


def to_analysts(state: State) -> list[Send] | str:
    """One analyst per trajectory; none sees another's trajectory, record or patch."""
    if len(state["readings"]) >= state["sent"]:
        return "collect"
    wave = state["fleet"][(state["sent"] - 1) // WAVE * WAVE : state["sent"]]
    return [Send("analyst", {"number": number, "runs": state["runs"]}) for number in wave]


async def analyst(unit: Unit, runtime: Context) -> Update:
    """One trajectory to one record (A- for a failure, A+ for a success) and its patch (MAP).

    Both calls stand in one node: all analysts read the same frozen skill S0, and a patch needs
    its own record only (batch size 1).
    """
    evolution, number = runtime.context, unit["number"]
    reading = await read_run(evolution, unit["runs"], number)
    evolution.count_reading()
    return {"readings": [[number, await evolution.store.keep(reading)]]}


async def collect(state: State, runtime: Context) -> Update:
    """The end of stage 2: all records, and one patch per record."""
    evolution, options = runtime.context, runtime.context.options
    runs = evolution.runs(state).runs
    if not options.lessons:
        collected = Collected()
        if evolution.write is not None:
            draft, usage = await evolution.write(list(evolution.store.load(runs)))
            collected, patches = Collected(usage=usage, left_out=draft.discarded), [draft.patch]
        else:
            teaching = [run for run in runs if options.teaches(run.outcome)]
            patches = [exemplar_patch(list(evolution.store.load(teaching)), options.examples)]
    elif options.patches is not None:
        collected = read_collected(options, evolution.store.load(runs))
        patches = [to_patch(record, index) for index, record in enumerate(collected.records, 1)]
    else:
        readings = await answered(evolution, state["runs"], state["readings"])
        pairs = [(reading.record, reading.patch) for reading in readings if reading.record]
        collected = Collected(
            records=tuple(record for record, _ in pairs),
            losses=tuple(loss for reading in readings for loss in reading.losses),
            usage=sum((reading.usage for reading in readings), Usage()),
        )
        patches = [patch or to_patch(record, n) for n, (record, patch) in enumerate(pairs, 1)]
    evolution.tell("map", f"{sum(len(patch.edits) for patch in patches)} proposed edits")
    level = evolution.store.put(Patches(patches=tuple(patches)))
    return {"collected": evolution.store.put(collected), "levels": [level]}


async def claims(state: State, runtime: Context) -> Update:
    """Leave out lessons that running their code, or the answers of their own runs, refutes.

    Ours: an analyst says what an interface does from memory, and many say the same wrong thing.
    """
    evolution, sifted = runtime.context, Sifted()
    patches = evolution.store.get(state["levels"][-1], Patches).patches
    if evolution.options.lessons:
        records = evolution.store.hold(state["collected"], Collected).records
        programs = {item.line: item.program for row in records for item in row.items}
        patches, sifted = await asyncio.to_thread(sift, patches, evolution.execute, programs)
        if (contrast := evolution.contrast(state)) is not None and contrast.answers.labels:
            patches, against = contrast.upheld(patches, evolution.citations(state))
            sifted = sifted.model_copy(update={"discarded": (*sifted.discarded, *against)})
        evolution.tell("claims", str(sifted))
    level = evolution.store.put(Patches(patches=patches))
    return {"claims": evolution.store.put(sifted), "levels": [level]}


async def judge(state: State, runtime: Context) -> Update:
    """Ours: a judge accepts or refuses each edit before any is merged; without one, all go on."""
    evolution = runtime.context
    if evolution.judge is None:
        return {"levels": state["levels"]}
    from harness.evolve.acceptance import accept

    patches = evolution.store.get(state["levels"][-1], Patches).patches
    records = evolution.store.hold(state["collected"], Collected).records
    work = accept(patches, records, evolution.judge, evolution.options.skill)
    patches, judged = await detached(work)
    evolution.tell("judge", str(judged.acceptance))
    level, spent = Patches(patches=patches), [judged.acceptance.usage.model_dump(mode="json")]
    put = evolution.store.put
    return {"judged": put(judged), "levels": [put(level)], "spent": spent}


def deal(state: State, runtime: Context) -> Update:
    """Stage 3 (REDUCE): a level whose batches are merged is closed, the next dealt from it."""
    evolution, levels = runtime.context, list(state["levels"])
    keys = [key for level, _, key in sorted(state["merged"]) if level == len(levels)]
    if not keys:
        return {"stuck": False}
    steps = [evolution.store.get(key, MergeStep) for key in keys]
    patches = tuple(step.merge.patch for step in steps)
    evolution.tell("reduce", f"level {len(levels)}: merged into {len(patches)}")
    levels.append(evolution.store.put(Patches(patches=patches)))
    return {"levels": levels, "stuck": len(patches) == sum(step.members for step in steps)}


def _batches(evolution: Evolution, state: State | Unit) -> list[list[Patch]]:
    """The batches of the current level; none once a single patch is left.

    By a model L = ceil(log_B |P|) levels of B_merge patches a prompt (the paper's 32); without
    one 10,000 at once and then their merges; all at once where no two patches fit a prompt.
    """
    patches = list(evolution.store.hold(state["levels"][-1], Patches).patches)
    if not evolution.options.lessons or not patches:
        return []
    if evolution.merger is None:
        return shards(patches) if len(state["levels"]) == 1 or len(patches) > 1 else []
    if len(patches) == 1:
        return []
    return [patches] if state["stuck"] else prompt_batches(patches, evolution.options.merge_batch)


def to_mergers(state: State, runtime: Context) -> list[Send] | str:
    """One merge per batch."""
    needed = {name: value for name, value in state.items() if name not in ("fleet", "readings")}
    count = len(_batches(runtime.context, state))
    return [Send("merge", {"number": number, **needed}) for number in range(count)] or "translate"


async def merge(unit: Unit, runtime: Context) -> Update:
    """A batch of patches to one patch, which keeps every source.

    Ours: support is counted, in tasks; a model's merge that loses a source is done without it.
    """
    evolution = runtime.context
    batch = _batches(evolution, unit)[unit["number"]]
    tasks, terms = evolution.tasks(unit), frozenset(evolution.runs(unit).terms)
    if evolution.merger is not None and not unit["stuck"]:
        contrast = evolution.contrast(unit)
        labels = contrast.answers.labels if contrast is not None else ()
        step = await merge_batch(batch, evolution.merger, tasks, terms, labels)
    else:
        records = evolution.store.hold(unit["collected"], Collected).records
        merged = merge_deterministic(
            *(batch, tasks, terms),
            scopes={item.line: item.generalization for row in records for item in row.items},
            citations=evolution.citations(unit),
            contrast=evolution.contrast(unit),
            praised=frozenset(row.trajectory_id for row in records if row.kind == "success"),
            confirmed=evolution.store.hold(unit["claims"], Sifted).confirmed,
        )
        step = MergeStep(merge=merged, members=len(batch))
    return {"merged": [[len(unit["levels"]), unit["number"], await evolution.store.keep(step)]]}


async def translate(state: State, runtime: Context) -> Update:
    """TRANSLATE and SANITISE: exact edits of the seed, without secrets or hidden instructions."""
    evolution = runtime.context
    patch, used = evolution.merged(state).patch, Usage()
    sifted, reworded = Sifted(), tuple[Discarded, ...]()
    if evolution.options.lessons:
        if evolution.merger is not None:
            taught = evolution.store.get(state["levels"][0], Patches).patches
            patch, reworded = faithful(patch, taught, frozenset(evolution.runs(state).terms))
        # A rule that was worded anew may claim what no lesson did.
        (patch,), sifted = await asyncio.to_thread(sift, [patch], evolution.execute)
    findings = [(edit, list(lint_text(edit.content))) for edit in patch.edits]
    unsafe = tuple(Discarded.of(edit, lint[0][1]) for edit, lint in findings if lint)
    edits = tuple(edit for edit, lint in findings if not lint)
    if evolution.merger is not None and evolution.options.lessons:
        edits, used = await translate_anchors(evolution.seed, edits, evolution.merger)
    patch = patch.model_copy(update={"edits": edits, "batch_index": -1})
    draft = Draft(patch=patch, discarded=(*reworded, *sifted.discarded, *unsafe))
    return {"edits": evolution.store.put(draft), "spent": [used.model_dump(mode="json")]}


def weigh(state: State, runtime: Context) -> Update:
    """Ours: what each rule rests on, looked up in failed and passed runs; no model reads them."""
    evolution, store = runtime.context, runtime.context.store
    if not evolution.options.lessons:
        return {"edits": state["edits"]}  # worked examples are no rules
    draft, rules = store.hold(state["edits"], Draft), evolution.merged(state).rules
    records = store.hold(state["collected"], Collected).records
    contrast = evolution.contrast(state)
    rules = with_grounds(draft.patch, rules, records, evolution.tasks(state), contrast)
    return {"edits": store.put(weighed(draft, rules, contrast))}


async def select(state: State, runtime: Context) -> Update:
    """All edits, or the set that does best on trial tasks (table 6); what goes where.

    A rule that enough tasks support goes to SKILL.md, the others to a reference (section 2.3).
    Trial tasks are among those that the analysts learned from, so their score flatters the set.
    """
    evolution, options = runtime.context, runtime.context.options
    translated = evolution.store.hold(state["edits"], Draft)
    edits, tasks = translated.patch.edits, evolution.tasks(state)

    def draft(edits: tuple[Edit, ...], rejected: tuple[Discarded, ...] = ()) -> Draft:
        unplaced = tuple[Discarded, ...]()
        if options.lessons:
            limits: Any = options.model_dump(include={"min_support", "max_rules", "size"})
            edits, unplaced = assemble(evolution.seed, edits, tasks, translated.rules, **limits)
        patch = translated.patch.model_copy(update={"edits": edits})
        rejected = (*translated.discarded, *rejected, *unplaced)
        return Draft(patch=patch, discarded=rejected, rules=translated.rules)

    if not options.lessons or options.select == "all":
        return {"final": evolution.store.put(draft(edits)), "spent": []}
    selection, selected, rejected, used = await try_edits(evolution, edits, draft)
    return {
        "final": evolution.store.put(draft(selected, rejected)),
        "selection": evolution.store.put(selection),
        "spent": [used.model_dump(mode="json")],
    }


async def describe(state: State, runtime: Context) -> Update:
    """Ours: a new skill's description, by which clients load it, from the tasks that taught it."""
    text = await detached(runtime.context.describe(state))
    spent = [text.usage.model_dump(mode="json")]
    return {"described": runtime.context.store.put(text), "spent": spent}


def apply(state: State, runtime: Context) -> Update:
    """APPLY: the final patch on the seed, whole or not at all, and always the same."""
    evolution = runtime.context
    result = apply_patch(evolution.start(state), evolution.final(state), evolution.options.limits)
    evolution.tell("apply", f"{len(result.applied)} edits applied to the skill")
    return {"skill": result.skill.digest, "learned": any(edit.changed for edit in result.applied)}


def verify(state: State, runtime: Context) -> Update:
    """VERIFY: against the specification, scripts in the sandbox; written unless new and empty.

    Raises:
        BadInput: if it has an error, or a script cannot be run; then nothing is written.
    """
    evolution = runtime.context
    result = apply_patch(evolution.start(state), evolution.final(state), evolution.options.limits)
    problems = [str(problem) for problem in check_skill(result.skill, evolution.execute)]
    note = evolution.store.get(state["claims"], Sifted).checked.note
    if state["learned"] or evolution.options.skill is not None:
        write_skill(result.skill, evolution.skill_dir)
    else:
        remove_tree(evolution.skill_dir)  # an earlier evolution may have learned something
    return {"problems": [*problems, note] if note else problems}


async def gate_skill(state: State, runtime: Context) -> Update:
    """The skill against its seed, on tasks that no analyst saw; without them it is not gated."""
    evolution = runtime.context
    none = "" if state["learned"] else nothing_learned(evolution, state)
    verdict, used = await gate(evolution, none)
    return {"gate": verdict.model_dump(mode="json"), "spent": [used.model_dump(mode="json")]}


def build() -> Any:
    """The graph before compilation, a `StateGraph` over State and Evolution."""
    graph: Any = StateGraph(State, context_schema=Evolution)
    graph.add_sequence([rollouts, ("fleet", send_wave)]).add_edge(START, "rollouts")
    graph.add_node("analyst", analyst).add_edge("analyst", "fleet")
    graph.add_conditional_edges("fleet", to_analysts, ["analyst", "collect"])
    graph.add_sequence([collect, claims, judge, deal])
    stages = [translate, weigh, select, describe, apply, verify, gate_skill]
    return _merged_then(graph, stages).add_edge("gate_skill", END)


def _merged_then(graph: Any, stages: list[Any]) -> Any:
    """Stage 3 after `deal`, and what follows."""
    graph.add_node("merge", merge).add_edge("merge", "deal")
    graph.add_conditional_edges("deal", to_mergers, ["merge", "translate"])
    return graph.add_sequence(stages)


def build_merge() -> Any:
    """Stage 3 alone, from a state with records and patches to the final patch."""
    graph: Any = StateGraph(State, context_schema=Evolution)
    graph.add_node("deal", deal).add_edge(START, "deal")
    return _merged_then(graph, [translate, weigh, select]).add_edge("select", END)


graph = build().compile(name="trace2skill")

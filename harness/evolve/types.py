"""The values of the evolution room."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from harness.core import Edit, Option, Patch, Value
from harness.evolve.merge.similarity import Grouping
from harness.evolve.selection import Select

Signal = Literal["error", "success", "combined"]
AnalystType = Literal["error", "success"]
AnalystKind = Literal["agentic", "single", "exemplar"]
MergeKind = Literal["model", "deterministic"]
MAX_ITEMS = 3


class MemoryItem(Value):
    """One lesson of an analyst.

    Attributes:
        title: what it is about, in a few words.
        lesson: one sentence.
        generalization: when it applies.
        evidence: quotes from the run that show why; the official format has them for a record
            only.
    """

    title: str
    lesson: str
    generalization: str = ""
    evidence: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The lesson in one line, as a patch holds it."""
        return " ".join(self.lesson.split())


class ProofRun(Value):
    """One run of a fix script by the harness.

    Attributes:
        input: name of the input: `clean`, or how it was perturbed.
        kind: `clean` (judged against the gold), `predicted` (a perturbed input whose right result
            is known; judged against it) or `control` (a perturbed input on which the old gold can
            no longer be right: the script fails if it still gives it).
        passed: whether the script passed.
        output: SHA-256 of what it wrote or printed, "" if nothing.
        detail: why it did not pass, in one sentence.
    """

    input: str
    kind: Literal["clean", "predicted", "control"]
    passed: bool
    output: str = ""
    detail: str = ""


class Proof(Value):
    """That a fix repairs the failure, found by the harness and not by the analyst.

    Attributes:
        script: SHA-256 of the fix script.
        runs: the clean input first, then at least two perturbed ones.
    """

    script: str
    runs: tuple[ProofRun, ...]

    @property
    def holds(self) -> bool:
        """Whether the clean input and at least two perturbed ones were run, and all passed."""
        perturbed = [run for run in self.runs if run.kind != "clean"]
        clean = [run for run in self.runs if run.kind == "clean"]
        return bool(clean) and len(perturbed) >= 2 and all(run.passed for run in self.runs)


class AnalystRecord(Value):
    """What one analyst learned from one trajectory.

    Attributes:
        kind: error (from a failure) or success.
        trajectory_id: the trajectory that was read.
        task_id: its task; support is counted in these.
        summary: root cause of the failure, or what made the run succeed.
        items: at most three lessons (more are cut off and counted).
        evidence: what the analyst points to in the trajectory.
        edits: edits the analyst proposed itself, if the source has them.
        proof: of the fix, where the analyst had to hand one in (agentic error analyst).
    """

    kind: AnalystType
    trajectory_id: str
    task_id: str
    summary: str = ""
    items: tuple[MemoryItem, ...] = ()
    evidence: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    proof: Proof | None = None


class Loss(Value):
    """A record that gave no patch, or part of one: counted and listed, never silent.

    Attributes:
        trajectory_id: whose record it was.
        stage: analysts, map, reduce or apply.
        reason: why, in one sentence.
    """

    trajectory_id: str
    stage: str
    reason: str


class Discarded(Value):
    """A lesson or edit that is not in the skill, with the reason."""

    content: str
    reason: str
    sources: tuple[str, ...]
    support: int


class Conflict(Value):
    """Two lessons that contradict each other.

    Attributes:
        kept: the one that stays because it has far more support; "" if neither does.
        withheld: the wording(s) that do not enter the skill.
        about: the words that they disagree on.
        sources: trajectories of every side.
    """

    kept: str
    withheld: tuple[str, ...]
    about: str
    sources: tuple[str, ...]


class Merge(Value):
    """The result of merging patches.

    Attributes:
        patch: one patch; `support` of its edits is counted in distinct tasks.
        discarded: what was left out, with reasons.
        conflicts: contradictions.
        method: how lessons were grouped, as the report names it.
    """

    patch: Patch
    discarded: tuple[Discarded, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    method: str = ""


class GateResult(Value):
    """Whether the evolved skill beat its seed on tasks that no analyst saw.

    Attributes:
        verdict: accepted, refused, or not gated (no gate, or too few tasks to say anything).
        before: pass rate with the seed (or no skill), over paired tasks.
        after: pass rate with the evolved skill.
        difference: after - before.
        p: two-sided exact McNemar p-value (clustered by task where there are several epochs); of
            the sequential gate the one-sided p-value of the stopped test, times the candidates.
        ci95: 95 % interval of the difference.
        detectable: smallest lift that this many tasks can detect with 80 % power.
        tasks: paired tasks.
        more_tasks: how many more tasks a fair verdict needs; 0 if there are enough.
        fixed: tasks that failed before and pass after.
        broken: tasks that passed before and fail after.
        reason: the verdict in one sentence.
        adjusted: `difference` corrected for stopping early (median-unbiased); None for a fixed
            number of tasks.
        planned: tasks at hand of the sequential gate, 0 for a fixed number of tasks.
        run: tasks that were run until it stopped, on each side.
        looks: looks that were taken.
        stopped: why the sequential gate stopped: `better`, `worse`, `futile` or `end`.
        candidates: number of candidates that the error is divided among.
        plan: what was said before anything was run.
    """

    verdict: Literal["accepted", "refused", "not gated"]
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    p: float | None = None
    ci95: tuple[float, float] | None = None
    detectable: float | None = None
    tasks: int = 0
    more_tasks: int = 0
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    reason: str = ""
    adjusted: float | None = None
    planned: int = 0
    run: int = 0
    looks: int = 0
    stopped: Literal["", "better", "worse", "futile", "end"] = ""
    candidates: int = 1
    plan: str = ""


class EvolveOptions(Value):
    """What an evolution depends on; the defaults are the command line's.

    Attributes:
        out: folder to write, absent or holding an earlier evolution.
        skill: seed skill directory (deepening), or None.
        create: name of a skill to start from nothing (creation), or None.
        description: frontmatter description of a created skill.
        trajectories: file or folder that `harness.trajectories.open_trajectories` reads.
        patches: file of recorded analyst records, instead of analysts.
        keep_unmatched: use recorded records whose trajectory is absent too.
        signal: which trajectories teach.
        analyst: `agentic` (tools, and a fix that the harness proves; successes are read in one
            call), `single` (one model call) or `exemplar` (no model; few-shot examples).
        analyst_turns: most calls of an agentic analyst (the paper's 100 are for large models).
        check_conclusions: drop records whose root cause the run contradicts.
        merge: `model` or `deterministic`.
        grouping: how equal lessons are found without a model: `lexical`, or `hybrid` (an encoder).
        merge_batch: patches per merge prompt (the paper's 32).
        min_support: distinct tasks that a rule of SKILL.md needs.
        max_rules: rules that SKILL.md gains at most; the rest goes to references.
        select: whether all lessons enter the skill, or the set that does best on trial tasks, by
            `greedy` forward selection or `tpe` (a tree-structured Parzen estimator).
        select_tasks: trial tasks of a selection, of those that the analysts learned from (the
            paper's 32).
        select_seed: seed of a selection's random sets.
        examples: worked examples that the exemplar analyst takes.
        margin: smallest mean difference that the gate accepts.
        expected_discordance: share of tasks whose result is expected to change, for planning.
        concurrency: analyst calls at one time.
    """

    out: Path
    skill: Annotated[Path | None, Option("Deepen this skill directory.")] = None
    create: Annotated[str | None, Option("Start a new skill.", metavar="NAME")] = None
    description: Annotated[str, Option("Frontmatter description of a new skill.")] = ""
    trajectories: Annotated[Path | None, Option("Use these: a file or folder of runs.")] = None
    patches: Annotated[
        Path | None, Option("Recorded analyst records: JSONL, or the official code's files.")
    ] = None
    keep_unmatched: Annotated[bool, Option("Use records without a trajectory too.")] = False
    signal: Annotated[Signal, Option("Which runs teach.")] = "combined"
    analyst: Annotated[
        AnalystKind,
        Option("With tools and a proven fix, one model call a run, or examples without a model."),
    ] = "single"
    analyst_turns: Annotated[int, Option("Calls of one agentic analyst.")] = 20
    check_conclusions: Annotated[
        bool, Option("Drop lessons whose root cause the run contradicts.")
    ] = False
    merge: Annotated[MergeKind, Option()] = "deterministic"
    grouping: Annotated[
        Grouping, Option("How equal lessons are found: words, or an encoder too.")
    ] = "lexical"
    merge_batch: Annotated[int, Field(ge=2), Option()] = 32
    min_support: Annotated[int, Option("Tasks that a rule needs.")] = 2
    max_rules: Annotated[int, Option("Rules in SKILL.md at most.")] = 40
    select: Annotated[
        Select, Option("Take all lessons, or the set that does best on some train tasks.")
    ] = "all"
    select_tasks: Annotated[int, Field(ge=1), Option("Train tasks that each set is run on.")] = 32
    select_seed: int = 0
    examples: Annotated[int, Option("Worked examples (exemplar).")] = 3
    margin: Annotated[float, Option("Gain that the gate demands.")] = 0.0
    expected_discordance: float = 0.25
    concurrency: Annotated[int, Option()] = 128

    def fingerprint(self) -> dict[str, Any]:
        """The options that decide the result, without paths and without how fast it is reached."""
        aside = {"out", "trajectories", "patches", "skill", "concurrency"}
        aside |= set() if self.check_conclusions else {"check_conclusions"}  # as it was without
        return self.model_dump(mode="json", exclude=aside)


class EvolveResult(Value):
    """The end of an evolution, as `harness evolve --json` prints it (DESIGN section 4).

    `accepted` is None where nothing was gated. `edits` and `discarded` are counts; the lists lie
    in `report.json` and `discarded.json` beside the skill. `problems` are validation warnings,
    `baselines` rows of :class:`harness.evolve.baselines.BaselineRow`, `transfer` rows of
    :class:`harness.evolve.baselines.transfer.TransferRow`.
    """

    skill: str
    accepted: bool | None
    edits: int
    discarded: int
    gate: GateResult
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    records: int = 0
    losses: int = 0
    conflicts: int = 0
    method: str = ""
    lines: int = 0
    skill_tokens: int = 0
    support: dict[str, int] = {}
    simulated: bool = False
    problems: tuple[str, ...] = ()
    baselines: tuple[dict[str, JsonValue], ...] = ()
    transfer: tuple[dict[str, JsonValue], ...] = ()

"""The values of the evolution room."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from harness.core import Edit, Patch, Usage, Value
from harness.evolve.rules import ClaimCheck, ClaimResult, Rule
from harness.skills import EditJudgement

Signal = Literal["error", "success", "combined"]
AnalystType = Literal["error", "success"]
Size = Literal["compact", "standard", "full"]
MAX_ITEMS = 3
SAID = "a rule says it in other words"
"""Reason of the lessons that a rule was made from, beside the one that gave it its wording."""


class MemoryItem(Value):
    """One lesson of an analyst.

    Attributes:
        title: what it is about, in a few words.
        lesson: one sentence.
        generalization: when it applies.
        evidence: quotes from the run that show why; the official format has them for a record
            only.
        program: Python that fails an assertion if what the lesson says of code is not so; "" if
            there is none.
    """

    title: str
    lesson: str
    generalization: str = ""
    evidence: tuple[str, ...] = ()
    program: str = ""

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
    """Proof that a fix repairs the failure, found by the harness and not by the analyst.

    Attributes:
        script: SHA-256 of the fix script.
        runs: the clean input first, then at least two perturbed ones.
    """

    script: str
    runs: tuple[ProofRun, ...]

    @property
    def holds(self) -> bool:
        """True if the clean input and at least two perturbed ones were run, and all passed."""
        perturbed = [run for run in self.runs if run.kind != "clean"]
        clean = [run for run in self.runs if run.kind == "clean"]
        return bool(clean) and len(perturbed) >= 2 and all(run.passed for run in self.runs)


class AnalystRecord(Value):
    """Lessons of one analyst from one trajectory.

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
    """A lesson or edit that is not in the skill in these words, with the reason.

    Attributes:
        rule: the rule that says it or that its evidence speaks for; "" if there is none.
        claim: what running refuted, where that is the reason.
        judgement: of the judge that refused it.
    """

    content: str
    reason: str
    sources: tuple[str, ...]
    support: int
    claim: ClaimResult | None = None
    judgement: EditJudgement | None = None
    rule: str = ""

    @classmethod
    def of(cls, edit: Edit, reason: str) -> Discarded:
        """An edit that found no place."""
        content = edit.content or f"{edit.op} {edit.file} {edit.target_section}".strip()
        return cls(content=content, reason=reason, sources=edit.sources, support=edit.support)


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
        rules: what the rules of the patch rest on; none of a merge by a model.
        method: how lessons were grouped, as the report names it.
    """

    patch: Patch
    discarded: tuple[Discarded, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    rules: tuple[Rule, ...] = ()
    method: str = ""


class MergeStep(Value):
    """One merge of one batch.

    Attributes:
        merge: the batch as one patch, with what a fall-back left out.
        members: number of patches in the batch.
        losses: why the model's reply was rejected, if it was: the batch was merged without it.
        usage: of the model's calls.
    """

    merge: Merge
    members: int = 0
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()


class Reading(Value):
    """Result of one analyst from one trajectory.

    Attributes:
        record: its lessons, None if there are none that could be used.
        patch: the record as edits.
        losses: what was dropped, with reasons: nothing is dropped unseen.
        usage: of its calls.
        unanswered: why the model gave no answer, where it did not; "" otherwise.
    """

    record: AnalystRecord | None = None
    unanswered: str = ""
    patch: Patch | None = None
    losses: tuple[Loss, ...] = ()
    usage: Usage = Usage()


class RecordedPatches(Value):
    """Records in a file of recorded analyst records.

    Attributes:
        records: usable records, in file order.
        repaired: task ids of rows whose reply had been given up as unparsable and was read here.
        losses: rows that gave no record, with reasons.
        unmatched: (trajectory id, reason) of records left out.
        trimmed: records with more than three memory items (the rest was cut off).
    """

    records: tuple[AnalystRecord, ...]
    repaired: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    unmatched: tuple[tuple[str, str], ...] = ()
    trimmed: int = 0


class Collected(Value):
    """Results of all analysts together.

    Attributes:
        records: in the order of the trajectories.
        losses: what was dropped.
        left_out: functions that the skill does not get.
        usage: of all analysts.
        recorded: what a file of recorded records gave, if there was one.
    """

    records: tuple[AnalystRecord, ...] = ()
    losses: tuple[Loss, ...] = ()
    left_out: tuple[Discarded, ...] = ()
    usage: Usage = Usage()
    recorded: RecordedPatches | None = None


class Patches(Value):
    """The patches of one level of the merge; level 0 is one a record."""

    patches: tuple[Patch, ...] = ()


class Sifted(Value):
    """The lessons that running refutes, and every claim with what its program printed."""

    discarded: tuple[Discarded, ...] = ()
    checked: ClaimCheck = ClaimCheck()

    @property
    def confirmed(self) -> frozenset[str]:
        """Wordings of lessons whose claims about what code does hold."""
        holding = (result for result in self.checked.results if result.verdict == "holds")
        return frozenset(r.content for r in holding if r.claim.kind in ("behaviour", "analyst"))

    def __str__(self) -> str:
        claims, note = len(self.checked.results), self.checked.note
        run = f"{claims} claims run, {len(self.discarded)} lessons left out (discarded.json)"
        return f"{run}; {note}" if claims and note else note or run


class Draft(Value):
    """A patch on its way into the skill, what may not or could not enter it, and what the rules
    of both rest on."""

    patch: Patch
    discarded: tuple[Discarded, ...] = ()
    rules: tuple[Rule, ...] = ()


class GateResult(Value):
    """Result of the gate, on tasks that no analyst saw.

    Attributes:
        verdict: accepted, refused, or not gated (no gate, or too few tasks to say anything).
        before: pass rate with the seed (or no skill), over paired tasks.
        after: pass rate with the evolved skill.
        difference: after - before.
        p: two-sided exact McNemar p-value (clustered by task where there are several epochs); of
            the sequential gate the one-sided p-value of the stopped test, times the candidates.
        ci95: 95 % interval of the difference, above 0 if and only if the skill was found better.
        detectable: smallest lift that this many tasks can detect with 80 % power.
        tasks: paired tasks, valid on both sides.
        groups: groups of them; None where tasks are independent.
        more_tasks: how many more tasks a fair verdict needs; 0 if there are enough.
        fixed: tasks that pass more often after; with `broken` those that `difference` rests on.
        broken: tasks that pass less often after.
        reason: the verdict in one sentence.
        adjusted: `difference` corrected for stopping early (median-unbiased); None for a fixed
            number of tasks.
        planned: tasks at hand of the sequential gate, 0 for a fixed number of tasks.
        run: tasks that were run until it stopped, on each side.
        invalid_before: invalid attempts with the seed (or no skill), left out.
        invalid_after: invalid attempts with the evolved skill, left out.
        stopped: why the sequential gate stopped: `better`, `worse`, `futile` or `end`.
        candidates: number of candidates that the error is divided among.
        plan: what was said beforehand.
    """

    verdict: Literal["accepted", "refused", "not gated"]
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    p: float | None = None
    ci95: tuple[float, float] | None = None
    detectable: float | None = None
    tasks: int = 0
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    more_tasks: int = 0
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    reason: str = ""
    adjusted: float | None = None
    planned: int = 0
    run: int = 0
    invalid_before: int = 0
    invalid_after: int = 0
    looks: int = 0
    stopped: Literal["", "better", "worse", "futile", "end"] = ""
    candidates: int = 1
    plan: str = ""


class Acceptance(Value):
    """Judgement of the proposed edits, before any was merged.

    Attributes:
        judge: method and model.
        edits: that it was asked about.
        refused: those that it finds worse than nothing, or than what they replace.
        invalid: those without a verdict, which are not merged either.
        agreed: verdicts that were the same in both orders, of `compared`.
        right: verdicts on edits of the seed skill that a person shares, of `decided`.
    """

    judge: str
    edits: int
    refused: int
    invalid: int
    agreed: int
    compared: int
    right: int
    decided: int
    note: str
    usage: Usage
    simulated: bool

    def __str__(self) -> str:
        return (
            f"{self.judge} refused {self.refused} of {self.edits} proposed edits, no verdict on "
            f"{self.invalid}; both orders agree in {self.agreed} of {self.compared}; {self.note}"
        )


class Judged(Value):
    """The edits that a judge refused, and its account."""

    discarded: tuple[Discarded, ...]
    acceptance: Acceptance


class EvolveResult(Value):
    """The end of an evolution, as `harness evolve --json` prints it.

    `skill` is "" where a new skill learned nothing, `unsolved` says why where no attempt passed, or
    none of the gate's with the skill; `accepted` is None where nothing was gated. `edits` and
    `discarded` are counts; the lists lie in `report.json` and `discarded.json`. `left_out` says of
    each function that is not in the skill why. `problems` are validation warnings, `baselines` and
    `transfer` rows of `harness.evolve.baselines`. Evolutions of one `identity` resume one another;
    `request` is the digest of all that was asked, `given` those of named trajectories and patches.
    """

    skill: str
    accepted: bool | None
    edits: int
    discarded: int
    gate: GateResult
    calls: int = 0
    tokens: int = 0
    unreported: int = Field(default=0, exclude_if=lambda value: not value)
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    records: int = 0
    losses: int = 0
    conflicts: int = 0
    method: str = ""
    lines: int = 0
    skill_tokens: int = 0
    support: dict[str, int] = {}
    identity: str = ""
    request: str = ""
    given: tuple[str, str] = ("", "")
    simulated: bool = False
    judge: Acceptance | None = None
    problems: tuple[str, ...] = ()
    unsolved: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    baselines: tuple[dict[str, JsonValue], ...] = ()
    transfer: tuple[dict[str, JsonValue], ...] = ()

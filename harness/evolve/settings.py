"""Everything that an evolution takes: what decides its result, and where its inputs come from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from harness.agents import is_foreign
from harness.core import BadInput, Option, Value, digest, digest_file, digest_tree
from harness.evals import (
    ColumnSettings,
    LimitSettings,
    LoadedSuite,
    ModelSettings,
    TrustSettings,
    WorkerSettings,
)
from harness.evolve.merge.skill_layout import GUIDE
from harness.evolve.types import AnalystType, Signal, Size
from harness.skills import Limits, Skill, load_skill, new_skill, validate
from harness.tasks import output_file
from harness.trajectories import open_trajectories

AnalystKind = Literal["auto", "agentic", "single", "exemplar", "answers", "programs"]
WITHOUT_MODEL: tuple[AnalystKind, ...] = ("exemplar", "answers", "programs")
MergeKind = Literal["model", "deterministic"]
Select = Literal["all", "greedy", "tpe"]
BaselineName = Literal[
    "none", "seed", "parametric", "sequential-1", "sequential-4", "random-half", "memory"
]
NAMES: tuple[BaselineName, ...] = get_args(BaselineName)
FEW_TASKS, REPEATS = 100, 4
"""Below so many train tasks the analyst without a model is chosen, and so many attempts a task."""
HOW_TO = (
    f"\n# {{title}}\n\n## {GUIDE}\n\n"
    "Read the rules before you start and follow those that fit; what the task itself says comes "
    "first. Rules were learned from the runs of {support}, or explain a failure that no other "
    "does; within a section the best supported stands first.\n"
)
SHOWN_FORM = f"\n# {{title}}\n\n## {GUIDE}\n\nAnswer in the form that is shown here.\n"
HOW_TO_OTHER = {
    "exemplar": SHOWN_FORM,
    "answers": SHOWN_FORM,
    "programs": "\n# {title}\n",
}


class EvolveOptions(Value):
    """Options that an evolution depends on; the defaults are the command line's.

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
            call), `single` (one model call), `exemplar` (no model; few-shot examples of runs
            that passed, or as `answers` where fewer tasks were passed than it takes), `answers`
            (the same of the answers that train tasks expect, whatever the runs gave),
            `programs` (no model; functions from programs that passed, each proven on train tasks
            by running it), or `auto` (see :meth:`EvolveSettings.settled`).
        analyst_turns: most calls of an agentic analyst (the paper's 100 are for large models).
        blind: withhold expected answers and the checks' objections from single-call analysts.
        context: text files that single-call analysts may rely on, such as policies.
        check_conclusions: drop records whose root cause the run contradicts.
        judge: spec of a model that every proposed edit must pass before it is merged.
        merge: `model` or `deterministic`.
        merge_batch: patches per merge prompt (the paper's 32).
        min_support: distinct tasks that a rule of SKILL.md needs.
        max_rules: rules that SKILL.md gains at most; the rest goes to references.
        size: `compact` (the best rules in 230 tokens, no reference), `standard`, or `full` (all
            other rules in the reference, up to 200).
        select: whether all lessons enter the skill, or the set that does best on trial tasks, by
            `greedy` forward selection or `tpe` (a tree-structured Parzen estimator).
        select_tasks: trial tasks of a selection, of those that the analysts learned from (the
            paper's 32).
        select_seed: seed of a selection's random sets.
        examples: worked examples that `exemplar` and `answers` take.
        margin: smallest mean difference that the gate accepts.
        expected_discordance: share of tasks whose result is expected to change, for planning.
        epochs: attempts per task; 0 leaves their number to :meth:`EvolveSettings.settled`.
        concurrency: analyst calls at one time.
    """

    out: Path
    skill: Annotated[Path | None, Option("Deepen this skill directory.")] = None
    create: Annotated[
        str | None,
        Option("Start a new skill of this name: lower-case words, hyphens.", metavar="NAME"),
    ] = None
    description: Annotated[str, Option("Frontmatter description of a new skill.")] = ""
    trajectories: Annotated[Path | None, Option("Use these: a file or folder of runs.")] = None
    patches: Annotated[
        Path | None, Option("Recorded analyst records: JSONL, or the official code's files.")
    ] = None
    keep_unmatched: Annotated[bool, Option("Use records without a trajectory too.")] = False
    signal: Annotated[Signal, Option("Which runs teach.")] = "combined"
    analyst: Annotated[
        AnalystKind,
        Option(
            "With tools and a proven fix, one model call a run, or without a model: examples from "
            "runs that passed (from expected answers if hardly any did), or from those alone, or "
            f"functions from programs that passed; auto: examples below {FEW_TASKS} tasks, unless "
            "a model is named to read the runs, else single."
        ),
    ] = "auto"
    analyst_turns: Annotated[int, Option("Calls of one agentic analyst.")] = 20
    blind: Annotated[bool, Option("Withhold expected answers from analysts.")] = False
    context: Annotated[
        tuple[Path, ...], Option("A text that analysts may rely on, such as a policy.")
    ] = ()
    check_conclusions: Annotated[
        bool, Option("Drop lessons whose root cause the run contradicts.")
    ] = False
    judge: Annotated[
        str | None,
        Option(
            "Before the merge, drop edits that this model finds worse than none.", metavar="SPEC"
        ),
    ] = None
    merge: Annotated[MergeKind, Option()] = "deterministic"
    merge_batch: Annotated[int, Field(ge=2), Option()] = 32
    min_support: Annotated[int, Option("Tasks that a rule needs.")] = 2
    max_rules: Annotated[int, Option("Rules in SKILL.md at most.")] = 40
    size: Annotated[Size, Option("How much is written of the rules; compact: 230 tokens.")] = (
        "standard"
    )
    select: Annotated[
        Select, Option("Take all lessons, or the set that does best on some train tasks.")
    ] = "all"
    select_tasks: Annotated[int, Field(ge=1), Option("Train tasks that each set is run on.")] = 32
    select_seed: int = 0
    examples: Annotated[int, Option("Worked examples (exemplar, answers).")] = 3
    margin: Annotated[float, Option("Gain that the gate demands: 5% or 0.05.", metavar="SHARE")] = (
        0.0
    )
    expected_discordance: float = 0.25
    epochs: Annotated[
        int,
        Field(ge=0),
        Option(
            f"Attempts per task. Default: {REPEATS} below {FEW_TASKS} tasks, unless the suite's "
            "temperature is 0 or --select, --baselines, --user or --transfer is given; else 1.",
            show_default=False,
        ),
    ] = 0
    concurrency: Annotated[int, Option()] = 16

    def fingerprint(self) -> dict[str, Any]:
        """The options that decide the result, without paths and without how fast it is reached."""
        names = set(EvolveOptions.model_fields)
        names -= {"out", "trajectories", "patches", "skill", "concurrency", "epochs"}
        if not self.check_conclusions:
            names.remove("check_conclusions")  # as it was before there was the option
        names -= {name for name in ("judge", "blind") if not getattr(self, name)}
        texts = {"context": [digest_file(path) for path in self.context]} if self.context else {}
        return self.model_dump(mode="json", include=names - {"context"}) | texts

    def given_content(self) -> tuple[str, str]:
        """Digests of the trajectories and of the recorded patches, where they are given.

        Raises:
            BadInput: for trajectories that cannot be read.
        """
        runs, patches = self.trajectories, self.patches
        trajectories = open_trajectories(runs) if runs is not None else ()
        taught = sorted(digest(run.model_dump(mode="json")) for run in trajectories)
        if patches is None or not patches.exists():
            return digest(taught), ""
        return digest(taught), (digest_tree if patches.is_dir() else digest_file)(patches)

    @property
    def lessons(self) -> bool:
        """True if analysts write lessons; without a model worked examples or functions are made."""
        return self.analyst not in WITHOUT_MODEL or self.patches is not None

    @property
    def limits(self) -> Limits:
        """Limits of a patch: scripts only where each function was run."""
        return Limits(scripts=self.analyst == "programs" and not self.lessons)

    @property
    def asking(self) -> tuple[bool, bool]:
        """Return two flags: analysts ask a model, and the merge does."""
        asks = self.patches is None and self.lessons
        return asks, self.merge == "model" and self.lessons

    def teaches(self, outcome: str) -> AnalystType | None:
        """Choose the analyst for a run of that outcome; None if not scored or not asked for."""
        kinds: dict[str, AnalystType] = {"fail": "error", "pass": "success"}
        kind = kinds.get(outcome)
        return kind if self.signal in ("combined", kind) else None


def read_names(context: Any, parameter: Any, text: str | None) -> list[str]:
    """Names of baselines with commas between them."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in NAMES]:
        raise BadInput(f"--baselines: expected some of {', '.join(NAMES)}, got {unknown}")
    return names


class EvolveSettings(
    LimitSettings, ModelSettings, WorkerSettings, TrustSettings, ColumnSettings, EvolveOptions
):
    """Everything `harness evolve` takes: the options, and where models and tasks come from.

    Workers make the attempts at tasks; analysts and merger work in this process.

    Attributes:
        suite: makes the trajectories (split `train`), instead of `trajectories`.
        tasks: suite that holds the tasks of `trajectories`, for agentic analysts to prove on.
        agent: agent spec for the suite.
        earlier: run of the suite whose attempts at its train tasks are taken over where all that
            they depend on is as it was. The gate makes its own: the run that made somebody evolve
            may have been an unlucky one.
        gate: `auto` (the suite's `selection` split), a suite, or `none`.
        limit: take the first tasks of each split only.
        baselines: what else is made of the same trajectories and run on the gate's tasks.
        users: specs of models that will use the skill; default the agent's, with `transfer`.
        transfer: suites that the users run with the skill; default the gate's tasks.
    """

    suite: Annotated[str | None, Option("Make the trajectories: run the suite's train split.")] = (
        None
    )
    tasks: Annotated[
        str | None, Option("Suite of the tasks of --trajectories, to prove fixes on.")
    ] = None
    agent: Annotated[
        str | None, Option("graph:FILE.py:NAME, cmd:COMMAND or py:FILE.py:FUNCTION.")
    ] = None
    earlier: Annotated[
        Path | None,
        Option(
            "Learn from what still holds of RUN's attempts, too.", names=("--from",), metavar="RUN"
        ),
    ] = None
    gate: Annotated[str, Option("auto, none, or a suite.")] = "auto"
    limit: Annotated[
        int | None, Field(ge=1), Option("Take the first tasks of each split only.")
    ] = None
    baselines: Annotated[
        tuple[BaselineName, ...],
        Option(
            "Run these too, commas between: " + ", ".join(NAMES) + ".",
            metavar="NAMES",
            callback=read_names,
        ),
    ] = ()
    users: Annotated[
        tuple[str, ...],
        Option(
            "A model that will use the skill; runs it too, against its seed. May repeat.",
            names=("--user",),
            metavar="SPEC",
        ),
    ] = ()
    transfer: Annotated[
        tuple[str, ...],
        Option(
            "What users run: out-of-domain suites. May repeat. Default: the gate's tasks.",
            metavar="SUITE",
        ),
    ] = ()

    def tasks_to_learn_from(self, train: LoadedSuite | None) -> int:
        """Count the tasks that teach; of trajectories counted up to :data:`FEW_TASKS`."""
        if train is not None or self.trajectories is None:
            return len(train.tasks[: self.limit]) if train else 0
        tasks = set[str]()
        for run in open_trajectories(self.trajectories):
            tasks.add(run.task_id)
            if len(tasks) == FEW_TASKS:
                break
        return len(tasks)

    def settled(self, train: LoadedSuite | None) -> EvolveSettings:
        """The settings with analyst and attempts chosen, where that was left to us.

        Below 100 tasks the analyst without a model, if the answers are texts and no model was named
        for the analysts, nor a merge by one; and four attempts a task, unless the suite's
        temperature of 0 would make them all alike, or a selection, baselines or other users
        multiply them. Trajectories are read by a model wherever one is named, since nothing else
        asks it.

        Args:
            train: the suite that is run; None where trajectories are given.

        Raises:
            BadInput: if a judge is to judge where no lessons are proposed, or for an earlier run
                beside trajectories.
        """
        changes: dict[str, Any] = {"epochs": self.epochs or 1}
        if self.analyst == "auto":
            changes["analyst"] = "single"
            read = self.models or self.patches or self.merge == "model" or self.judge
            unread = train is None and not read
            if unread and self.tasks_to_learn_from(None) < FEW_TASKS:
                changes["analyst"] = "exemplar"
        if train is not None and len(train.tasks[: self.limit]) < FEW_TASKS:
            has_analyst = any(spec[:8] == "analyst=" for spec in self.models)
            by_model = has_analyst or self.merge == "model" or self.judge is not None
            if self.analyst == "auto" and not by_model and not any(map(output_file, train.tasks)):
                changes["analyst"] = "exemplar"
            multiplied = self.users or self.transfer or self.baselines or self.select != "all"
            # A foreign agent has settings of its own.
            varies = (
                is_foreign(self.agent or train.suite.agent or "")
                or train.suite.sampling.temperature != 0
            )
            if not self.epochs and varies and not multiplied:
                changes["epochs"] = REPEATS
        if self.earlier is not None and train is None:
            raise BadInput("--from is a run of the suite: expected it with --suite")
        settled = self.model_copy(update=changes)
        if settled.judge is not None and not settled.lessons:
            raise BadInput(
                f"--judge judges what analysts propose, and --analyst {settled.analyst} asks none"
            )
        return settled


def seed_skill(options: EvolveOptions) -> Skill:
    """The frozen skill that an evolution starts from.

    Raises:
        BadInput: if not exactly one of `skill` and `create` is given, the name is none, or the
            skill is not valid: then no skill evolved from it would be.
    """
    if (options.skill is None) == (options.create is None):
        raise BadInput("give either --skill DIR (deepening) or --create NAME (creation)")
    if options.skill is not None:
        skill = load_skill(options.skill)
        # What the reader forgave in the header is gone as soon as the header is written anew.
        problems = set(validate(skill)) - set(skill.warnings)
        if errors := [problem for problem in problems if problem.level == "error"]:
            raise BadInput(f"--skill {str(options.skill)!r} is not a valid skill: {errors[0]}")
        return skill
    name = options.create or ""
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        raise BadInput(
            "--create: expected a name of lower-case words and hyphens, such as date-formats, of "
            f"at most 64 characters, got {name!r}"
        )
    # Until the tasks are known that teach it; it stays where they share too few words.
    learned = f"Rules and worked examples for tasks of the kind {name}, learned from runs. "
    description = options.description or learned + "Use for such tasks."
    support = f"at least {options.min_support} different tasks"
    guide = "\n# {title}\n" if options.size == "compact" else HOW_TO
    body = (guide if options.lessons else HOW_TO_OTHER[options.analyst]).format(
        title=name.replace("-", " ").capitalize(), support=support
    )
    skill = new_skill(name, description, body)
    if errors := [problem for problem in validate(skill) if problem.level == "error"]:
        raise BadInput(f"--description cannot be used: {errors[0]}")
    return skill

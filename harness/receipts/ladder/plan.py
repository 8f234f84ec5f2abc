"""Plan of a ladder: its settings and its texts; no model call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from harness.agents import split_examples
from harness.core import BadInput, Option, Task, loops, write_atomic
from harness.evals import (
    Evaluator,
    LoadedSuite,
    Split,
    agent_model_spec,
    agent_spec,
    budget_of,
    load_suite,
    open_agent_model,
    tasks_digest,
)
from harness.models import CallStore, Message, Sampling
from harness.receipts.audit import SkillSettings
from harness.receipts.ladder import rungs as texts
from harness.receipts.ladder.examples import Pool, read_pairs, verified
from harness.receipts.ladder.no_model import matcher_of, replies_without_model
from harness.receipts.ladder.records import NO_MODEL, ORDER, RungName
from harness.receipts.plan import LEAST_TASKS
from harness.receipts.records import task_groups
from harness.sandbox import select
from harness.skills import TOKENIZER, Skill, count_tokens, load_skill, read_value
from harness.stats import LIKENESS, cluster_names, joint_lift, planned_size

SETS = 8
"""Sets of gold examples from which the best is chosen."""
PLAN, POOL = "plan.json", "examples.json"
NO_EXAMPLES = "none"
TURNS = ("graph:answer", "graph:program")
"""The agents that play examples as turns of the conversation."""
BEST: RungName = "best"
DOUBLE: RungName = "double"
FROM_EXAMPLES: tuple[RungName, ...] = ("random", BEST, DOUBLE, "nearest")
OTHER_SPLITS: tuple[Split, ...] = ("train", "selection", "test")


class LadderSettings(SkillSettings):
    """Everything `harness skill ladder` takes, with the command line's defaults.

    Attributes:
        examples: where gold examples come from; `none` leaves their rungs out.
        lessons: folder of the evolution whose lessons are listed.
        epochs: attempts a task on every rung.
        choose: tasks on which the best set of examples is chosen.
        rungs: the only ones to run beside the skill, with commas between them; "" for all.
        measure: match lengths in the tokens of the model that will read them.
    """

    examples: Annotated[
        str,
        Option(
            "Gold examples: a split (its gold answers), a run that passed some of its tasks, a "
            "folder with examples.jsonl, or none.",
            metavar="SOURCE",
        ),
    ] = "train"
    lessons: Annotated[
        Path | None, Option("Also a plain list of this evolution's lessons.", metavar="EVOLUTION")
    ] = None
    epochs: Annotated[int, Field(ge=1), Option("Attempts per task.")] = 1
    choose: Annotated[
        int, Field(ge=1), Option("Tasks on which the best set of examples is chosen.")
    ] = 20
    rungs: Annotated[
        str,
        Option("Only these beside the skill: none,best,repeat and so on.", metavar="NAME,..."),
    ] = ""
    measure: Annotated[
        bool,
        Option("Match lengths as the model's server counts tokens: a short call a text, first."),
    ] = False

    @property
    def wanted(self) -> frozenset[str]:
        """Names of the rungs to run.

        Raises:
            BadInput: if one of them is no rung.
        """
        names = [name for part in self.rungs.split(",") if (name := part.strip())]
        if unknown := set(names) - set(ORDER):
            raise BadInput(f"--rungs: no rung {min(unknown)!r}; there are {', '.join(ORDER)}")
        return frozenset({*names, "skill"} if names else ORDER)


@dataclass(frozen=True)
class Prepared:
    """Plan of a ladder with its texts.

    Attributes:
        skill: the whole skill.
        suite: the tasks of the test.
        chooser: the tasks on which the best set is chosen; None without examples.
        pool: verified examples; None without.
        sets: rung -> the sets to choose from.
        skills: rung -> its skill, without those that are chosen first; None for no skill.
        targets: rung -> tokens that its text should have, by the tokenizer of the project.
        agent: its spec.
        replies: task id -> the call that code writes for it; none for a skill without functions.
        warnings: what must be said before the first call.
    """

    skill: Skill
    suite: LoadedSuite
    chooser: LoadedSuite | None
    pool: Pool | None
    sets: Mapping[RungName, Sequence[texts.DrawnSet]]
    skills: Mapping[RungName, Skill | None]
    targets: Mapping[RungName, int]
    agent: str
    replies: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def unseen(self) -> tuple[str, ...]:
        """Tasks of kinds that the other splits lack; none if all are."""
        ids = tuple(task.id for task in self.suite.tasks if task.meta.get("seen") is False)
        return ids if len(ids) < len(self.suite.tasks) else ()

    @property
    def names(self) -> tuple[RungName, ...]:
        """Rungs in their order."""
        present = self.skills.keys() | self.sets.keys()
        return tuple(name for name in ORDER if name in present)


def prepare(settings: LadderSettings, out: Path | None) -> Prepared:
    """Read skill and suite, verify the examples, make the texts of the rungs. The model is
    called for `measure` alone.

    Args:
        settings: of the ladder.
        out: its folder, which keeps what was verified; None to keep nothing.

    Raises:
        BadInput: for a skill, suite or examples that cannot be used.
    """
    skill, rungs = load_skill(settings.skill), settings.wanted
    suite, parts = splits_of(settings)
    agent = agent_spec(settings, suite)
    tokens, warnings = texts.tokens_of(skill), list[str]()
    lessons = texts.all_lessons(settings.lessons) if settings.lessons is not None else []
    samples: dict[RungName, str] = {"placebo": texts.placebo(tokens)}
    pool = chooser = None
    if lessons:
        samples["lessons"] = texts.lesson_list(lessons, tokens)
    if settings.examples != NO_EXAMPLES and not rungs.isdisjoint(FROM_EXAMPLES):
        pool = pool_of(settings, suite, parts, out)
        warnings.append(str(pool))
        chooser = chooser_of(settings, parts, pool)
    targets: dict[RungName, int] = dict.fromkeys(samples, tokens)
    targets |= {"best": tokens} if pool else {}
    examples = pool.examples if pool else ()
    if settings.measure and out is not None:
        sample_texts = [*samples.values(), *(texts.example_body([row]) for row in examples)]
        first, *counts = loops.run(
            measured(settings, agent, [skill.body.strip(), *sample_texts], out)
        )
        for (name, sample), count in zip(samples.items(), counts, strict=False):
            # As many tokens of the model as the skill has, in those of the project for such texts.
            targets[name] = round(first * count_tokens(sample) / count)
        targets |= {"best": first} if pool else {}
        examples = [
            row.model_copy(update={"weight": count / texts.cost(row)})
            for row, count in zip(examples, counts[len(samples) :], strict=True)
        ]
        warnings.append(f"lengths are matched as the model counts them: {first} tokens")
    answered = [task for part in parts.values() for task in part.tasks]
    bodies: dict[RungName, str] = {
        "placebo": texts.placebo(targets["placebo"]),
        "format": texts.format_rule(suite, agent, answered),
    }
    sets: dict[RungName, Sequence[texts.DrawnSet]] = {}
    if pool is not None:
        targets |= {"random": targets["best"], "double": 2 * targets["best"]}
        sets = {
            name: texts.draw_sets(examples, targets[name], SETS, settings.seed)
            for name in (BEST, DOUBLE)
            if name in rungs or name == BEST  # of which `random` is the first
        }
        bodies["random"] = sets["best"][0].body
        if agent == "graph:program":  # the agent that looks for them
            bodies["nearest"] = texts.nearest_examples(examples, targets["best"])
        for name, drawn in sets.items():
            if len(drawn) < SETS:
                warnings.append(f"{name}: the examples give {len(drawn)} different sets of {SETS}")
    if lessons:
        bodies["lessons"] = texts.lesson_list(lessons, targets["lessons"])
    if skill.files.keys() - set(skill.scripts):
        warnings.append("files of the skill that an agent may read are not counted in its tokens")
    skills: dict[RungName, Skill | None] = {
        name: texts.control(skill, body) for name, body in bodies.items()
    }
    skills |= {"none": None, "prose": texts.prose_of(skill), "skill": skill, "repeat": skill}
    matcher = matcher_of(skill, parts["train"].tasks if "train" in parts else ())
    if matcher.unmatched:
        names = ", ".join(matcher.unmatched)
        warnings.append(f"no train prompt has the template of {names}: code does not call them")
    if replies := replies_without_model(matcher, suite.tasks):
        skills[NO_MODEL], rungs = None, rungs | {NO_MODEL}  # costs no call: never left out
    sets = {name: drawn for name, drawn in sets.items() if name in rungs}
    skills = {name: part for name, part in skills.items() if name in rungs}
    return Prepared(
        skill, suite, chooser, pool, sets, skills, targets, agent, replies, tuple(warnings)
    )


async def measured(
    settings: LadderSettings, agent: str, bodies: Sequence[str], out: Path
) -> list[int]:
    """Tokens of texts in a prompt, as the model's server counts them; one short call each.

    Raises:
        BadInput: if the server counts no tokens.
    """
    counts: list[int] = []
    with CallStore(out / "measure.sqlite") as calls:
        opened = open_agent_model(settings.evaluation(), calls, budget=budget_of(settings))
        async with aclosing(opened) as model:
            for body in ("", *bodies):
                text, turns = split_examples(body) if agent in TURNS else (body, [])
                system: Message = {"role": "system", "content": f"-\n{text}"}
                messages: list[Message] = [system, *turns, {"role": "user", "content": "-"}]
                reply = await model.complete(messages, sampling=Sampling(max_tokens=1))
                counts.append(reply.usage.prompt_tokens)
    if min(counts[1:]) <= counts[0]:
        raise BadInput(f"--measure: {agent_model_spec(settings.models)} does not count tokens")
    return [count - counts[0] for count in counts[1:]]


def inputs_of(settings: LadderSettings) -> dict[str, Any]:
    """Return the content of what the settings name, by what a user knows it by."""
    suite, parts = splits_of(settings)
    tasks: dict[str, Sequence[Task]] = {name: part.tasks for name, part in parts.items()}
    pairs = [] if settings.examples == NO_EXAMPLES else read_pairs(settings.examples, tasks)
    lessons = texts.all_lessons(settings.lessons) if settings.lessons is not None else []
    return {
        "skill_content": load_skill(settings.skill).digest,
        "tasks": tasks_digest(suite, *parts.values(), agent=settings.agent),
        "pairs": list(map(repr, pairs)),
        "texts": lessons,
    }


def splits_of(settings: LadderSettings) -> tuple[LoadedSuite, dict[Split, LoadedSuite]]:
    """The test, and the other splits that the suite has.

    Raises:
        BadInput: if there are no held-out tasks.
    """
    split = settings.split or "test"
    try:
        suite = load_suite(settings.suite, split, trusted=settings.trust)
    except BadInput as error:
        raise BadInput(
            f"{error}. A ladder needs held-out tasks: expected a suite with the splits train, "
            "selection and test (`tasks: {train: ..., selection: ..., test: ...}`, or one file "
            "with `split_by: stratified`), or another --split"
        ) from error
    suite = suite.model_copy(update={"tasks": suite.tasks[: settings.limit]})
    if len(suite.tasks) < LEAST_TASKS:
        raise BadInput(f"expected {LEAST_TASKS} held-out tasks or more, got {len(suite.tasks)}")
    parts: dict[Split, LoadedSuite] = {}
    for name in OTHER_SPLITS:
        if name != split:
            with suppress(BadInput):
                parts[name] = load_suite(settings.suite, name, trusted=settings.trust)
    parts.pop("test", None)  # never to learn from, whatever is measured
    return suite, parts


def pool_of(
    settings: LadderSettings,
    suite: LoadedSuite,
    parts: Mapping[Split, LoadedSuite],
    out: Path | None,
) -> Pool:
    if out is not None and (out / POOL).is_file():
        return read_value(out / POOL, Pool, "is damaged")
    if not parts:
        raise BadInput(
            f"suite {suite.suite.name!r} has no split but {suite.split!r}: gold examples are drawn "
            "from tasks that are not measured, so split it, or --examples none"
        )
    evaluation = settings.evaluation()
    plans = {
        task.id: plan
        for part in parts.values()
        for plan in [Evaluator(evaluation, part).plan(None)]
        for task in part.tasks
    }
    tasks: dict[str, Sequence[Task]] = {name: part.tasks for name, part in parts.items()}
    pool = loops.run(
        verified(
            # What is published names no folder of this machine.
            source.name if (source := Path(settings.examples)).is_absolute() else str(source),
            read_pairs(settings.examples, tasks),
            plans,
            [task.id for task in suite.tasks],
            select(settings.sandbox),
            trusted=settings.trust_checks,
        )
    )
    if not pool.examples:
        raise BadInput(
            f"no gold example could be used ({pool}): give --examples RUN, a run that passed tasks "
            'of another split, or a folder with examples.jsonl of {"task": id, "reply": text}'
        )
    if out is not None:
        write_atomic(out / POOL, pool.model_dump_json(indent=1) + "\n")
    return pool


def chooser_of(
    settings: LadderSettings, parts: Mapping[Split, LoadedSuite], pool: Pool
) -> LoadedSuite:
    """Tasks on which the best set is chosen: of the selection split, else of train, never those
    of the examples."""
    used = {example.task for example in pool.examples}
    for name in ("selection", "train"):
        part = parts.get(name)
        tasks = tuple(task for task in part.tasks if task.id not in used) if part else ()
        if part is not None and tasks:
            return part.model_copy(update={"tasks": tasks[: settings.choose]})
    raise BadInput(
        "no task is left to choose the best set of examples on: expected a selection split, or "
        "tasks of train that are not among the examples"
    )


def plan_of(settings: LadderSettings, prepared: Prepared | None = None) -> dict[str, Any]:
    """Return the plan of a ladder, for `--dry-run` and before the first call."""
    prepared = prepared or prepare(settings, None)
    tasks, names = len(prepared.suite.tasks), prepared.names
    rows: list[dict[str, Any]] = []
    runs = called = 0
    compared = [name for name in names if name not in ("skill", "repeat")]
    for name in names:
        drawn, skill = prepared.sets.get(name, ()), prepared.skills.get(name)
        lengths = [row.length for row in drawn] or [texts.tokens_of(skill)]
        same = name == "prose" and skill is not None and skill.digest == prepared.skill.digest
        runs += not same
        called += not same and name != NO_MODEL
        rows.append({
            "rung": name,
            "tokens": [min(lengths), max(lengths)],
            "target": prepared.targets.get(name),
            "same_as": "skill" if same else "",
            "sets": len(drawn),
        })  # fmt: skip
        if same:
            compared.remove("prose")
    choosing = sum(map(len, prepared.sets.values())) * (
        len(prepared.chooser.tasks) if prepared.chooser else 0
    )
    attempts = runs * tasks * settings.epochs
    seen = [task for task in prepared.suite.tasks if task.id not in prepared.unseen]
    sizes = Counter(cluster_names([task.id for task in seen], task_groups(seen))).values()
    lift = joint_lift(planned_size(sizes) if sizes else len(seen), len(compared))
    alike = f", and those of {len(sizes)} groups are alike by {LIKENESS:g}" if sizes else ""
    least = "no difference" if lift is None else f"a difference of {100 * lift:.1f} points"
    return {
        "rungs": rows,
        "tasks": tasks,
        "epochs": settings.epochs,
        "attempts": attempts,
        "choosing": choosing,
        "calls_at_most": (called * tasks * settings.epochs + choosing)
        * prepared.suite.suite.max_turns,
        "comparisons": len(compared),
        "detectable": None if lift is None else round(100 * lift, 2),
        "tokenizer": TOKENIZER,
        "notes": list(prepared.warnings),
        "model": agent_model_spec(settings.models),
        "agent": prepared.agent,
        "plan": f"{runs} rungs on {tasks} tasks, {attempts} attempts, and {choosing} to choose the "
        f"best sets of examples; of {len(compared)} comparisons together {least} is found with "
        "80 % power (if a quarter of the results differ, or as many as that takes"
        f"{alike})"
        + (f", on the {len(seen)} tasks of kinds that train has" if prepared.unseen else ""),
    }


def plan_text(plan: Mapping[str, Any]) -> str:
    """The plan for people: rungs with their tokens, then what can be seen."""
    lines: list[str] = []
    for row in plan["rungs"]:
        low, high = row["tokens"]
        length = f"{low} tokens" if low == high else f"{low} to {high} tokens"
        target = row["target"]
        equal = not target or (texts.near(low, target) and texts.near(high, target))
        of = "" if equal else f" (expected {target})"
        sets = f", {row['sets']} sets" if row["sets"] else ""
        same = f", as {row['same_as']}" if row["same_as"] else ""
        lines.append(f"{row['rung']:8} {length}{of}{sets}{same}")
    return "\n".join([*lines, *plan["notes"], plan["plan"]])

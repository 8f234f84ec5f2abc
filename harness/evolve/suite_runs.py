"""The runs of an evolution: its tasks, which it learns from and is tried on, and their attempts."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.agents import is_foreign, open_agent, refuse_lost_skill
from harness.core import BadInput, Trajectory, Usage
from harness.evals import (
    EvalSettings,
    Evaluator,
    ItemRecord,
    LimitSettings,
    LoadedSuite,
    Split,
    Step,
    agent_model_spec,
    budget_of,
    load_suite,
    records,
    unsolved,
)
from harness.evolve.analysts.exemplar import EXPECTED, exemplar_patch, with_answers
from harness.evolve.baselines import BaselineRow, Ground, run_baselines
from harness.evolve.baselines.transfer import TransferPlan, TransferRow, held_out, run_transfer
from harness.evolve.evolution import Event, horizon, ignore_event
from harness.evolve.report import Finished
from harness.evolve.selection import CANDIDATES, most_trials
from harness.evolve.settings import EvolveSettings
from harness.evolve.types import Draft
from harness.models import (
    Budget,
    CallStore,
    Model,
    parse_roles,
    parse_spec,
)
from harness.tasks import default_check, expected_text
from harness.trajectories import open_trajectories

# Settings that an eval run shares with the evolution.
SHARED = (
    "agent", "limit", "epochs", "models", "base_url", "concurrency", "seed", "sandbox", "trust",
    "trust_checks", "executor", "workers", "worker_resources", *LimitSettings.model_fields,
)  # fmt: skip
# Tokens of an analyst's call beside the run that it reads, about.
ANALYST_TOKENS = 2000
# Below the folder of the evolution.
TRAIN = Path("runs", "train")
# Minutes from which the analyst without a model is named.
LONG_MIN = 3


def eval_settings(
    settings: EvolveSettings, suite: LoadedSuite, skill: Path | None, **changed: Any
) -> EvalSettings:
    """Return the settings of an eval run; `changed` are others than the evolution's."""
    shared = {name: getattr(settings, name) for name in SHARED}
    return EvalSettings.model_validate(
        {"suite": suite.suite.name, **shared, "skill": skill, **changed}
    )


def earlier_run(settings: EvolveSettings) -> Path | None:
    """The run whose attempts are to be taken over; None once they are, if it is gone."""
    earlier = settings.earlier
    if earlier is None or earlier.exists() or not (settings.out / TRAIN / "run.json").is_file():
        return earlier
    return None


def taken_over(steps: Sequence[Step], earlier: Path | None) -> str:
    """Say how many attempts are taken over from an earlier run, and where none is, why."""
    reused = sum(step.action != "RERUN" for step in steps)
    text = f"{reused} of {len(steps)} attempts are those of {earlier}"
    return text if reused else f"{text}: {Counter(step.why for step in steps).most_common(1)[0][0]}"


@dataclass
class SuiteRuns:
    """Runs suites with what is left of the evolution's budget; finished attempts are kept.

    Attributes:
        settings: of the evolution.
        budget: of the evolution, which the runs are booked on.
        progress: called with every event.
    """

    settings: EvolveSettings
    budget: Budget
    progress: Callable[[Event], None] = ignore_event
    _looks: Counter[str] = field(default_factory=Counter[str])

    async def attempts(
        self,
        suite: LoadedSuite,
        folder: Path,
        skill: Path | None,
        user: str | None = None,
        epochs: int | None = None,
        earlier: Path | None = None,
    ) -> list[ItemRecord]:
        """Run a suite in `folder`, by the model `user` and with so many attempts at each task, if
        these are others than the evolution's; what holds of an `earlier` run is taken over."""
        budget, spent = self.budget, self.budget.spent
        remaining = {
            "budget_usd": None if budget.usd is None else max(0.0, budget.usd - spent.usd),
            "budget_tokens": None
            if budget.tokens is None
            else max(0, budget.tokens - spent.tokens),
            "budget_calls": None if budget.calls is None else max(0, budget.calls - spent.calls),
        }
        changed: dict[str, Any] = {**remaining, "epochs": epochs or self.settings.epochs or 1}
        if user is not None:
            changed["models"] = (user,)
        evaluation = eval_settings(self.settings, suite, skill, earlier=earlier, **changed)
        run_budget = budget_of(evaluation)
        above = "" if folder.parent.name == "runs" else f"{folder.parent.name} "
        await Evaluator(evaluation, suite, run_budget).run(
            folder,
            skill,
            lambda label, tally: self.progress(
                Event(
                    stage=f"{above}{label}",
                    done=tally.done,
                    total=tally.total,
                    message=f"{tally.failed} failed, {tally.invalid} invalid, "
                    f"{tally.usage.tokens:,} tokens  {tally.waits_for}".rstrip(),
                )
            ),
            on_plan=lambda steps: self.progress(
                Event(stage=folder.name, message=taken_over(steps, earlier))
            ),
        )
        budget.spent += run_budget.spent
        return records(folder)

    def split_of(self, reference: str, split: Split) -> LoadedSuite:
        """The named split; a suite of one task file is taken whole where nothing else needs it."""
        settings = self.settings
        suite = load_suite(reference, trusted=settings.trust)
        needs_no_split = reference != settings.suite or settings.gate == "none"
        if suite.split is None and needs_no_split:
            return suite
        return load_suite(reference, split, trusted=settings.trust)

    @cached_property
    def train(self) -> LoadedSuite | None:
        """The train split of the evolution's suite; None where trajectories are given."""
        suite = self.settings.suite
        return self.split_of(suite, "train") if suite else None

    @cached_property
    def taught(self) -> LoadedSuite | None:
        """The tasks that the analysts learn from, where they are known."""
        tasks = self.settings.tasks
        return self.split_of(tasks, "train") if tasks else self.train

    @cached_property
    def gated(self) -> LoadedSuite | None:
        """The tasks of the gate."""
        settings = self.settings
        reference = settings.suite if settings.gate == "auto" else settings.gate
        if settings.gate == "none" or reference is None:
            return None
        return self.split_of(reference, "selection")

    def refuse_lost(self, skill: str) -> None:
        """Refuse an agent that the skill would not reach: nothing that it does would prove it.

        Raises:
            BadInput: as :func:`harness.agents.refuse_lost_skill`, or if it cannot be opened.
        """
        typed = self.settings.agent
        trusted = typed is not None or self.settings.trust
        # Splits of one suite have one agent; opening it may import a user's file.
        loaded = filter(None, (self.train, self.gated))
        suites = {(suite.root, suite.suite.name): suite for suite in loaded}
        for suite in suites.values():
            if spec := typed or suite.suite.agent:
                agent = open_agent(spec, base=Path.cwd() if typed else suite.root, trusted=trusted)
                refuse_lost_skill(agent, skill, suite.suite.skill_mode)

    @cached_property
    def trial_suite(self) -> LoadedSuite:
        """A seeded sample of the tasks that the analysts learned from, for a selection.

        Raises:
            BadInput: if no suite is named.
        """
        settings, suite = self.settings, self.taught
        if suite is None:
            raise BadInput("--select runs tasks: give --suite, or --tasks SUITE")
        tasks = suite.tasks[: settings.limit]
        count = min(settings.select_tasks, len(tasks))
        sampled = random.Random(settings.select_seed).sample(tasks, count)
        return suite.model_copy(update={"tasks": tuple(sampled)})

    def selection_plan(self, tasks: int) -> str:
        """Describe in one sentence what a selection will run."""
        settings = self.settings
        most = most_trials(settings.select, CANDIDATES[settings.select])
        return (
            f"{settings.select}: at most {most} sets of lessons on {tasks} trial tasks, "
            f"{most * tasks * settings.epochs} attempts"
        )

    @cached_property
    def transfer_plan(self) -> TransferPlan | None:
        """Return the plan for the users of the skill; None where none was asked for.

        Raises:
            BadInput: if there is nothing that they could run.
        """
        settings = self.settings
        if not (settings.users or settings.transfer):
            return None
        names = dict.fromkeys(settings.transfer)
        suites = [load_suite(name, trusted=settings.trust) for name in names]
        suites = suites or ([self.gated] if self.gated else [])
        if not suites:
            raise BadInput("--user runs the gate's tasks or other suites: give --transfer SUITE")
        taught = {task.id: task.prompt for task in self.train.tasks} if self.train else {}
        agent = agent_model_spec(settings.models)
        # The models that have a hand in the skill: of the runs, the analysts and the merger.
        roles = parse_roles(list(settings.models))
        asks, merges = settings.asking
        authors = [agent] if settings.suite else []
        authors += [str(roles["analyst"])] if asks else []
        authors += [str(roles["merger"])] if merges else []
        users = dict.fromkeys(settings.users or (agent,))
        return TransferPlan(
            author=" + ".join(dict.fromkeys(authors)) or "recorded",
            users=tuple(str(parse_spec(user)) for user in users),
            suites=tuple(
                held_out(suite, taught, settings.limit) for suite in suites or [self.gated] if suite
            ),
            epochs=settings.epochs,
            discordance=settings.expected_discordance,
            margin=settings.margin,
        )

    async def attempts_are_alike(self) -> bool:
        """Try one task: does a foreign agent ask for temperature 0 in all its calls?"""
        assert self.train is not None, "attempts are repeated at a suite"
        settings, suite = self.settings, self.train
        if not is_foreign(settings.agent or suite.suite.agent or ""):
            return False
        folder = settings.out / "runs" / "first-attempt"
        first = suite.model_copy(update={"tasks": suite.tasks[:1]})
        await self.attempts(first, folder, settings.skill, epochs=1)
        with CallStore(folder / "calls.sqlite") as calls:
            temperatures = {call.body.get("temperature") for call in calls.answered()}
        if temperatures == {0}:
            message = "one attempt at each task: the agent asks for temperature 0"
            self.progress(Event(stage="train", message=message))
        return temperatures == {0}

    async def rollouts(self) -> tuple[Path, Usage]:
        """Attempts at the train split, for the analysts."""
        assert self.train is not None, "rollouts are made of a suite"
        settings = self.settings
        folder = settings.out / TRAIN
        count = len(self.train.tasks[: settings.limit])
        message = f"{count} tasks, {settings.epochs} attempt{'s'[: settings.epochs > 1]} each"
        if settings.lessons:
            message += f"; {horizon(count * settings.epochs, settings.min_support)}"
        self.progress(Event(stage="train", message=message))
        started, spent = time.monotonic(), self.budget.spent.tokens
        items = await self.attempts(
            self.train, folder, settings.skill, earlier=earlier_run(settings)
        )
        used = sum((item.usage for item in items), Usage())
        seconds, new = time.monotonic() - started, self.budget.spent.tokens - spent
        if settings.analyst == "single" and settings.asking[0]:
            readers = sum(settings.teaches(item.outcome) is not None for item in items)
            tokens = round(used.tokens / len(items) + ANALYST_TOKENS) * readers
            message = f"{readers} runs to read, about {tokens:,} tokens"
            if new:
                minutes = tokens / new * seconds / 60
                message += f" and {minutes:.0f} min at the pace of the attempts"
                message += "" if minutes < LONG_MIN else "; --analyst exemplar asks no model"
            self.progress(Event(stage="analysts", message=message))
        return folder, used

    async def trial(self, skill: Path | None, label: str) -> list[ItemRecord]:
        """A set of lessons on the trial tasks."""
        folder = self.settings.out / "runs" / "selection" / label
        return await self.attempts(self.trial_suite, folder, skill)

    async def evaluate(self, skill: Path | None, tasks: tuple[str, ...]) -> list[ItemRecord]:
        """Tasks of the gate, with the evolved skill, its seed or none."""
        assert self.gated is not None, "a gate has tasks"
        evolved = skill is not None and skill.is_relative_to(self.settings.out / "skill")
        name = "gate-after" if evolved else "gate-before"
        self._looks[name] += 1
        folder = self.settings.out / "runs" / name / f"look-{self._looks[name]:02d}"
        ids = set(tasks)
        selected = tuple(task for task in self.gated.tasks if task.id in ids)
        return await self.attempts(self.gated.model_copy(update={"tasks": selected}), folder, skill)

    async def judged(self) -> tuple[Path, Usage]:
        """The given trajectories, all with an outcome."""
        from harness.evolve.scripts import judged

        return await judged(self.taught, self.settings)

    def still_unsolved(self) -> tuple[str, ...]:
        """Explain why no attempt of the gate passed with the skill, if none did."""
        if self.gated is None:
            return ()
        looks = sorted((self.settings.out / "runs" / "gate-after").glob("look-*"))
        items = [item for look in looks for item in records(look)]
        return unsolved(items, {task.id: task for task in self.gated.tasks})

    def unsolved(self) -> tuple[str, ...]:
        """Explain why no attempt to learn from passed, if none did."""
        settings, tasks = self.settings, self.taught.tasks if self.taught else ()
        if settings.trajectories is None:
            items = records(settings.out / TRAIN)
        else:
            items = [
                ItemRecord.model_validate(
                    {
                        "id": run.trajectory_id or run.task_id,
                        "task_id": run.task_id,
                        "outcome": run.outcome,
                        "value": float(run.outcome == "pass"),
                        "answer": run.answer,
                        "reason": str(run.harness.get("reason") or ""),
                    }
                )
                for run in open_trajectories(settings.trajectories)
                if run.outcome in ("pass", "fail", "invalid")
            ]
        lines = unsolved(items, {task.id: task for task in tasks})
        hint = "--tasks SUITE, the suite of these runs, shows which check judged them"
        return (*lines, hint) if lines and not tasks else lines

    async def write(self, runs: Sequence[Trajectory]) -> tuple[Draft, Usage]:
        """Functions from the programs of runs, tried on their tasks."""
        from harness.evolve.scripts import write_functions

        return await write_functions(runs, self.taught, self.settings, self.budget)

    @cached_property
    def expected(self) -> dict[str, str]:
        """Task id -> the answer that it expects, of the tasks that teach, where these are known.

        Raises:
            BadInput: if there are none, and the analyst takes nothing else.
        """
        tasks = () if self.taught is None else self.taught.tasks
        answers = {task.id: text for task in tasks if (text := expected_text(task))}
        if not answers and self.settings.analyst == "answers":
            raise BadInput(
                "--analyst answers: name the suite of the runs, with --tasks SUITE"
                if self.taught is None
                else "--analyst answers: no task to learn from has an answer to show"
            )
        return answers

    async def write_examples(self, runs: Sequence[Trajectory]) -> tuple[Draft, Usage]:
        """Worked examples and answer format, of the runs that passed, or of expected answers."""
        settings, tasks = self.settings, () if self.taught is None else self.taught.tasks
        # A check for words in an answer does not object to its form.
        formal = {task.check or default_check(task) for task in tasks} != {"contains"}
        if settings.analyst == "exemplar":
            passed = len({run.task_id for run in runs if run.outcome == "pass"})
            if passed >= settings.examples or not self.expected:
                teaching = [run for run in runs if settings.teaches(run.outcome)]
                return Draft(patch=exemplar_patch(teaching, settings.examples, formal)), Usage()
            of_all = f"{passed} of {len({run.task_id for run in runs})} tasks"
            message = f"attempts passed at {of_all}: the examples are made of expected answers"
            self.progress(Event(stage="map", message=message))
        failed = [run for run in runs if run.outcome == "fail"]
        taught = [*with_answers(runs, self.expected), *failed]
        patch = exemplar_patch(taught, settings.examples, formal)
        return Draft(patch=patch.model_copy(update={"changelog_entries": (EXPECTED,)})), Usage()

    async def compare(self, evolved: Finished, model: Model | None) -> list[BaselineRow]:
        """Baselines on all tasks of the gate: one that stopped early chose its moment."""
        assert self.gated is not None, "baselines are run on the gate's tasks"
        settings = self.settings
        tasks = self.gated.tasks[: settings.limit]
        suite = self.gated.model_copy(update={"tasks": tasks})

        async def run(name: str, skill: Path | None, suite: LoadedSuite) -> list[ItemRecord]:
            return await self.attempts(suite, settings.out / "runs" / "baselines" / name, skill)

        skill = evolved.evolution.skill_dir if evolved.written else None
        items = await run("evolved", skill, suite)
        ground = Ground(done=evolved, model=model, seed=settings.seed)
        return await run_baselines(
            settings.baselines, ground, suite=suite, evaluate=run, evolved=items
        )

    async def transfer(self, evolved: Finished) -> list[TransferRow]:
        """The skill with its users, by the plan."""
        assert self.transfer_plan is not None, "a transfer was asked for"
        return await run_transfer(self.transfer_plan, evolved, self.attempts, self.announce)

    def announce(self, message: str) -> None:
        """Report a sentence on the transfer."""
        self.progress(Event(stage="transfer", message=message))

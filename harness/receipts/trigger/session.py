"""From settings to a report: queries become the tasks of an eval run in a folder of its own."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from harness.core import BadInput, Option, Score, Task, Usage, digest, failed, passed, remove_tree
from harness.core.rundir import RunReader, finished_report, mark_finished, request_of
from harness.evals import (
    EvalPlan,
    LoadedSuite,
    ProgressHook,
    Suite,
    agent_model_spec,
    finished_items,
    open_agent_model,
    run_eval,
)
from harness.models import CallStore, Model, Sampling
from harness.receipts.audit import SkillSettings, write_files
from harness.receipts.library import skills_in
from harness.receipts.trigger.probes import REACT, open_probe
from harness.receipts.trigger.queries import (
    Query,
    draft_controls,
    draft_queries,
    query_of,
    read_queries,
)
from harness.receipts.trigger.report import TriggerReport, attempts_of, confusion, judge
from harness.skills import Skill, load_skill

TURNS = 3
LONGEST_REPLY, LONGEST_SMALL = 4096, 256
"""Tokens of a reply; of the embedded engine's models, and in the text protocol."""


class TriggerSettings(SkillSettings):
    """Everything `harness skill trigger` takes, with the command line's defaults.

    Attributes:
        skill: the skill directory, or a folder of them, that is tested.
        library: skills beside it, or folders of them.
        queries: file of queries; None to draft them from the descriptions.
        epochs: attempts per query.
        loaded: regular expression for a client's output.
        protocol: of `graph:react`; `auto` is json where the server can hold replies to a schema.
    """

    suite: str = "trigger"
    library: Annotated[tuple[Path, ...], Option("Skills beside it, or folders of them.")] = ()
    queries: Annotated[Path | None, Option("JSONL or YAML. Default: drafted from DIR.")] = None
    agent: Annotated[
        str | None,
        Option(
            "graph:react (default), choose (one call, for small models) or cmd:COMMAND {prompt}."
        ),
    ] = None
    loaded: Annotated[
        str | None, Option("Group 1 names a loaded skill in cmd:'s output.", metavar="REGEX")
    ] = None
    protocol: Annotated[Literal["auto", "native", "text", "json"], Option(show_default=False)] = (
        "auto"
    )
    epochs: Annotated[int, Field(ge=1), Option()] = 1
    limit: Annotated[int | None, Field(ge=1), Option("Take the first queries only.")] = None


class Library(NamedTuple):
    """The skills at hand.

    Attributes:
        tested: names of the skills that are tested.
        skills: all of them, tested ones first.
    """

    tested: tuple[str, ...]
    skills: tuple[Skill, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all skills."""
        return tuple(skill.name for skill in self.skills)


def read_library(settings: TriggerSettings) -> Library:
    """The skills that the settings name.

    Raises:
        BadInput: if there is none to test, or two have the same name.
    """
    folders = skills_in(settings.skill)
    if not folders:
        raise BadInput(f"expected a skill, or a folder of skills, at {str(settings.skill)!r}")
    tested = {path.resolve() for path in folders}
    beside = {path.resolve(): path for folder in settings.library for path in skills_in(folder)}
    siblings = [path for resolved, path in beside.items() if resolved not in tested]
    skills = tuple(map(load_skill, [*folders, *siblings]))
    library = Library(tuple(skill.name for skill in skills[: len(folders)]), skills)
    for name, count in sorted(Counter(library.names).items()):
        if count > 1:
            raise BadInput(f"two skills are named {name!r}: a client would load either")
    return library


@dataclass(frozen=True)
class _Plan(EvalPlan):
    """A run of queries: another library or client is another run."""

    library: str = ""

    def lock(self, model: Model) -> dict[str, Any]:
        return {**super().lock(model), "kind": "trigger", "library": self.library}


class _Loading:
    """The queries as a task family: right is what loaded, and nothing else is looked at."""

    name = "trigger"

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """The query is the prompt."""
        return task.prompt

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Pass if the skills that were loaded are the expected ones."""
        skills: list[str] = json.loads(answer or "[]")
        query = query_of(task)
        if query.expect is not None:
            right = query.expect in skills
        else:
            right = query.wrong not in skills if query.wrong else not skills
        reason = f"loaded {', '.join(skills) or 'nothing'}"
        return passed(reason) if right else failed(reason)


def queries_for(settings: TriggerSettings, library: Library) -> tuple[Query, ...]:
    """The queries of a run: those of the file, or drafted ones; controls are added where a tested
    skill has none.

    Raises:
        BadInput: for a file that cannot be used, or without a query that should load a tested
            skill.
    """
    if settings.queries is None:
        queries = draft_queries(library.skills)
    else:
        queries = read_queries(settings.queries, library.tested, library.names)
    controlled = {query.expect for query in queries if query.control}
    missing = [name for name in library.tested if name not in controlled]
    useful = [query for query in queries if not query.control or query.expect in library.tested]
    expected = {query.expect for query in useful if not query.control}
    lacking = [name for name in library.tested if name not in expected]
    if lacking:
        where = settings.queries or "its description: write some, and give --queries FILE"
        raise BadInput(f"no query that should load {lacking[0]!r} in {where}")
    return (*draft_controls(missing), *useful)


def plan_of(settings: TriggerSettings) -> dict[str, Any]:
    """Return the plan of a run, for `--dry-run`; no model is called."""
    library = read_library(settings)
    queries = queries_for(settings, library)
    attempts = len(queries[: settings.limit]) * settings.epochs
    return {
        "tested": list(library.tested),
        "library": list(library.names),
        "queries": [query.model_dump(mode="json", exclude_none=True) for query in queries],
        "attempts": attempts,
        "calls_at_most": attempts * TURNS,
        "agent": settings.agent or REACT,
        "model": agent_model_spec(settings.models),
    }


def run_trigger(settings: TriggerSettings, *, show: ProgressHook | None = None) -> TriggerReport:
    """Ask the queries and report what loaded.

    Raises:
        BadInput: before any call, for what cannot be used.
        LimitReached: when a budget is spent; finished attempts are kept.
    """
    library = read_library(settings)
    queries = queries_for(settings, library)
    out = settings.run_folder("trigger")
    skills = [[skill.name, skill.digest] for skill in library.skills]
    request = request_of(settings, skills=skills, asked=[row.model_dump() for row in queries])
    if earlier := finished_report(out, request, resume=settings.resume is not None):
        return TriggerReport.model_validate({**earlier, "run": out.name})
    plan = _plan(settings, library, queries, (out / "library").absolute())

    async def run() -> None:
        with CallStore(out / "calls.sqlite") as calls:
            async with aclosing(open_agent_model(settings.evaluation(), calls)) as model:
                remove_tree(plan.suite.root)
                for skill in library.skills:
                    write_files(skill, plan.suite.root / skill.name)
                await run_eval(
                    plan,
                    out,
                    model=model,
                    family=lambda task: _Loading(),
                    concurrency=settings.concurrency,
                    on_progress=None if show is None else partial(show, out.name),
                )

    asyncio.run(run())
    reader = RunReader(out)
    lock, items = reader.lock, finished_items(reader)
    attempts = attempts_of(items, queries)
    lost = [item.reason for item in items if item.outcome == "invalid"]
    judged = tuple(judge(name, attempts) for name in library.tested)
    usage = sum((item.usage for item in items), Usage())
    report = TriggerReport(
        run=out.name,
        agent=lock["agent"],
        model=lock["model"],
        simulated=lock["simulated"],
        library=library.names,
        skills=judged,
        confusion=confusion(attempts),
        queries=dict(Counter(query.origin for query in queries)),
        attempts=len(items),
        invalid=len(lost),
        reasons=dict(Counter(reason[:200] for reason in lost).most_common(5)),
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        valid=all(skill.valid for skill in judged),
    )
    return mark_finished(out, request, report, invalid=report.invalid)


def _plan(
    settings: TriggerSettings, library: Library, queries: Sequence[Query], folder: Path
) -> _Plan:
    agent = open_probe(settings.agent or REACT, library.skills, folder, settings.loaded)
    protocol = settings.protocol
    if protocol == "auto" and agent_model_spec(settings.models).startswith("local/"):
        protocol = "json"
    small = protocol == "text" or (protocol == "json" and settings.protocol == "auto")
    suite = Suite(
        name="trigger",
        skill_mode="discovered",
        max_turns=TURNS,
        protocol=protocol,
        tools=(),
        sampling=Sampling(max_tokens=LONGEST_SMALL if small else LONGEST_REPLY),
    )
    tasks = tuple(query.task for query in queries)
    single = folder / library.tested[0] if len(library.tested) == 1 else None
    digests = [[skill.name, skill.digest] for skill in library.skills]
    return _Plan(
        suite=LoadedSuite(suite=suite, split=None, tasks=tasks, base=folder, root=folder),
        agent=agent,
        epochs=settings.epochs,
        seed=settings.seed,
        limit=settings.limit,
        library=digest([*digests, settings.loaded]),
        skill=single if agent.spec.startswith("cmd:") else None,
    )

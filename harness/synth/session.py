"""From settings to a suite of verified tasks: a plan with its cost, the factory, the report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue

from harness.checkpoints import open_saver
from harness.core import (
    BadInput,
    Option,
    Refused,
    Unreachable,
    Value,
    assets,
    digest_file,
    digest_tree,
)
from harness.core.plugins import load, plugins
from harness.core.rundir import RunWriter, finished_report, mark_finished, request_of
from harness.evals import DEFAULT_MODEL, ModelSettings, Split, budget_of, prompts_digest
from harness.models import CallStore, open_model, parse_roles
from harness.stats import even_spread
from harness.synth.factory import EvalSolver, Factory, open_validators
from harness.synth.paraphrase import Paraphrased
from harness.synth.registry import Registry, known_suites
from harness.synth.tables.failed import is_run, suite_of
from harness.synth.types import Materials, Proposer, Record

SAMPLES = 5
EXPECTED = 2
"""Proposals for an accepted task, as a plan assumes."""
SOLVER_CALLS, SOLVER_TOKENS, REPLY_TOKENS = 4, 1500, 150
"""Of an attempt: calls, and prompt tokens of each; completion tokens of any call. Assumed."""


class SynthCommand(ModelSettings):
    """Everything `harness synth` takes.

    Attributes:
        source: documents, a table, or a run whose failed tasks worked on tables.
        solver: model whose difficulty counts; None leaves that open.
        band: success rates that are kept, as LOW:HIGH.
        reward: name of the reward; default the kind's.
        paraphrase: whether questions are reworded.
        tries: proposals for each task that is wanted, at most.
        audit: tasks on a sheet for a person to label; no factory is run then.
        out: folder of the factory.
        resume: whether to go on with the factory that is there.
    """

    source: Annotated[
        Path | None, Option("Documents, a table, or a run.", names=("--from",), metavar="PATH")
    ] = None
    kind: Annotated[
        str, Option("What kind of tasks.", choices=lambda: tuple(plugins("proposers")))
    ] = "search"
    n: Annotated[int, Field(ge=1), Option("Tasks that are wanted.", names=("--n",))] = 20
    solver: Annotated[
        str | None,
        Option("Model whose success decides what is too easy.", names=("--for",), metavar="SPEC"),
    ] = None
    attempts: Annotated[int, Field(ge=1), Option("Attempts of that model at each task.")] = 5
    band: Annotated[str, Option("Success rates that are kept.", metavar="LOW:HIGH")] = "0.2:0.8"
    reward: Annotated[str | None, Option("Reward of a success rate. Default: the kind's.")] = None
    against: Annotated[
        tuple[str, ...], Option("Suite of which no task may come out.", metavar="SUITE")
    ] = ()
    hops: Annotated[int, Field(ge=1), Option("Searches that a search task needs.")] = 2
    votes: Annotated[int, Field(ge=0), Option("Replies for a comparison of answers.")] = 3
    tries: Annotated[int, Field(ge=1), Option("Proposals for each task, at most.")] = 5
    paraphrase: Annotated[
        bool, Option("Let a model reword what programs write; kept if it asks for the same.")
    ] = False
    audit: Annotated[
        int | None,
        Field(ge=1),
        Option("Write a sheet of tasks to label; labelled, estimate the share of faulty ones."),
    ] = None
    out: Path
    resume: bool = False
    concurrency: Annotated[int, Field(ge=1), Option()] = 8

    @property
    def origin(self) -> Path:
        """The source.

        Raises:
            BadInput: if there is none.
        """
        if self.source is None or not self.source.exists():
            raise BadInput(f"--from: expected documents or a table, found {str(self.source)!r}")
        if is_run(self.source) and self.kind != "table":
            raise BadInput(f"--from: of a run only the kind 'table' can be made, not {self.kind!r}")
        return self.source

    @property
    def known(self) -> Registry:
        """The tasks of the suites that nothing may leak from, that of the source included.

        Raises:
            BadInput: if one cannot be read.
        """
        return known_suites(
            (*self.against, *([suite_of(self.origin)] if is_run(self.origin) else []))
        )

    @property
    def edges(self) -> tuple[float, float]:
        """The band's ends.

        Raises:
            BadInput: if it has none in [0, 1].
        """
        low, _, high = self.band.partition(":")
        try:
            ends = float(low), float(high)
        except ValueError:
            ends = math.nan, math.nan
        if not 0 <= ends[0] <= ends[1] <= 1:
            raise BadInput(f"--band: expected LOW:HIGH such as 0.2:0.8, found {self.band!r}")
        return ends

    def spec(self, role: Any) -> str:
        """Spec of proposer or checker: `--model ROLE=SPEC`, `--model SPEC`, or that of `--for`.

        A kind whose programs write and prove the tasks needs none unless the user names one.
        """
        calls = getattr(load("proposers", self.kind), "calls", (1, 1, 1))
        unnamed = self.models in ((), ("none",))
        if unnamed and not (self.solver or self.paraphrase or any(calls)):
            return "none"
        return str(parse_roles(list(self.models) or [self.solver or DEFAULT_MODEL])[role])


class SynthReport(Value):
    """The end of a factory, as `harness synth --json` prints it.

    `rejected` counts what decided (validator or rule), `difficulty` accepted tasks by right
    attempts, such as "3/5"; `evenness` is the chi-square of these against equal counts at every
    level of the band, with its p; `samples` are the first accepted tasks.
    """

    run: str
    kind: str
    wanted: int
    proposed: int
    accepted: int
    rejected: dict[str, int]
    invalid: int
    reasons: dict[str, str]
    difficulty: dict[str, int]
    evenness: tuple[float, float] | None = None
    solver: str | None
    splits: dict[Split, int]
    samples: list[dict[str, JsonValue]]
    tokens: int
    cost_usd: float | None
    simulated: bool


def open_proposer(settings: SynthCommand, materials: Materials) -> Proposer:
    """The proposer of the kind.

    Raises:
        BadInput: if it can make nothing of the source.
    """
    proposer: Proposer = load("proposers", settings.kind)(materials)
    return Paraphrased(proposer, materials) if settings.paraphrase else proposer


def most_proposals(settings: SynthCommand, proposer: Proposer) -> int:
    """Return how many proposals are made at most: no more than a program can tell apart."""
    return int(min(settings.tries * settings.n, getattr(proposer, "most", math.inf)))


def plan(settings: SynthCommand) -> dict[str, Any]:
    """Return the plan of a factory and its assumed cost, without a call."""
    edges = settings.edges
    specs = {role: settings.spec(role) for role in ("proposer", "checker")}
    specs |= {"solver": settings.solver} if settings.solver else {}
    models = {role: open_model(spec, base_url=settings.base_url) for role, spec in specs.items()}
    proposer = open_proposer(
        settings, materials_of(settings, models["proposer"], models["checker"])
    )
    load("bands", settings.reward or proposer.band)
    settings.known  # noqa: B018  # a suite that cannot be read is said now
    proposals = EXPECTED * settings.n
    proposing, checking, tokens = proposer.calls
    calls = {"proposer": (proposing, tokens), "checker": (checking, tokens)}
    if settings.solver:
        calls["solver"] = (SOLVER_CALLS * settings.attempts, SOLVER_TOKENS)
    prices = {role: models[role].price for role, (count, _) in calls.items() if count}
    cost = sum(
        proposals * calls[role][0] * price.cost(calls[role][1], REPLY_TOKENS)
        for role, price in prices.items()
        if price is not None
    )
    return {
        "kind": settings.kind,
        "from": str(settings.source),
        "wanted": settings.n,
        "proposals": proposals,
        "proposals_at_most": most_proposals(settings, proposer),
        "calls": {role: proposals * count for role, (count, _) in calls.items()},
        "tokens": sum(proposals * n * (per_call + REPLY_TOKENS) for n, per_call in calls.values()),
        "cost_usd": None if None in prices.values() else cost,
        "models": specs,
        "band": list(edges),
        "note": f"assumes {EXPECTED} proposals for a task; budgets hold in any case",
    }


def materials_of(settings: SynthCommand, proposer: Any, checker: Any) -> Materials:
    """Gather the material that the plug-ins work with."""
    return Materials(
        source=settings.origin, out=settings.out, proposer=proposer, checker=checker,
        seed=settings.seed, hops=settings.hops, votes=settings.votes,
        options={"sandbox": settings.sandbox},
    )  # fmt: skip


async def synthesise(
    settings: SynthCommand, progress: Callable[[Record], None] | None = None
) -> SynthReport:
    """Run a factory in its folder, or resume it; the suite of what was accepted lies there.

    Raises:
        BadInput: for settings, documents or suites that cannot be used, before any call.
        LimitReached: when a budget is spent; what was decided is kept.
        Refused: if no proposal was accepted.
        Unreachable: if no proposal got a reply.
    """
    low, high = settings.edges
    source = settings.origin
    recorded = settings.model_dump(
        mode="json",
        include={"kind", "n", "solver", "attempts", "band", "reward", "against", "hops", "votes",
                 "tries", "seed", "paraphrase"},
    )  # fmt: skip
    lock = {
        "kind": "synth", "settings": recorded, "proposer": settings.spec("proposer"),
        "source": digest_tree(source) if source.is_dir() else digest_file(source),
        "checker": settings.spec("checker"), "prompts": prompts_digest(),
    }  # fmt: skip
    out, budget = settings.out, budget_of(settings)
    suites = settings.known
    request = request_of(settings, content=lock)
    if earlier := finished_report(out, request, resume=settings.resume):
        return SynthReport.model_validate({**earlier, "run": str(out)})
    async with AsyncExitStack() as stack:
        calls = stack.enter_context(CallStore(out / "calls.sqlite"))
        proposer_model, checker_model = [
            await stack.enter_async_context(
                aclosing(
                    open_model(
                        settings.spec(role), base_url=settings.base_url, calls=calls,
                        role=role if settings.spec(role) != "none" else "agent",
                        budget=budget, concurrency=settings.concurrency,
                    )
                )
            )
            for role in ("proposer", "checker")
        ]  # fmt: skip
        materials = materials_of(settings, proposer_model, checker_model)
        proposer = open_proposer(settings, materials)
        run = stack.enter_context(RunWriter(out, lock))
        factory = Factory(
            materials=materials,
            proposer=proposer,
            validators=open_validators(materials, proposer.validators),
            band=load("bands", settings.reward or proposer.band),
            want=settings.n,
            most=most_proposals(settings, proposer),
            run=run,
            low=low,
            high=high,
            attempts=settings.attempts,
            solve=None
            if settings.solver is None
            else EvalSolver(
                materials,
                proposer.suite,
                settings.solver,
                settings.base_url,
                settings.sandbox,
                settings.attempts,
                settings.concurrency,
                budget,
            ),
            suites=suites,
            progress=progress or (lambda record: None),
        )
        await run_factory(factory)
        splits = factory.write_suite()
        priced = proposer_model.price is not None and checker_model.price is not None
        rows = factory.finished(factory.most)
        report = report_of(settings, rows, splits).model_copy(
            update={
                "tokens": budget.spent.tokens,
                "cost_usd": budget.spent.usd if priced or not budget.spent.calls else None,
                "simulated": proposer_model.simulated or checker_model.simulated,
            }
        )
    if not report.accepted:
        if report.invalid == report.proposed:
            raise Unreachable(f"nothing could be judged: {next(iter(report.reasons.values()))}")
        raise Refused(f"no proposal was accepted: {report.rejected}; {report.reasons}")
    return mark_finished(out, request, report)


async def run_factory(factory: Factory) -> None:
    """Run the graph from where its checkpoints end."""
    module: Any = assets.load_module(assets.find("graphs/task_factory.py"))
    async with open_saver(factory.materials.out / "checkpoints.sqlite") as saver:
        graph = module.build().compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "factory"}, "recursion_limit": 100_000}
        state = await graph.aget_state(config)
        started = bool(state.values) or bool(state.next)
        if not started or state.next:
            await graph.ainvoke(None if started else {"number": 0}, config, context=factory)


def report_of(settings: SynthCommand, rows: list[Record], splits: dict[Split, int]) -> SynthReport:
    """Summarise the outcome of all proposals."""
    accepted = [row for row in rows if row.decision == "accepted"][: settings.n]
    labelled = [
        (f"{row.by} (invalid)" if row.decision == "invalid" else row.by, row)
        for row in rows
        if row.decision in ("rejected", "invalid")
    ]
    difficulty = Counter(f"{row.right}/{row.attempts}" for row in accepted if row.attempts)
    (low, high), attempts = settings.edges, settings.attempts
    spread = [
        sum((row.right, row.attempts) == (n, attempts) for row in accepted)
        for n in range(attempts + 1)
        if low <= n / attempts <= high
    ]
    return SynthReport(
        run=str(settings.out),
        kind=settings.kind,
        wanted=settings.n,
        proposed=len(rows),
        accepted=len(accepted),
        rejected=dict(
            Counter(name for name, row in labelled if row.decision == "rejected").most_common()
        ),
        invalid=sum(row.decision == "invalid" for row in rows),
        reasons={name: row.reason for name, row in reversed(labelled)},
        difficulty=dict(sorted(difficulty.items())),
        evenness=even_spread(spread) if settings.solver else None,
        solver=settings.solver,
        splits=splits,
        samples=[
            {
                "id": row.proposal.id,
                "question": row.proposal.question,
                "answers": list(row.proposal.answers),
                "from": list(row.proposal.origin[:3]),
            }
            for row in accepted[:SAMPLES]
        ],
        tokens=0,
        cost_usd=None,
        simulated=False,
    )

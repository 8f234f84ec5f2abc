"""Context of `graphs/task_factory.py`: plug-ins, the solver, the records, the suite.

Everything that a factory did lies in its folder: `items.seg` has every proposal with its reason,
`calls.sqlite` every reply of proposer and checker, `solves/` an eval run for each round.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from harness.core import LimitReached, Task, Unreachable, write_atomic
from harness.core.plugins import load
from harness.core.rundir import RunWriter
from harness.corpora import write_tasks
from harness.evals import EvalSettings, Evaluator, Split, adopt_spent, load_suite, records
from harness.models import Budget
from harness.synth.asking import is_right
from harness.synth.registry import Registry, split_by_origin
from harness.synth.types import Band, Materials, Proposal, Proposer, Record, Unjudged, Validator

Solver = Callable[[str, Sequence[Proposal]], Awaitable[dict[str, list[bool | None]]]]
"""(name of the round, proposals) -> proposal id -> for each attempt whether it was right; None does
not count."""
LARGEST = 64
SOLVER_TEMPERATURE = 1.0
TASKS_ON_DOCUMENTS = ("search", "longdoc")


@dataclass
class Factory:
    """The context of the graph.

    Attributes:
        proposer: of the kind.
        validators: by name, in order.
        band: what a success rate is worth.
        low: with `high`, the success rates that are kept.
        want: tasks to accept.
        most: proposals to make, at most.
        attempts: of the solver at each task; it counts only if half of them do.
        solve: None leaves the difficulty open.
        run: where records are kept.
        suites: tasks that must not leak.
        progress: called with every decided record.
    """

    materials: Materials
    proposer: Proposer
    validators: dict[str, Validator]
    band: Band
    want: int
    most: int
    run: RunWriter
    low: float = 0.0
    high: float = 1.0
    attempts: int = 5
    solve: Solver | None = None
    suites: Registry = field(default_factory=Registry)
    progress: Callable[[Record], None] = lambda record: None

    def finished(self, before: int) -> list[Record]:
        """Records of the proposals with numbers below `before`, in their order."""
        rows = {row["id"]: row for row in self.run.items() if row["number"] < before}
        ordered = sorted(rows.values(), key=lambda row: row["number"])
        return [Record.model_validate(row["record"]) for row in ordered]

    def earlier_tasks(self, before: int) -> Registry:
        """The accepted proposals below `before`, to find what is there already."""
        registry = Registry()
        for proposal in self.accepted(before):
            registry.add_proposal(proposal)
        return registry

    def accepted(self, before: int) -> list[Proposal]:
        """Proposals below `before` that were accepted."""
        return [row.proposal for row in self.finished(before) if row.decision == "accepted"]

    def round(self, number: int) -> list[int]:
        """Numbers of the next proposals: some more than are missing, as many as fit."""
        missing = self.want - len(self.accepted(number))
        width = min(max(8, 2 * missing), self.proposer.width, LARGEST, self.most - number)
        return list(range(number, number + width)) if missing > 0 else []

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Record:
        """A proposal; without a reply it is invalid."""
        try:
            proposal = await self.proposer.propose(number, accepted)
        except Unjudged as error:
            lost = Record(proposal=Proposal(id=f"lost-{number:05d}"))
            return lost.ended("invalid", "propose", "model", str(error))
        record = Record(proposal=proposal)
        if proposal.fault:
            return record.ended("rejected", "propose", "proposer", proposal.fault)
        return record

    async def validate(self, record: Record, stage: str, peers: Sequence[Proposal]) -> Record:
        """Pass a proposal through the validators of a stage, in order; the first fault decides."""
        for name, validator in self.validators.items():
            if record.decision != "open" or validator.stage != stage:
                continue
            try:
                fault = await validator.fault(record.proposal, peers)
            except Unjudged as error:
                return record.ended("invalid", validator.stage, name, str(error))
            if fault:
                reward = self.band.penalties.get(name, 0.0)
                record = record.ended("rejected", validator.stage, name, fault)
                record = record.model_copy(update={"reward": reward})
        return record

    def keep(self, numbers: Sequence[int], rows: Sequence[Record]) -> None:
        """Write records down."""
        for number, record in zip(numbers, rows, strict=True):
            id_ = record.proposal.id
            dumped = record.model_dump(mode="json")
            self.run.append_item({"id": id_, "number": number, "record": dumped})
            self.progress(record)
        self.run.sync()
        if rows and all(row.decision == "invalid" and row.stage == "propose" for row in rows):
            raise Unreachable(f"no proposal got a reply: {rows[0].reason}")

    def write_suite(self) -> dict[Split, int]:
        """Write the accepted tasks as a suite, split by document; the tasks of each split."""
        proposals = self.accepted(self.most)[: self.want]
        splits = split_by_origin(proposals)
        counts: dict[Split, int] = {}
        out = self.materials.out
        for split in ("train", "selection", "test"):
            members = [row for row in proposals if splits[row.id] == split]
            if members:
                write_tasks([task_of(row, self.materials) for row in members], out, split)
                counts[split] = len(members)
        tasks: dict[str, JsonValue] = {split: f"{split}.jsonl" for split in counts}
        write_suite(out / "suite.yaml", out.name, tasks, self.proposer.suite)
        return counts


def open_validators(materials: Materials, names: Sequence[str]) -> dict[str, Validator]:
    """Plug-ins of `harness.validators`.

    Raises:
        BadInput: if there is none of a name.
    """
    return {name: load("validators", name)(materials) for name in names}


def task_of(proposal: Proposal, materials: Materials) -> Task:
    """The task of a proposal; its documents are written below the factory's folder."""
    files, meta = proposal.files, dict(proposal.meta)
    answer: JsonValue = list(proposal.answers)
    if proposal.check in TASKS_ON_DOCUMENTS:
        files = materials.library.files(materials.out, proposal.check, proposal.documents)
        if proposal.check == "search":
            meta["evidence"] = [passage.model_dump() for passage in proposal.passages]
    else:
        answer = proposal.answers[0]
    return Task(
        id=proposal.id, prompt=proposal.question, files=files, answer=answer,
        check=proposal.check, meta=meta,
    )  # fmt: skip


def write_suite(path: Path, name: str, tasks: JsonValue, settings: dict[str, JsonValue]) -> None:
    """Write a suite file; JSON is YAML, too."""
    write_atomic(path, json.dumps({"name": name, "tasks": tasks, **settings}, indent=2) + "\n")


@dataclass
class EvalSolver:
    """Lets the agent whose tasks these will be try them: an eval run for each round.

    What the rule calls wrong is put to the checker's votes, where tasks are on documents.
    """

    materials: Materials
    suite: dict[str, JsonValue]
    spec: str
    base_url: str | None
    sandbox: str
    attempts: int
    concurrency: int
    budget: Budget

    def __post_init__(self) -> None:
        for run in sorted((self.materials.out / "solves").glob("*/run.json")):
            adopt_spent(run.parent, self.budget)

    async def __call__(
        self, name: str, proposals: Sequence[Proposal]
    ) -> dict[str, list[bool | None]]:
        out = self.materials.out
        write_tasks([task_of(row, self.materials) for row in proposals], out, name)
        sampling: dict[str, JsonValue] = {"temperature": SOLVER_TEMPERATURE, "max_tokens": 500}
        path = out / f"{name}.yaml"
        write_suite(path, name, f"{name}.jsonl", {"sampling": sampling, **self.suite})
        settings = EvalSettings(
            suite=str(path), models=(self.spec,), base_url=self.base_url, epochs=self.attempts,
            concurrency=self.concurrency, sandbox=self.sandbox, seed=self.materials.seed,
        )  # fmt: skip
        run = out / "solves" / name
        report = await Evaluator(settings, load_suite(str(path)), self.budget).run(run, None)
        if report.items < len(proposals) * self.attempts:
            raise LimitReached(f"{report.items} of {len(proposals) * self.attempts} were tried")
        by_id = {proposal.id: proposal for proposal in proposals}
        verdicts: dict[str, list[bool | None]] = {id_: [] for id_ in by_id}
        items = [item for item in records(run) if item.task_id in by_id]
        judged = await asyncio.gather(
            *(self._right(by_id[item.task_id], item.outcome, item.answer) for item in items)
        )
        for item, right in zip(items, judged, strict=True):
            verdicts[item.task_id].append(right)
        return verdicts

    async def _right(self, proposal: Proposal, outcome: str, answer: str | None) -> bool | None:
        """Judge an attempt by the rule, or by most votes; None if it is invalid."""
        if outcome != "fail" or proposal.check not in TASKS_ON_DOCUMENTS or not answer:
            return {"pass": True, "fail": False}.get(outcome)
        if proposal.meta.get("metric") == "choice" or not self.materials.votes:
            return False
        try:
            return await is_right(self.materials, proposal, answer)
        except Unjudged:
            return None

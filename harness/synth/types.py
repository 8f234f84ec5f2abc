"""Values of the factory: proposals, records of their outcome, and its plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from harness.core import Value
from harness.corpora import Evidence
from harness.models import Model
from harness.synth.documents import Library

Stage = Literal["propose", "filter", "validate", "solve", "band", "curate"]
Decision = Literal["open", "accepted", "rejected", "invalid"]


class Proposal(Value):
    """A task before anybody has verified it.

    Attributes:
        id: `<kind>-<number>`.
        question: as it is put to the agent.
        answers: accepted answers; for tasks that leave a file, the path of the golden one.
        check: how an answer is judged, as in a task.
        documents: ids of the documents that the agent gets; none means the whole library.
        passages: what the proposer read of them, or what the answer rests on.
        searches: what the proposer looked for, in order.
        origin: documents (or tables) that it was made of; tasks that share one share a split.
        files: name in the work folder -> path below the factory's folder.
        reply: the proposer's last reply, as it came.
        meta: facts of the kind.
        fault: why there is no task; a proposer says so instead of making one up.
    """

    id: str
    question: str = ""
    answers: tuple[str, ...] = ()
    check: str = "search"
    documents: tuple[str, ...] = ()
    passages: tuple[Evidence, ...] = ()
    searches: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    files: dict[str, str] = {}
    reply: str = ""
    meta: dict[str, JsonValue] = {}
    fault: str = ""


class Record(Value):
    """Outcome of a proposal.

    Attributes:
        stage: that decided.
        by: name of the validator, or of the rule, that decided.
        reason: in one sentence.
        right: attempts of the solver that were right, of `attempts` that counted.
        reward: the band's, for this success rate or this rejection.
    """

    proposal: Proposal
    decision: Decision = "open"
    stage: Stage = "propose"
    by: str = ""
    reason: str = ""
    right: int = 0
    attempts: int = 0
    reward: float | None = None

    @property
    def mean(self) -> float | None:
        """Share of right attempts; None without one that counted."""
        return self.right / self.attempts if self.attempts else None

    def ended(self, decision: Decision, stage: Stage, by: str, reason: str) -> Record:
        """Return this record with a decision."""
        update = {"decision": decision, "stage": stage, "by": by, "reason": reason}
        return self.model_copy(update=update)


class Unjudged(Exception):
    """A model gave no verdict: the proposal is invalid, neither good nor bad, and never accepted
    (the official SSP code lets it pass)."""


@dataclass
class Materials:
    """Material that plug-ins work with.

    Attributes:
        source: documents, tables or runs that tasks are made from.
        out: folder of the factory.
        proposer: model that writes tasks.
        checker: model that answers with the evidence, and compares answers.
        seed: of all that is drawn.
        hops: searches that a search task needs.
        votes: replies for a comparison of answers.
    """

    source: Path
    out: Path
    proposer: Model
    checker: Model
    seed: int = 41
    hops: int = 2
    votes: int = 3
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def library(self) -> Library:
        """The documents, read at first use."""
        return Library.read(self.source, self.out / "library")


class Proposer(Protocol):
    """Writes proposals. Plug-in group `harness.proposers`: kind -> `(Materials) -> Proposer`.

    Attributes:
        width: proposals that may be written at the same time.
        validators: names of those that its proposals pass, in order.
        band: name of the reward.
        suite: settings of the suite that its tasks need (agent, tools).
        calls: model calls of a proposal, about: the proposer's, the checker's, and tokens of each.
    """

    width: int
    validators: tuple[str, ...]
    band: str
    suite: dict[str, JsonValue]
    calls: tuple[int, int, int]

    async def propose(self, number: int, accepted: Sequence[Proposal]) -> Proposal:
        """Proposal `number`, a function of it, the seed and what was accepted before."""
        ...


class Validator(Protocol):
    """Finds what is wrong. Plug-in group `harness.validators`: name -> `(Materials) -> Validator`.

    Attributes:
        stage: `filter` (rules, no call) or `validate`.
    """

    stage: Literal["filter", "validate"]

    async def fault(self, proposal: Proposal, peers: Sequence[Proposal]) -> str:
        """Give the reason why the proposal is rejected; "" if it is not.

        Raises:
            Unjudged: if that cannot be said.
        """
        ...


class Check:
    """Base of validators: keeps the materials, and asks a model unless `stage` says otherwise."""

    stage: Literal["filter", "validate"] = "validate"

    def __init__(self, materials: Materials) -> None:
        self._materials = materials


@dataclass(frozen=True)
class Band:
    """Value of a success rate. Plug-in group `harness.bands`: name -> Band.

    Attributes:
        curve: of the mean success, in [0, 1].
        penalties: name of a validator -> reward of what it rejects; 0 for all peers.
    """

    curve: Callable[[float], float]
    penalties: Mapping[str, float] = field(default_factory=dict[str, float])

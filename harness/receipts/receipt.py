"""A receipt: what each unit of a skill does, computed from the records and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.core import Value, render_page
from harness.receipts.plan import AuditPlan
from harness.receipts.records import Origin
from harness.receipts.units import UnitKind

SCHEMA = "agent-skill-harness/receipt/1"
TEMPLATE = Path(__file__).parent / "templates" / "receipt.html.j2"
Verdict = Literal["helps", "hurts", "nothing detectable"]


class Interval(Value):
    """An estimate with its interval; for passes in percentage points."""

    estimate: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    @property
    def verdict(self) -> Verdict:
        """What it says: an interval that holds zero shows nothing."""
        if self.low > 0:
            return "helps"
        return "hurts" if self.high < 0 else "nothing detectable"


class Traces(Value):
    """How often trajectories show a unit, with it in the skill and without.

    Attributes:
        read_with: rollouts with the unit in which a tool call named its file.
        echoed_with: rollouts with the unit in which the agent's text repeats words of it; a
            heuristic. `echoed_without` counts the same where it was not in the skill.
        rollouts_with: valid rollouts with the unit.
    """

    read_with: int
    echoed_with: int
    echoed_without: int
    rollouts_with: int
    rollouts_without: int


class UnitReceipt(Value):
    """What is known of one unit.

    Attributes:
        effect: points by which the share of passed tasks rises with the unit, on average over
            random subsets of the others; the interval holds for all units together.
        at_full: the same where all other units are present, from main effects and flagged
            interactions; each interval for itself. None without flagged interactions.
        tokens: of the unit's text, by the tokenizer that the receipt names.
        tokens_per_run: measured: tokens that a rollout uses more with it; for all together.
        invalid: points by which the share of invalid rollouts rises with it; for all together.
    """

    id: str
    kind: UnitKind
    lines: tuple[int, int]
    heading: str
    text: str
    verdict: Verdict
    effect: Interval
    at_full: Interval | None
    tokens: int
    tokens_per_run: Interval
    invalid: Interval | None
    traces: Traces
    origins: tuple[Origin, ...] = ()


class Interaction(Value):
    """Two units whose effects depend on one another.

    Attributes:
        effect: points by which either's effect is larger if the other is present.
        p: corrected for all pairs (Holm).
    """

    units: tuple[str, str]
    effect: float
    p: float


class Digests(Value):
    """What a receipt rests on, SHA-256 each."""

    skill: str
    suite: str
    tasks: str
    records: str
    prompts: str
    calls: str


class Receipt(Value):
    """The file `<skill>.receipt.json`; documented in `docs/reference/receipt.md`."""

    schema_: Literal["agent-skill-harness/receipt/1"] = Field(default=SCHEMA, alias="schema")
    skill: str
    suite: str
    model: str
    simulated: bool
    agent: str
    skill_mode: str
    version: str
    seed: int
    tokenizer: str
    digests: Digests
    plan: AuditPlan
    planned: str
    rollouts: int
    valid: int
    tasks: int
    stopped: str
    passed: float
    units: tuple[UnitReceipt, ...]
    interactions: tuple[Interaction, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The file as it is written."""
        value = self.model_dump(mode="json", by_alias=True)
        return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def receipt_schema() -> str:
    """The JSON schema of a receipt, as `docs/reference/receipt.schema.json` has it."""
    schema = Receipt.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps({"$id": SCHEMA, **schema}, indent=1, sort_keys=True) + "\n"


def card(receipt: Receipt) -> str:
    """The receipt as one HTML file that needs nothing else: the same receipt, the same bytes."""
    ends = [abs(end) for unit in receipt.units for end in (unit.effect.low, unit.effect.high)]
    return render_page(TEMPLATE, receipt=receipt, most=max([5.0, *ends]))

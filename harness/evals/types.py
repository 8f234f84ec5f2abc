"""Records of an eval run."""

from __future__ import annotations

from pydantic import JsonValue

from harness.core import Outcome, Usage, Value
from harness.stats import Repeated


class ItemRecord(Value):
    """One finished attempt at one task.

    Attributes:
        id: trajectory id, `<task id>` or `<task id>@<epoch>`.
        task_id: the task.
        epoch: 0 for the first attempt.
        outcome: pass, fail or invalid.
        value: soft score in [0, 1].
        reason: why, in one sentence.
        answer: final answer text.
        usage: tokens, money and time.
        stratum: group of the task, for stratified splits and clustered intervals.
        detail: the scorer's detail.
    """

    id: str
    task_id: str
    epoch: int = 0
    outcome: Outcome
    value: float
    reason: str = ""
    answer: str | None = None
    usage: Usage = Usage()
    stratum: str = ""
    detail: dict[str, JsonValue] = {}


class EvalReport(Value):
    """The end of an eval run, as `harness eval --json` prints it (DESIGN section 4).

    `score` is the pass rate over valid items; `ci95` its 95 % interval, `se` its standard error,
    attempts at one task being one cluster; all None if no item was valid. `repeated` has pass@k,
    pass^k and "at least k" where every task was attempted more than once. `skill_mode` tells a
    skill whose text stood in the prompt (preloaded) from one that the agent had to open
    (discovered); None without a skill.
    """

    run: str
    items: int
    passed: int
    failed: int
    invalid: int
    score: float | None
    ci95: tuple[float, float] | None
    se: float | None = None
    repeated: dict[str, Repeated] = {}
    tokens: int
    cost_usd: float | None
    seconds: float
    model: str
    simulated: bool = False
    suite: str = ""
    skill: str | None = None
    skill_mode: str | None = None

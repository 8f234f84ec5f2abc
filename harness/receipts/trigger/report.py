"""From attempts to precision, recall and confusion; what is invalid counts in none of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pydantic import Field

from harness.core import Value
from harness.evals import ItemRecord, groups_of
from harness.receipts.trigger.queries import Query
from harness.stats import cluster_names, clustered, rate_interval

NONE, INVALID = "(none)", "(invalid)"


class Share(Value):
    """A share of attempts.

    Attributes:
        hits: of `n`.
        n: valid attempts.
        invalid: attempts that say nothing; in neither `hits` nor `n`.
        value: hits / n; None without a valid attempt, and where the run is invalid.
        groups: groups of the queries, which are then the clusters; None where they have none.
        ci95: 95 % score interval, attempts at one query being one cluster; None where `value` is.
    """

    hits: int
    n: int
    invalid: int
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    value: float | None
    ci95: tuple[float, float] | None


class SkillTrigger(Value):
    """Measure of how well a description loads its skill, and only it.

    Attributes:
        control: of the queries that name the skill, the share that loaded it.
        recall: of the queries that should load it, the share that did.
        precision: of the queries that loaded it, the share that should have. It depends on the mix
            of queries; `on_none` and `on_siblings` do not.
        on_none: of the queries that no skill of the library is for, the share that loaded it.
        on_siblings: of the queries for other skills, the share that loaded it.
        valid: whether the control fired; otherwise no figure has a value.
        why: why not, or "".
    """

    skill: str
    control: Share
    recall: Share
    precision: Share
    on_none: Share
    on_siblings: Share
    valid: bool
    why: str = ""


class TriggerReport(Value):
    """The end of `harness skill trigger`, as `--json` prints it.

    Attributes:
        skills: the tested skills.
        confusion: expected skill -> what was loaded first -> attempts; `(none)` and `(invalid)`
            are columns, `(none)` also a row. Controls are not in it.
        queries: number of queries by where they are from: file, drafted, model.
        mode: `discovered`: the agent saw names and descriptions only.
        valid: whether every tested skill's control fired.
    """

    run: str
    agent: str
    model: str
    simulated: bool
    library: tuple[str, ...]
    skills: tuple[SkillTrigger, ...]
    confusion: dict[str, dict[str, int]]
    queries: dict[str, int]
    attempts: int
    invalid: int
    reasons: dict[str, int]
    tokens: int
    cost_usd: float | None
    mode: str = "discovered"
    valid: bool


class Attempt(Value):
    """One attempt at one query: what was loaded, in order; None where that is not known."""

    query: Query
    item: ItemRecord
    loaded: tuple[str, ...] | None


def attempts_of(items: Iterable[ItemRecord], queries: Sequence[Query]) -> tuple[Attempt, ...]:
    """Attempts with their queries, from the item records of a run."""
    by_task = {query.task.id: query for query in queries}
    return tuple(
        Attempt(
            query=by_task[item.task_id],
            item=item,
            loaded=None if item.outcome == "invalid" else tuple(json.loads(item.answer or "[]")),
        )
        for item in items
        if item.task_id in by_task
    )


def judge(skill: str, attempts: Sequence[Attempt]) -> SkillTrigger:
    """The figures of one skill."""

    def opened(attempt: Attempt) -> bool:
        return skill in (attempt.loaded or ())

    control = [a for a in attempts if a.query.control and a.query.expect == skill]
    real = [a for a in attempts if not a.query.control]
    should = [a for a in real if a.query.expect == skill]
    none = [a for a in real if a.query.expect is None and a.query.wrong in (None, skill)]
    siblings = [a for a in real if a.query.expect not in (None, skill)]
    fired = [a for a in (*should, *none, *siblings) if opened(a)]
    checked, recall = _share(control, opened), _share(should, opened)
    lost = next((a.item.reason for a in (*control, *should) if a.loaded is None), "")[:200]
    why = ""  # the figures say nothing: the client does not load the skill even by its name
    if not checked.n:
        why = (
            f"no query that names {skill!r} gave a valid attempt ({checked.invalid} invalid, the "
            f"first: {lost})"
        )
    elif 2 * checked.hits <= checked.n:
        why = (
            f"the positive control failed: {checked.hits} of {checked.n} queries that name "
            f"{skill!r} loaded it, so this agent shows nothing about descriptions"
        )
    elif recall.invalid and not recall.n:
        why = f"all {recall.invalid} attempts that should load {skill!r} are invalid: {lost}"

    def shown(share: Share) -> Share:
        return share.model_copy(update={"value": None, "ci95": None}) if why else share

    return SkillTrigger(
        skill=skill,
        control=checked,
        recall=shown(recall),
        precision=shown(_share(fired, lambda attempt: attempt.query.expect == skill)),
        on_none=shown(_share(none, opened)),
        on_siblings=shown(_share(siblings, opened)),
        valid=not why,
        why=why,
    )


def _share(group: Sequence[Attempt], hit: Callable[[Attempt], bool]) -> Share:
    valid = [attempt for attempt in group if attempt.loaded is not None]
    hits = sum(map(hit, valid))
    tasks = [attempt.item.task_id for attempt in valid]
    names = cluster_names(tasks, groups_of(attempt.item for attempt in valid))
    return Share(
        hits=hits,
        n=len(valid),
        invalid=len(group) - len(valid),
        value=hits / len(valid) if valid else None,
        groups=len(set(names)) or None,
        ci95=rate_interval(clustered([*map(float, map(hit, valid))], names or tasks)),
    )


def confusion(attempts: Sequence[Attempt]) -> dict[str, dict[str, int]]:
    """Expected skill -> first loaded skill -> attempts, controls left out."""
    table: dict[str, Counter[str]] = {}
    for attempt in attempts:
        if attempt.query.control or attempt.query.wrong:
            continue
        first = INVALID if attempt.loaded is None else next(iter(attempt.loaded), NONE)
        table.setdefault(attempt.query.expect or NONE, Counter())[first] += 1
    return {row: dict(sorted(cells.items())) for row, cells in sorted(table.items())}

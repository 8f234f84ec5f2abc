"""Scripted analysts: they know the expected label and the cause, and err at a given rate."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from harness.evolve import AnalystRecord, MemoryItem
from lab.triage.runs import Run
from lab.triage.trade import IDLE, Policy, Trade

# Chance that an analyst quotes the ticket, the agent's decision, its answer, the system prompt.
QUOTES = {"ticket": 0.5, "decision": 0.6, "answer": 0.3, "system": 0.3}
# Chance that the analyst of a failure also blames a habit or a spurious correlate that it sees, or
# adds empty advice, however seldom it errs.
TEMPTED, CHATTER = 0.12, 0.1
# Errors of an analyst of a failure: the lesson of another policy, the opposite, one about nothing
# that is so, empty advice.
ERRORS = ("mixed", "opposite", "invented", "idle")
AFTERWARDS = ("", "", "", " Otherwise the label is wrong.", " This run got it wrong.")


def analyse(trade: Trade, run: Run, error: float, seed: int) -> AnalystRecord:
    """Write an analyst's record of a run.

    Args:
        trade: of the run.
        run: that is read.
        error: chance that the lesson of a failure is a wrong one.
        seed: of the variant.
    """
    chance = Random(f"analyst {trade.name} {seed} {run.task} {error}")
    system = [line for line in map(str.strip, trade.system.splitlines()) if line]
    sources = {
        "ticket": run.ticket[0], "decision": run.decision, "answer": run.answer,
        "system": chance.choice(system),
    }  # fmt: skip
    quotes = [text for name, text in sources.items() if chance.random() < QUOTES[name]]
    quotes = quotes or [sources["decision"]]
    if run.passed:
        items = _praise(trade, run, chance, quotes, system)
    else:
        items = [_item(_blame(trade, run.policy, error, chance), quotes, chance)]
        seen = [(line, texts) for line, *texts in trade.habits if line in run.acts]
        seen += [(line, texts) for _, line, *texts in trade.correlates if line in run.ticket]
        if seen and chance.random() < TEMPTED:
            line, texts = chance.choice(seen)
            items.append(_item(chance.choice(texts), [line], chance))
        if chance.random() < CHATTER:
            text = chance.choice([*IDLE, *trade.restated])
            items.append(_item(text, [chance.choice(system)], chance))
    return AnalystRecord(
        kind="success" if run.passed else "error",
        trajectory_id=f"run-{run.task}",
        task_id=run.task,
        summary=f"The run shows: {quotes[0]}",
        items=tuple(items),
    )


def _blame(trade: Trade, policy: Policy | None, error: float, chance: Random) -> str:
    """The lesson of a failure; a failure for no reason teaches nothing that is so."""
    mistake = chance.choice(ERRORS) if chance.random() < error else ""
    if policy is None:
        mistake = "invented" if chance.random() < 0.5 else "idle"
    if mistake == "mixed":
        policy = chance.choice(
            [candidate for candidate in trade.policies if candidate is not policy]
        )
    if mistake in ("invented", "idle") or policy is None:
        return chance.choice(trade.invented if mistake == "invented" else IDLE)
    return chance.choice(policy.opposite if mistake == "opposite" else policy.lessons)


def _praise(
    trade: Trade, run: Run, chance: Random, quotes: Sequence[str], system: Sequence[str]
) -> list[MemoryItem]:
    """The lessons of a passed run: what was decided, what all runs do, what all are told."""
    items: list[MemoryItem] = []
    if run.near is not None and chance.random() < 0.5:
        items.append(_item(chance.choice(run.near.praise), quotes, chance))
    habits = [row for row in trade.habits if row[0] in run.acts]
    if habits and chance.random() < 0.4:
        line, *texts = chance.choice(habits)
        items.append(_item(chance.choice(texts), [line], chance))
    if not items or chance.random() < 0.2:
        text = chance.choice(trade.restated)
        items.append(_item(text, [chance.choice([*system, run.answer])], chance))
    return items


def _item(lesson: str, quotes: Sequence[str], chance: Random) -> MemoryItem:
    title = " ".join(lesson.split()[:4]).rstrip(".,;:")
    text = lesson + chance.choice(AFTERWARDS)
    return MemoryItem(title=title, lesson=text, evidence=tuple(quotes))

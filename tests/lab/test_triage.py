"""Trades without their policies: what runs show, what analysts write, and what rules are worth."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.evolution.triage import Variant, evolved, shares
from harness.core import render
from harness.evolve.settings import MergeKind
from lab.triage import ScriptedMerger, Trade, analyse, judge, load_trades, runs, trajectory

SAMPLE, KEPT, FALSE = 3, 0.75, 0.2
"""Held-out trades that the suite runs, and the shares that it demands of so few of them."""
DEVELOPMENT, HELD_OUT = load_trades("development"), load_trades("held_out")


@pytest.mark.parametrize("trade", [*DEVELOPMENT, *HELD_OUT], ids=lambda trade: trade.name)
def test_a_trade_hides_its_policies_and_its_runs_fail_for_want_of_them(trade: Trade) -> None:
    labels = {policy.right for policy in trade.policies} | {row[0] for row in trade.plain}
    assert all(label in trade.system for label in labels)
    assert not any(text in trade.system for policy in trade.policies for text in policy.lessons)
    made = runs(trade, 0)
    assert made == runs(trade, 0) != runs(trade, 1)
    failed = [run for run in made if not run.passed]
    assert {run.policy.name for run in failed if run.policy} == {p.name for p in trade.policies}
    assert len(made) - len(failed) >= 10
    run = failed[0]
    steps = trajectory(trade, run).steps
    assert steps[0].message == trade.system and run.answer in str(steps[-1].message)


def test_development_and_held_out_trades_share_no_policy_and_no_lesson() -> None:
    def texts(trades: tuple[Trade, ...]) -> set[str]:
        rows = [row for trade in trades for row in trade.statements() if row.kind != "idle"]
        return {row.text for row in rows}

    assert len({trade.name for trade in (*DEVELOPMENT, *HELD_OUT)}) == 19
    assert not texts(DEVELOPMENT) & texts(HELD_OUT)


def test_analysts_err_as_often_as_they_should() -> None:
    def right(error: float) -> float:
        hits = [
            analyse(trade, run, error, seed).items[0].lesson.startswith(run.policy.lessons)
            for trade in DEVELOPMENT
            for seed in range(6)
            for run in runs(trade, seed)
            if run.policy is not None and not run.passed
        ]
        return sum(hits) / len(hits)

    assert right(0.0) == 1
    assert right(0.25) == pytest.approx(0.75, abs=0.04)


def test_every_wording_is_judged_as_what_it_says() -> None:
    for trade in (*DEVELOPMENT, *HELD_OUT):
        for statement in trade.statements():
            (said,) = judge(trade, [statement.text]).said
            assert said.kind == statement.kind, (trade.name, statement, said)


def test_a_policy_that_another_rule_turns_round_is_not_kept() -> None:
    trade = DEVELOPMENT[0]
    policy = trade.policies[0]
    verdict = judge(trade, [policy.lessons[0], policy.opposite[0], "Sing a song of sixpence."])
    assert (verdict.kept, verdict.rules, verdict.false, verdict.empty) == (0, 3, 2, 0)


def test_the_scripted_merger_joins_what_means_the_same() -> None:
    trade = DEVELOPMENT[0]
    texts = [*trade.policies[0].lessons, trade.policies[1].lessons[0]]
    edits = [
        {"id": f"e{n}", "support": 1, "edit": f'{{"file": "SKILL.md", "op": "append_to_section", '
         f'"content": "- {text}"}}'}
        for n, text in enumerate(texts, start=1)
    ]  # fmt: skip
    prompt = render("patch_merge", edits=edits)
    reply = asyncio.run(ScriptedMerger(trade).complete([{"role": "user", "content": prompt}]))
    assert '"from": ["e1", "e2", "e3", "e4"]' in reply.text and '"from": ["e5"]' in reply.text


def test_shares_are_of_variants_and_their_interval_is_by_trade() -> None:
    row = {"planted": 4, "rules": 4, "false": 1, "empty": 0}
    rows = [{**row, "trade": trade, "kept": kept} for trade, kept in [("a", 4), ("a", 2), ("b", 3)]]
    line = shares(rows)
    assert (line["kept"], line["false_or_empty"]) == (0.75, 0.25)
    assert line["kept_half_width"] == 0.0  # both trades have the same mean
    assert Variant(DEVELOPMENT[0], 3, 0.1, "model").key == "parcels 3 0.1 model"


@pytest.mark.parametrize("merge", ["deterministic", "model"])
def test_an_evolution_keeps_the_policies_that_nobody_told_the_agent(
    merge: MergeKind, tmp_path: Path
) -> None:
    """A sample of `python -m benchmarks.evolution.triage --trades held_out`."""
    verdicts = [
        evolved(Variant(trade, 0, 0.1, merge), tmp_path / trade.name)
        for trade in HELD_OUT[:SAMPLE]
        if not (tmp_path / trade.name).mkdir()
    ]
    assert sum(v.kept for v in verdicts) >= KEPT * sum(v.planted for v in verdicts)
    assert sum(v.false + v.empty for v in verdicts) <= FALSE * sum(v.rules for v in verdicts)

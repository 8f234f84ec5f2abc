"""Ladders, audits and triggers by group: the tasks of a group pass and fail together."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from harness.evals import ItemRecord, load_suite
from harness.receipts.cli.skill_audit import group_lines
from harness.receipts.cli.skill_ladder import ladder_lines
from harness.receipts.ladder import verify_ladder
from harness.receipts.ladder.plan import LadderSettings, plan_of
from harness.receipts.ladder.records import LadderRecords, read_ladder
from harness.receipts.ladder.report import ladder_of, ladder_page
from harness.receipts.plan import AuditPlan, design, plan_audit
from harness.receipts.receipt import card, receipt_of
from harness.receipts.records import Header, Records, Row, read_records
from harness.receipts.trigger.queries import Query, draft_queries
from harness.receipts.trigger.report import attempts_of, judge
from harness.receipts.units import cut
from harness.receipts.verify import verify
from harness.skills import (
    CARD,
    LADDER,
    LADDER_PAGE,
    LADDER_RECORDS,
    RECEIPT,
    RECORDS,
    beside,
    load_skill,
    new_skill,
)
from harness.stats import EffectData, false_difference_rate, fit_effects, joint_critical


@pytest.fixture
def tables(repository: Path) -> LadderRecords:
    """The shipped ladder of a skill for tables: 136 tasks of eight kinds, 68 of four others."""
    return read_ladder(beside(repository / "skills" / "table-cleaning", LADDER_RECORDS))


def by_task(records: LadderRecords) -> LadderRecords:
    return records.model_copy(update={"header": records.header.model_copy(update={"groups": {}})})


def test_a_ladder_is_by_the_groups_of_its_suite(tables: LadderRecords) -> None:
    ladder, alone = ladder_of(tables), ladder_of(by_task(tables))
    assert (ladder.groups, ladder.unseen_groups) == (8, 4)
    assert alone.groups is None and '"groups"' not in alone.text
    for rung, narrow in zip(ladder.rungs, alone.rungs, strict=True):
        assert rung.rate and narrow.rate and rung.rate.estimate == narrow.rate.estimate
        assert rung.rate.half > narrow.rate.half
        if rung.difference and narrow.difference:
            assert rung.difference.estimate == narrow.difference.estimate
            assert rung.difference.half > narrow.difference.half
    assert any("136 tasks in 8 groups" in line for line in ladder_lines(ladder))
    assert "in 8 groups" in ladder_page(ladder) and "in 8 groups" not in ladder_page(alone)


def test_the_groups_of_a_ladder_are_held_against_the_suite(
    tables: LadderRecords, repository: Path, tmp_path: Path
) -> None:
    skill = tmp_path / "table-cleaning"
    shutil.copytree(repository / "skills" / skill.name, skill)
    first = next(iter(tables.header.groups))
    moved = {**tables.header.groups, first: "of its own"}
    spoiled = tables.header.model_copy(update={"groups": moved})
    for records in (by_task(tables), tables.model_copy(update={"header": spoiled})):
        ladder = ladder_of(records)
        texts = {LADDER: ladder.text, LADDER_RECORDS: records.text}
        for name, text in {**texts, LADDER_PAGE: ladder_page(ladder)}.items():
            beside(skill, name).write_text(text)
        verified = verify_ladder(skill)
        assert [*verified.differs] == [
            "groups: the suite names others than the records have: intervals differ"
        ]


def test_an_audit_is_by_the_groups_of_its_suite(repository: Path, tmp_path: Path) -> None:
    """The demo's receipt, its questions grouped by their form."""
    skill = tmp_path / "short-answers"
    shutil.copytree(repository / "skills" / skill.name, skill)
    records = read_records(beside(repository / "skills" / skill.name, RECORDS))
    kinds = {task.id: str(task.meta["stratum"]) for task in load_suite("demo", "test").tasks}
    groups = {task: kinds[task] for task, _ in records.header.tasks}
    header = records.header.model_copy(update={"groups": groups})
    grouped = records.model_copy(update={"header": header})
    parsed = cut(load_skill(skill))
    receipt = receipt_of(grouped, parsed)
    usual = receipt_of(
        records.model_copy(update={"header": header.model_copy(update={"groups": {}})}), parsed
    )
    assert (receipt.groups, usual.groups) == (5, None)
    for unit, alone in zip(receipt.units, usual.units, strict=True):
        assert unit.effect.estimate == alone.effect.estimate
        assert unit.effect.half > alone.effect.half
    assert "in 5 groups" in card(receipt)
    texts = {RECEIPT: receipt.text, RECORDS: grouped.text, CARD: card(receipt)}
    for name, text in texts.items():
        beside(skill, name).write_text(text)
    source = tmp_path / "demo.yaml"
    source.write_text("name: demo\ncorpus: almanac\nagent: graph:answer\n")
    assert any(line.startswith("groups:") for line in verify(skill).differs)
    assert not any(
        line.startswith("groups:") for line in verify(skill, suite="demo?stratum=group").differs
    )


def test_a_group_that_is_copied_decides_nothing_more() -> None:
    """Twelve groups; of one, 40 tasks are copies of one task."""
    rng = np.random.default_rng(4)
    tasks, present = np.repeat(np.arange(12), 8), rng.integers(0, 2, (96, 3))
    values = rng.integers(0, 2, 96).astype(float)
    copies = [np.flatnonzero(tasks == 0)] * 40
    rows = np.concatenate([*copies, np.flatnonzero(tasks)])
    groups = tasks[rows]
    ids = np.concatenate([np.repeat(np.arange(40) + 100, 8), tasks[tasks > 0]])
    alike = fit_effects(EffectData(ids, present[rows], values[rows], groups))
    apart = fit_effects(EffectData(ids, present[rows], values[rows]))
    assert (alike.errors > 2 * apart.errors).all()
    assert alike.degrees < 2 < 40 < apart.degrees


def test_groups_of_one_task_have_the_errors_of_tasks() -> None:
    rng = np.random.default_rng(5)
    tasks, present = np.repeat(np.arange(20), 6), rng.integers(0, 2, (120, 4))
    values = rng.integers(0, 2, 120).astype(float)
    usual = fit_effects(EffectData(tasks, present, values))
    grouped = fit_effects(EffectData(tasks, present, values, tasks))
    assert grouped.errors == pytest.approx(usual.errors)
    assert grouped.degrees == pytest.approx(usual.degrees)


def test_whole_groups_are_weighted_and_swapped() -> None:
    """Groups within which all changes are alike say as much as one task each."""
    rng = np.random.default_rng(6)
    few = rng.integers(-1, 2, (12, 3)).astype(float)
    many = np.repeat(few, 9, axis=0)
    names = [str(number) for number in range(12) for _ in range(9)]
    assert joint_critical(many, groups=names) == pytest.approx(joint_critical(few), abs=0.05)
    assert false_difference_rate(many[:, 0].tolist(), 1.96, names) <= 0.05
    assert false_difference_rate([0.0] * 9, 1.96, names[:9]) == 0.0


def test_plans_say_in_how_many_groups_tasks_are(repository: Path) -> None:
    plan = AuditPlan(units=4, tasks=100, pairs=200, groups=8)
    usual = AuditPlan(units=4, tasks=100, pairs=200)
    assert "100 tasks in 8 groups" in str(plan) and "from group to group" in plan.spread
    assert plan.half_width > usual.half_width and "groups" not in usual.model_dump()
    settings = LadderSettings(
        skill=repository / "skills" / "table-cleaning",
        suite="tables",
        models=("simulated/careful",),
        examples="none",
        sandbox="none",
    )
    assert "those of 8 groups are alike by 0.2" in str(plan_of(settings)["plan"])


def test_queries_of_one_group_are_one_cluster() -> None:
    texts = [f"Query {number}" for number in range(12)]
    queries = [
        Query(query=text, expect="sums", group=f"clause {number // 3}")
        for number, text in enumerate(texts)
    ]
    control = Query(query="Use sums", expect="sums", control=True)
    loaded = {query.query: number < 9 for number, query in enumerate(queries)}
    loaded["Use sums"] = True

    def recall(queries: list[Query]) -> tuple[int | None, tuple[float, float] | None]:
        items = [
            ItemRecord(
                id=query.task.id,
                task_id=query.task.id,
                outcome="pass",
                value=1.0,
                answer=json.dumps(["sums"] if loaded[query.query] else []),
                group=query.task.group,
            )
            for query in queries
        ]
        share = judge("sums", attempts_of(items, queries)).recall
        return share.groups, share.ci95

    groups, wide = recall([control, *queries])
    alone, narrow = recall([control, *(q.model_copy(update={"group": ""}) for q in queries)])
    assert (groups, alone) == (4, None) and wide and narrow
    assert wide[0] < narrow[0] and wide[1] > narrow[1]
    assert queries[0].task.id == queries[0].model_copy(update={"group": ""}).task.id


def test_drafted_queries_of_one_clause_are_one_group(repository: Path) -> None:
    skill = load_skill(repository / "skills" / "table-cleaning")
    drafted = [query for query in draft_queries([skill]) if query.expect]
    groups = {query.group for query in drafted}
    assert groups and "" not in groups and len(drafted) == 2 * len(groups)


def test_a_rule_that_mends_one_queue_is_found_there() -> None:
    """Four rules, each decisive on its queue of eight, and one for no queue."""
    rules = ["billing tickets go to ledger", "parcel tickets go to depot", "login tickets to desk",
             "refund tickets go to teller", "be polite"]  # fmt: skip
    skill = new_skill("triage", "Sorts tickets.", "# Triage\n\n- " + "\n- ".join(rules) + "\n")
    parsed = cut(skill)
    queues = ["billing", "parcel", "login", "refund", "other", "spam", "fraud", "legal"]
    ids = tuple(f"t{n}" for n in range(64))
    values = {name: queues[n % 8] for n, name in enumerate(ids)}
    plan = plan_audit(5, 64, 320)
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    for rollout in design(ids, 5, plan.pairs, 7):
        number = queues.index(values[rollout.task])
        passes = rng.random() < (0.9 if number in rollout.units and number < 4 else 0.1)
        units = "".join("1" if n in rollout.units else "0" for n in range(5))
        outcome = "pass" if passes else "fail"
        rows.append(Row(id=rollout.id, task=rollout.task, outcome=outcome, units=units))
    header = Header(
        name="triage", skill=skill.digest, files={}, suite="s", split=None, suite_digest="",
        tasks=tuple((name, "") for name in ids), agent="a", model="m", simulated=False,
        skill_mode="preloaded", prompts="", version="", seed=7, plan=plan, by="queue",
        by_values=values,
    )  # fmt: skip
    receipt = receipt_of(Records(header=header, rows=tuple(rows)), parsed)
    helping = {(each.unit, each.group) for each in receipt.by_group if each.verdict == "helps"}
    named = {(unit.id, queue) for unit, queue in zip(parsed.units, queues[:4], strict=False)}
    assert helping == named
    assert len(receipt.by_group) == 4 + 8  # a rule on the queue that it names, the other on all
    assert all(len(unit.text) and unit.effect.estimate < 25 for unit in receipt.units)
    lines = group_lines(receipt)
    assert lines[0].startswith("by queue: 12 pairs of line and group were looked at, 4 show")
    assert "the others: too few to tell. 8 tasks a group show effects from about" in lines[5]
    assert 40 < 100 * plan.detectable_in(8, 40, 12) < 100 * plan.detectable_in(5, 25, 12)
    # Groups so small that the fit has hardly a residual left are not looked at.
    scarce = {name: str(n // 4) for n, name in enumerate(ids)}
    small = header.model_copy(update={"by_values": scarce})
    hidden = receipt_of(Records(header=small, rows=tuple(rows)), parsed)
    assert not hidden.by_group and "too few to tell" in group_lines(hidden)[0]
    text = header.model_copy(update={"by": "", "by_values": {}})
    assert '"by' not in receipt_of(Records(header=text, rows=tuple(rows)), parsed).text

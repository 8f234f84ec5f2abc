"""Ladders at the simulated order desk, their receipts, and checks of them."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.core import BadInput, HarnessError, LimitReached, read_json
from harness.core.redaction import redact
from harness.models import CallStore
from harness.receipts.cli.skill_audit import verify_skill
from harness.receipts.cli.skill_ladder import ladder_lines, ladder_skill
from harness.receipts.ladder import Ladder, LadderSettings, run_ladder, verify_ladder
from harness.receipts.ladder.records import LadderRecords, read_ladder
from harness.receipts.ladder.report import ladder_of
from harness.skills import (
    LADDER,
    LADDER_PAGE,
    LADDER_RECORDS,
    beside,
    export,
    load_skill,
    new_skill,
    receipt_files,
    write_skill,
)
from lab.simulator import load_profile
from tests.browser import examine_file
from tests.evolve.baselines.conftest import order_tasks

FILES = (LADDER, LADDER_RECORDS, LADDER_PAGE)
RULES = """
# Order desk

## Rules

- Leave cancelled orders out of every total and count.
"""
MANNERS = "".join(
    f"- Rule {n} of the desk: be brief, and friendly to the customer who asks.\n" for n in range(30)
)


def command(program: Any, *words: object) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words])


def refused(result: Result, code: int) -> bool:
    """Return True if a command ended with an error of ours that exits with this code."""
    return isinstance(result.exception, HarnessError) and result.exception.exit_code == code


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, a skill with a script, and a model that forgets about cancelled orders; climbed."""
    root = tmp_path_factory.mktemp("ladder")
    for split, count in (("train", 40), ("selection", 16), ("test", 120)):
        asked = [task for at, task in enumerate(order_tasks(split, count)) if at % 4 < 2]
        rows = [task.model_dump(mode="json") for task in asked]
        (root / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "suite.yaml").write_text(
        "name: orders\nagent: graph:answer\nmax_turns: 1\n"
        "tasks: {train: train.jsonl, selection: selection.jsonl, test: test.jsonl}\n"
    )
    modes = {order.name: order.model_dump(mode="json") for order in load_profile("orders").orders}
    mode = {**modes["cancelled counted"], "prevalence": 0.8}
    profile = {"name": "hasty", "noise": 0.12, "orders": [mode]}
    (root / "model.json").write_text(json.dumps(profile))
    body = f"{RULES}{MANNERS}\nRun `scripts/total.py` to add up.\n"
    write_skill(new_skill("order-desk", "Answers questions.", body), root / "order-desk")
    (root / "order-desk" / "scripts").mkdir()
    (root / "order-desk" / "scripts" / "total.py").write_text("print(1)\n")
    lessons = [{"title": "", "lesson": f"Lesson {number}: write."} for number in range(400)]
    (root / "records.json").write_text(json.dumps([{"items": lessons}]))
    with chdir(root):
        run_ladder(settings(root))
    return root


@pytest.fixture(autouse=True)
def at_the_model(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the model is part of a request, and so of its noise: it is always the same."""
    monkeypatch.chdir(world)


def settings(root: Path, **changed: Any) -> LadderSettings:
    fields: dict[str, Any] = {
        "skill": root / "order-desk",
        "suite": str(root / "suite.yaml"),
        "models": ("simulated/model.json",),
        "lessons": root,
        "choose": 3,
        "sandbox": "none",
        "out": root / "run",
    }
    return LadderSettings(**fields | changed)


@pytest.fixture
def copy(world: Path, tmp_path: Path) -> Path:
    """The skill with what lies beside it, to be spoiled."""
    shutil.copytree(world / "order-desk", tmp_path / "order-desk")
    for name in FILES:
        shutil.copy(beside(world / "order-desk", name), tmp_path)
    return tmp_path / "order-desk"


def ladder_at(skill: Path) -> Ladder:
    return Ladder.model_validate_json(beside(skill, LADDER).read_bytes())


def test_a_skill_that_works_beats_every_control(world: Path) -> None:
    ladder = ladder_at(world / "order-desk")
    rungs = {rung.name: rung for rung in ladder.rungs}
    assert [*rungs] == [
        "none", "placebo", "format", "random", "best", "double", "lessons", "prose", "skill",
        "repeat",
    ]  # fmt: skip
    assert ladder.win and ladder.verdicts[0] == "The skill beats all 7 controls."
    assert rungs["prose"].verdict == "no difference seen" and rungs["prose"].kind == "part"
    for name, rung in rungs.items():
        assert rung.valid == 60 and rung.rate is not None
        if rung.target is not None:
            assert abs(rung.tokens - rung.target) <= 0.05 * rung.target, name
    assert (rungs["placebo"].context or 0) > 400 and rungs["none"].context == 0
    assert ladder.again is not None and not ladder.again.differs
    assert ladder.again.changed and ladder.again.false_rate < 5
    assert ladder.simulated and "simulated model" in ladder.warnings[0]
    assert any("by the model's own tokenizer" in warning for warning in ladder.warnings)
    best, double = ladder.choices
    assert best.attempts == best.calls == 8 * 3 and len(best.passed) == len(double.tokens) == 8
    assert best.best == best.passed.index(max(best.passed))  # of equals the first
    lines = "\n".join(ladder_lines(ladder))
    assert "beats" in lines and lines.endswith(ladder.verdicts[0]) and "\nA/A: " in lines


def test_a_ladder_holds_and_is_held_against_its_runs(world: Path) -> None:
    verified = verify_ladder(world / "order-desk")
    assert verified.valid and verified.tasks, verified.differs
    rows = read_ladder(beside(world / "order-desk", LADDER_RECORDS)).rows
    assert verified.rollouts == verified.rescored == len(rows)
    assert verify_ladder(world / "order-desk", run=world / "run").valid
    shown = command(verify_skill, world / "order-desk", "--run", world / "run")
    assert shown.exit_code == 0 and "compared with the recorded replies" in shown.output
    shown = command(verify_skill, world / "order-desk", "--without-tasks")
    assert shown.exit_code == 0 and "consistency only" in shown.output


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("SKILL.md", b"be brief", b"be short", "skill: SKILL.md was changed"),
        (LADDER_RECORDS, b'"outcome":"fail"', b'"outcome":"pass"', "is a pass, its answer a fail"),
        (LADDER_RECORDS, b'"rung":"none"', b'"rung":"skill"', "records: not one attempt"),
        (LADDER_RECORDS, b"The harbour lies", b"The answer lies", "the text of rung placebo is an"),
        (LADDER_RECORDS, b"# Answer format", b"# Answer format:", "rung format has other than"),
        (LADDER_RECORDS, b'"seed":41', b'"seed":42', "ladder: seed is 41, computed 42"),
        (LADDER, b'"beats"', b'"loses to"', "ladder: rungs[0].verdict is 'loses to'"),
        (LADDER, b'"win": true', b'"win": false', "ladder: win is False, computed True"),
        (LADDER_PAGE, b"60 held-out", b"90 held-out", "card: order-desk.ladder.html does not"),
    ],
)
def test_what_was_changed_is_named(
    world: Path, copy: Path, name: str, old: bytes, new: bytes, says: str
) -> None:
    path = copy / name if name == "SKILL.md" else beside(copy, name)
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new, 1))
    shown = command(verify_skill, copy, "--suite", world / "suite.yaml")
    assert refused(shown, 5) and says in shown.output, shown.output


def test_forged_answers_are_noticed_with_the_runs(world: Path, copy: Path, tmp_path: Path) -> None:
    tasks = map(json.loads, (world / "test.jsonl").read_text().splitlines())
    answers = {task["id"]: task["answer"] for task in tasks}
    records = read_ladder(beside(copy, LADDER_RECORDS))
    rows = tuple(
        row.model_copy(update={"outcome": "pass", "answer": answers[row.task]})
        if row.rung == "skill"
        else row
        for row in records.rows
    )
    forged = LadderRecords(header=records.header, rows=rows)
    assert ladder_of(forged).digests.records != records.digest
    run = tmp_path / "run"
    shutil.copytree(world / "run", run)
    (run / LADDER_RECORDS).write_text(forged.text)
    differs = verify_ladder(copy, suite=str(world / "suite.yaml"), run=run).differs
    assert any("of rung skill is another one there" in line for line in differs), differs
    shutil.rmtree(run / "placebo")
    with pytest.raises(BadInput):
        verify_ladder(copy, suite=str(world / "suite.yaml"), run=run)


def test_the_page_stands_alone_and_fits_every_screen(world: Path) -> None:
    page = beside(world / "order-desk", LADDER_PAGE)
    text = page.read_text()
    assert not any(part in text for part in ("<script", "http://", "https://", "src=", "@import"))
    assert "prefers-color-scheme: dark" in text and redact(text) == text
    examine_file(page, "ladder")


def test_a_ladder_that_was_cut_goes_on_and_pays_nothing_twice(world: Path, tmp_path: Path) -> None:
    skill, out = tmp_path / "order-desk", tmp_path / "run"
    shutil.copytree(world / "order-desk", skill)
    words = [ladder_skill, skill, "--suite", world / "suite.yaml", "--sandbox", "none", "--model",
             "simulated/model.json", "--lessons", world, "--choose", 3]  # fmt: skip
    for calls, begun in ((20, "choose/best-6"), (200, "format")):
        option = "--resume" if out.exists() else "--out"
        shown = command(*words, option, out, "--budget-calls", calls)
        assert isinstance(shown.exception, LimitReached), shown.output
        assert (out / begun / "run.json").is_file() and not beside(skill, LADDER).exists()
    shown = command(*words, "--out", out)
    assert refused(shown, 2) and "holds a run: use --resume" in str(shown.exception)
    shown = command(*words, "--resume", out, "--seed", 7)
    assert refused(shown, 2) and "begun with other seed" in str(shown.exception)
    shown = command(*words, "--resume", out, "--json")
    assert shown.exit_code == 0, shown.output
    again, first = read_ladder(out / LADDER_RECORDS), read_ladder(world / "run" / LADDER_RECORDS)

    def without_time(records: LadderRecords) -> list[Any]:
        return [row.model_dump(exclude={"seconds"}) for row in records.rows]

    assert without_time(again) == without_time(first)
    assert again.header.rungs == first.header.rungs and again.header.choices == first.header.choices
    attempts = len(again.rows) + sum(choice.attempts for choice in again.header.choices)
    spent = 0
    for path in out.rglob("calls.sqlite"):
        with closing(CallStore(path)) as calls_made:
            spent += len(list(calls_made.answered()))
    assert spent == attempts


def test_rungs_that_are_the_same_are_run_once(world: Path, tmp_path: Path) -> None:
    skill = tmp_path / "plain"
    write_skill(new_skill("plain", "Answers.", f"\n# Plain\n\n{MANNERS}"), skill)
    climbed = run_ladder(
        settings(world, skill=skill, out=tmp_path / "run", limit=12, lessons=None, choose=1)
    )
    rungs = {rung.name: rung for rung in climbed.ladder.rungs}
    assert rungs["prose"].same_as == "the skill" and rungs["prose"].difference is None
    assert not (tmp_path / "run" / "prose").exists()
    chosen = climbed.ladder.choices[0]
    assert (rungs["best"].same_as == "random gold examples") == (chosen.best == 0)
    assert not climbed.ladder.win
    assert climbed.ladder.verdicts[0].startswith("Not shown to be better than")
    assert verify_ladder(skill).valid


def test_only_the_rungs_that_were_chosen_are_run(world: Path, tmp_path: Path) -> None:
    skill = Path(shutil.copytree(world / "order-desk", tmp_path / "order-desk"))
    out = tmp_path / "run"
    ladder = run_ladder(settings(world, skill=skill, out=out, rungs=" best, none")).ladder
    assert [rung.name for rung in ladder.rungs] == ["none", "best", "skill"]
    assert [choice.rung for choice in ladder.choices] == ["best"]
    assert {rung.verdict for rung in ladder.rungs[:2]} == {"beats"}
    assert not ladder.win and ladder.again is None
    assert ladder.verdicts[0] == "No win can be claimed: the ladder lacks repeat."
    verified = verify_ladder(skill, run=out)
    assert verified.valid, verified.differs
    with pytest.raises(BadInput, match="begun with other rungs"):
        run_ladder(settings(world, skill=skill, out=None, resume=out, rungs="best"))
    with pytest.raises(BadInput, match="--rungs: no rung 'bset'"):
        run_ladder(settings(world, skill=skill, out=tmp_path / "second", rungs="bset"))
    alone = settings(world, skill=skill, out=tmp_path / "alone", rungs="repeat")
    again = run_ladder(alone).ladder.again
    assert again is not None and not again.differs


def test_the_ladder_goes_with_the_skill(world: Path, tmp_path: Path) -> None:
    skill = load_skill(world / "order-desk")
    files = receipt_files(world / "order-desk", skill)
    assert sorted(files) == [f"order-desk.{name}" for name in sorted(FILES)]
    export(skill, "agents", tmp_path, receipt=files)
    assert verify_ladder(tmp_path / ".agents/skills/order-desk").valid
    with pytest.raises(BadInput, match="run `harness skill ladder` again"):
        receipt_files(world / "order-desk", new_skill("order-desk", "Another."))


def test_lengths_are_matched_as_the_model_counts_them(world: Path, tmp_path: Path) -> None:
    skill = tmp_path / "order-desk"
    shutil.copytree(world / "order-desk", skill)
    changed = {"skill": skill, "limit": 8, "choose": 1, "measure": True}
    climbed = run_ladder(settings(world, **changed, out=tmp_path / "run"))
    rungs = {rung.name: rung for rung in climbed.ladder.rungs}
    length = rungs["skill"].context or 0
    for name, rung in rungs.items():
        if rung.target is not None:
            times = 2 if name == "double" else 1  # the frame around a skill counts once
            assert rung.context == pytest.approx(times * length, rel=0.05 + 0.05 * times), name
    assert rungs["best"].tokens > 1.2 * rungs["skill"].tokens  # tables are digits
    assert not any("own tokenizer" in warning for warning in climbed.ladder.warnings)
    assert verify_ladder(skill).valid
    again = settings(world, **changed, out=None, resume=tmp_path / "run")
    assert run_ladder(again).ladder.text == climbed.ladder.text


def test_kinds_that_the_other_splits_lack_stand_apart(world: Path, tmp_path: Path) -> None:
    skill, root = tmp_path / "order-desk", tmp_path / "suite"
    shutil.copytree(world / "order-desk", skill)
    root.mkdir()
    for name in ("suite.yaml", "train.jsonl", "selection.jsonl"):
        shutil.copy(world / name, root)
    rows = [json.loads(line) for line in (world / "test.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        row["meta"] = {"seen": number % 5 > 0}
    (root / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    changed = {"skill": skill, "suite": str(root / "suite.yaml"), "limit": 40, "choose": 1}
    ladder = run_ladder(settings(world, **changed, out=tmp_path / "run")).ladder
    assert (ladder.tasks, ladder.unseen_tasks) == (32, 8)
    assert {rung.valid for rung in ladder.rungs} == {32}
    assert {rung.valid for rung in ladder.unseen} == {8}
    assert "on the 32 tasks of kinds that train has" in ladder.planned
    assert "8 tasks of kinds that the other splits lack:" in ladder_lines(ladder)
    page = beside(skill, LADDER_PAGE)
    assert "Kinds that the other splits lack" in page.read_text()
    examine_file(page, "ladder-kinds")
    assert verify_ladder(skill).valid


def test_a_skill_that_does_harm_is_said_to_lose(world: Path) -> None:
    """The records of the good skill, with outcomes of skill and no skill exchanged."""
    records = read_ladder(world / "run" / LADDER_RECORDS)
    exchanged = {"none": "skill", "skill": "none"}
    rows = tuple(
        row.model_copy(update={"rung": exchanged.get(row.rung, row.rung)}) for row in records.rows
    )
    ladder = ladder_of(LadderRecords(header=records.header, rows=rows))
    assert not ladder.win and ladder.verdicts[0].startswith("No win: the skill loses to ")
    assert "no skill" in ladder.verdicts[0] and ladder.again is not None and ladder.again.differs
    assert any("two runs of the same skill differ" in warning for warning in ladder.warnings)
    invalid = tuple(row.model_copy(update={"outcome": "invalid"}) for row in records.rows)
    empty = ladder_of(LadderRecords(header=records.header, rows=invalid))
    assert not empty.win and empty.again is None
    assert all(rung.rate is None and rung.verdict == "not compared" for rung in empty.rungs)


def test_the_plan_comes_before_any_call(world: Path, tmp_path: Path) -> None:
    words = [ladder_skill, world / "order-desk", "--suite", world / "suite.yaml", "--dry-run",
             "--sandbox", "none", "--out", tmp_path / "run", "--choose", 4]  # fmt: skip
    shown = command(*words, "--json")
    plan = json.loads(shown.stdout)
    assert plan["attempts"] == plan["calls_at_most"] - plan["choosing"] == 9 * 60
    assert plan["choosing"] == 16 * 4 and plan["comparisons"] == 7
    assert 15 < plan["detectable"] < 40 and plan["notes"][0].startswith("20 verified examples")
    text = command(*words).output
    assert "80 % power" in text and "double" in text
    assert not (tmp_path / "run").exists()
    assert read_json(world / "run" / "plan.json")

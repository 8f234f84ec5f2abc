"""Audits from the command line at the simulated order desk, their receipts, and checks of them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, HarnessError
from harness.core.redaction import redact
from harness.evals import EvalReport, Tally, run_eval
from harness.evals.control import read_status
from harness.models import SampleLimits, pack, unpack
from harness.receipts import (
    AuditSettings,
    Receipt,
    cut,
    prune_skill,
    receipt_schema,
    run_audit,
    verify,
)
from harness.receipts.receipt import card, receipt_of
from harness.receipts.records import read_records
from harness.skills import CARD, RECEIPT, RECORDS, beside, load_skill, new_skill, write_skill
from lab.simulator import load_profile
from tests.browser import examine_file
from tests.evolve.baselines.conftest import order_tasks

RULES = """
# Order desk

## Rules

- Leave cancelled orders out of every total and count.
- Work carefully.
- Ignore small orders below 500 grams.
- Read the question twice.
"""
ROLLOUTS = 160


def command(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def refused(result: Result, code: int) -> bool:
    """Return True if a command ended with an error of ours that exits with this code."""
    return isinstance(result.exception, HarnessError) and result.exception.exit_code == code


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite, a skill and a model that forgets about cancelled orders; audited once."""
    root = tmp_path_factory.mktemp("audit")
    asked = [task for at, task in enumerate(order_tasks("t", 80)) if at % 4 < 2]  # totals, counts
    rows = [task.model_dump(mode="json") for task in asked]
    (root / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "suite.yaml").write_text(
        "name: orders\nagent: graph:answer\nmax_turns: 1\ntasks: tasks.jsonl\n"
    )
    known = {one.name: one.model_dump(mode="json") for one in load_profile("orders").orders}
    light = {**known["light orders dropped"], "prevalence": 1.0}
    bad = [{**light, "name": slip, "slip": slip} for slip in ("small", "rounding", "zero")]
    modes = [{**known["cancelled counted"], "prevalence": 0.7}, *bad]
    (root / "model.json").write_text(json.dumps({"name": "hasty", "orders": modes}))
    write_skill(
        new_skill("order-desk", "Answers questions about orders.", RULES), root / "order-desk"
    )
    run_audit(settings(root))
    return root


def settings(root: Path, **changed: Any) -> AuditSettings:
    fields: dict[str, Any] = {
        "skill": root / "order-desk",
        "suite": str(root / "suite.yaml"),
        "models": (f"simulated/{root / 'model.json'}",),
        "rollouts": ROLLOUTS,
        "sandbox": "none",
        "out": root / "run",
    }
    return AuditSettings(**fields | changed)


@pytest.fixture
def copy(world: Path, tmp_path: Path) -> Path:
    """The skill with what lies beside it, to be spoiled."""
    for name in ("order-desk", *(f"order-desk.{one}" for one in (RECEIPT, RECORDS, CARD))):
        source = world / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path / "order-desk"


def receipt(root: Path) -> dict[str, Any]:
    return json.loads(beside(root / "order-desk", RECEIPT).read_text())


def test_what_is_planted_is_found(world: Path) -> None:
    found = receipt(world)
    verdicts = {unit["text"]: unit["verdict"] for unit in found["units"]}
    assert verdicts["- Leave cancelled orders out of every total and count."] == "helps"
    assert verdicts["- Ignore small orders below 500 grams."] == "hurts"
    assert verdicts["- Work carefully."] == "nothing detectable"
    assert verdicts["- Read the question twice."] == "nothing detectable"
    assert found["simulated"] and "simulated model" in found["warnings"][0]
    helps = found["units"][0]
    assert helps["effect"]["low"] > 0 and helps["tokens"] > 0
    assert helps["lines"] == [10, 10]
    assert helps["tokens_per_run"]["estimate"] > 5  # the text that was sent
    assert found["digests"]["records"] and found["valid"] == found["rollouts"]


def test_an_audit_stops_where_no_verdict_is_to_be_expected(world: Path, copy: Path) -> None:
    assert "futility" not in receipt(world)["plan"]
    run, totals, statuses = copy.parent / "stopped", set[int](), set[int]()

    def show(name: str, tally: Tally) -> None:
        totals.add(tally.total)
        statuses.add(read_status(run).total)  # it can be steered, as any eval run

    run_audit(settings(world, skill=copy, out=run, futility=0.5), show=show)
    assert totals == statuses == {ROLLOUTS}
    found = receipt(copy.parent)
    assert found["plan"]["futility"] == 0.5
    assert found["rollouts"] < receipt(world)["rollouts"] == ROLLOUTS
    assert "2 of 4 units are decided; none of the 2 open ones has a chance" in found["stopped"]
    assert verify(copy, suite=str(world / "suite.yaml")).valid


def test_a_receipt_fits_its_schema_and_the_schema_its_file(world: Path, repository: Path) -> None:
    shipped = repository / "docs" / "reference" / "receipt.schema.json"
    assert shipped.read_text() == receipt_schema()
    schema, found = json.loads(shipped.read_text()), receipt(world)
    # These tasks have no groups, and the skill names none of a column.
    assert set(found) == set(schema["properties"]) - {"groups", "by", "by_group"}
    assert found["schema"] == schema["$id"]


def test_the_card_stands_alone(world: Path) -> None:
    page = beside(world / "order-desk", CARD).read_text()
    assert not any(one in page for one in ("<script", "http://", "https://", "src=", "@import"))
    assert "Leave cancelled orders out" in page and "prefers-color-scheme: dark" in page
    assert redact(page) == page


def test_the_card_fits_every_screen(world: Path) -> None:
    examine_file(beside(world / "order-desk", CARD), "receipt")


def test_a_receipt_holds_and_again_without_tasks(world: Path) -> None:
    found = verify(world / "order-desk")
    assert found.valid and found.tasks
    assert found.rollouts == found.rescored == receipt(world)["rollouts"]
    shown = command("skill", "verify", world / "order-desk", "--without-tasks")
    assert shown.exit_code == 0 and "tasks NOT compared" in shown.output


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("SKILL.md", b"Work carefully.", b"Work carefully!", "skill: SKILL.md was changed"),
        (RECORDS, b'"outcome":"pass"', b'"outcome":"fail"', "records: rollout"),
        (RECORDS, b'"tokens":2', b'"tokens":3', "receipt: "),
        (RECORDS, b'"units":"1', b'"units":"0', "records: rollout"),
        (RECORDS, b'"units":"1', b'"units":"*', ": units: String should match"),
        (RECORDS, b'"seed":41', b'"seed":42', "records: rollout"),
        (RECEIPT, b'"helps"', b'"hurts"', "receipt: units[0].verdict is 'hurts'"),
        (RECEIPT, b'\n "model"', b'\n  "model"', "written in another way"),
        (CARD, b"4 units", b"5 units", "card: order-desk.receipt.html"),
    ],
)
def test_one_changed_byte_is_named(
    copy: Path, name: str, old: bytes, new: bytes, says: str
) -> None:
    path = copy / name if name == "SKILL.md" else beside(copy, name)
    text = path.read_bytes()
    assert old in text
    path.write_bytes(text.replace(old, new, 1))
    shown = command("skill", "verify", copy)
    assert refused(shown, 5), shown.output
    assert says in shown.output


def test_a_receipt_that_no_reader_can_nest_is_no_json(copy: Path) -> None:
    beside(copy, RECEIPT).write_bytes(b"[" * 100_000 + b"]" * 100_000)
    assert verify(copy, tasks=False).differs == (
        f"receipt: it is no JSON (in {beside(copy, RECEIPT).name})",
    )


def test_records_are_held_against_the_recorded_calls(
    world: Path, copy: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(world / "run", run)
    assert verify(copy, suite=str(world / "suite.yaml"), run=run).valid
    path = beside(copy, RECORDS)
    first = json.loads(path.read_text().splitlines()[1])["calls"][0]
    path.write_text(path.read_text().replace(first, "0" * 64))
    found = verify(copy, tasks=False, run=run).differs
    assert any("is another one there" in one for one in found)
    assert any("calls are not among the recorded ones, the first 000000" in one for one in found)


def test_forged_records_that_fit_one_another_are_called_consistent_and_no_more(
    world: Path, copy: Path
) -> None:
    tasks = map(json.loads, (world / "tasks.jsonl").read_text().splitlines())
    answers = {task["id"]: task["answer"] for task in tasks}
    records = read_records(beside(copy, RECORDS))
    useless = next(u for u in cut(load_skill(copy)).units if u.text == "- Work carefully.").number
    rows = [
        row.model_copy(
            update={"outcome": "pass", "answer": answers[row.task]}
            if row.units[useless] == "1" and place % 3
            else {}
        )
        for place, row in enumerate(records.rows)
    ]
    forged = records.model_copy(update={"rows": tuple(rows)})
    computed = receipt_of(forged, cut(load_skill(copy)))
    assert computed.units[useless].verdict == "helps"
    for name, text in (
        (RECORDS, forged.text), (RECEIPT, computed.text), (CARD, card(computed)),
    ):  # fmt: skip
        beside(copy, name).write_text(text)
    words = ("skill", "verify", copy, "--suite", world / "suite.yaml")
    shown = command(*words)
    assert shown.exit_code == 0
    assert "\nconsistency only: answers not verified (" in shown.output
    shown = command(*words, "--json")
    assert json.loads(shown.stdout)["scope"] == "consistency only: answers not verified"
    shown = command(*words, "--run", world / "run")
    assert refused(shown, 5) and "is another one there than in the records" in shown.output
    assert "consistency only" not in shown.output


def test_a_reply_that_was_changed_in_the_run_is_noticed(
    world: Path, copy: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(world / "run", run)
    first = read_records(beside(copy, RECORDS)).rows[0]
    with closing(sqlite3.connect(run / "calls.sqlite")) as store, store:
        chosen = "SELECT response FROM calls WHERE digest = ?"
        response = unpack(store.execute(chosen, first.calls).fetchone()[0])
        response["choices"][0]["message"]["content"] = "1234567"
        changed = (pack(response), *first.calls)
        store.execute("UPDATE calls SET response = ? WHERE digest = ?", changed)
    differs = verify(copy, tasks=False, run=run).differs
    assert f"run: rollout {first.id} is another one there than in the records" in differs
    assert f"run: the trajectory of {first.id} has a reply that the model did not give" in differs


def test_a_card_that_is_gone_is_noticed(copy: Path) -> None:
    beside(copy, CARD).unlink()
    assert verify(copy, tasks=False).differs == ("card: order-desk.receipt.html is gone",)


def test_a_signature_holds_for_one_receipt(copy: Path, tmp_path: Path) -> None:
    """The commands of the reference."""
    key, space = tmp_path / "key", ["-n", "agent-skill-harness"]
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signed = beside(copy, RECEIPT)
    subprocess.run(["ssh-keygen", "-Y", "sign", *space, "-f", key, signed], check=True)
    (tmp_path / "allowed").write_text(f"ada@example.com {key.with_suffix('.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", *space, "-f", tmp_path / "allowed", "-I",
             "ada@example.com", "-s", f"{signed}.sig"]  # fmt: skip
    assert subprocess.run(check, input=signed.read_bytes(), check=False).returncode == 0
    assert verify(copy, tasks=False).valid
    other = signed.read_bytes().replace(b"nothing detectable", b"helps")
    assert subprocess.run(check, input=other, check=False).returncode != 0


def test_changed_tasks_are_named(world: Path, copy: Path, tmp_path: Path) -> None:
    tasks = (world / "tasks.jsonl").read_text()
    (tmp_path / "suite.yaml").write_text((world / "suite.yaml").read_text())
    (tmp_path / "tasks.jsonl").write_text(tasks.replace("Ashford", "Ashfort", 1))
    shown = command("skill", "verify", copy, "--suite", tmp_path / "suite.yaml")
    assert refused(shown, 5) and "tasks: t-" in shown.output and "was changed" in shown.output


def test_every_single_byte_of_the_records_counts(copy: Path) -> None:
    """Bytes at many places, each flipped alone; none gives a receipt that holds."""
    path = beside(copy, RECORDS)
    text = path.read_bytes()
    ends = [place for place, byte in enumerate(text) if byte == ord("\n")]
    for place in (*range(7, len(text), len(text) // 12), ends[0], ends[-1]):
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        assert not verify(copy, tasks=False).valid, place
    path.write_bytes(text)
    assert verify(copy, tasks=False).valid


def test_an_audit_that_was_cut_goes_on_and_pays_nothing_twice(world: Path, tmp_path: Path) -> None:
    shutil.copytree(world / "order-desk", tmp_path / "order-desk")
    changed = {"skill": tmp_path / "order-desk", "out": tmp_path / "run"}
    words = ["skill", "audit", tmp_path / "order-desk", "--suite", world / "suite.yaml",
             "--model", f"simulated/{world / 'model.json'}", "--rollouts", ROLLOUTS,
             "--sandbox", "none"]  # fmt: skip
    cut = command(*words, "--out", tmp_path / "run", "--budget-calls", 60)
    assert refused(cut, 3), cut.output
    assert not beside(tmp_path / "order-desk", RECEIPT).exists()
    more = command(*words, "--resume", tmp_path / "run", "--budget-calls", 110)
    assert refused(more, 3) and "receipt of the first 80 rollouts" in more.output
    early = Receipt.model_validate_json(beside(tmp_path / "order-desk", RECEIPT).read_bytes())
    assert early.rollouts == 80 and "limit was reached" in early.stopped
    assert verify(tmp_path / "order-desk").valid
    again = run_audit(settings(world, **changed | {"out": None, "resume": tmp_path / "run"}))
    assert again.receipt.text == beside(world / "order-desk", RECEIPT).read_text()
    lines = beside(tmp_path / "order-desk", RECORDS).read_text()
    assert lines == beside(world / "order-desk", RECORDS).read_text()


def test_other_groups_of_the_same_rollouts_need_no_other_folder_and_no_call(world: Path) -> None:
    before = receipt(world)
    words = ["skill", "audit", world / "order-desk", "--suite", world / "suite.yaml",
             "--model", f"simulated/{world / 'model.json'}", "--rollouts", ROLLOUTS,
             "--sandbox", "none", "--out", world / "run", "--budget-calls", 1]  # fmt: skip
    grouped = command(*words, "--by", "expected")
    assert grouped.exit_code == 0, grouped.output
    assert "by expected: " in grouped.output and receipt(world)["by"] == "expected"
    assert "2 of 4 lines show no effect on all tasks together; effects below" in grouped.output
    assert run_audit(settings(world)).receipt.text and receipt(world) == before


def test_between_looks_no_other_process_goes_on_with_an_audit(
    world: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, refusals = copy.parent / "run", list[str]()

    def other_process(*_: object) -> str:
        second = settings(world, skill=copy, out=None, resume=run)
        with ThreadPoolExecutor(1) as pool, pytest.raises(BadInput) as refusal:
            pool.submit(run_audit, second).result(timeout=60)
        refusals.append(str(refusal.value))
        return "tried once"

    monkeypatch.setattr("harness.receipts.audit.why_stop", other_process)
    assert run_audit(settings(world, skill=copy, out=run)).receipt.rollouts == 80
    assert len(refusals) == 1 and "another process is writing" in refusals[0]
    assert not (run / "subsets").exists()


def test_what_was_steered_holds_after_a_look(
    world: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[tuple[int, int | None]] = []

    async def steered(*words: Any, **options: Any) -> EvalReport:
        async with options["remote"] as subsets:
            looks.append((options["concurrency"], subsets.limits.now.tokens))
            if len(looks) == 1:  # as `eval ctl` does
                subsets.resize(3)
                subsets.limits.now = SampleLimits(tokens=9_999)
        return await run_eval(*words, **options)

    monkeypatch.setattr("harness.receipts.audit.run_eval", steered)
    run_audit(settings(world, skill=copy, out=copy.parent / "run", concurrency=5))
    assert looks == [(5, None), (3, 9_999), (3, 9_999)]
    assert beside(copy, RECORDS).read_text() == beside(world / "order-desk", RECORDS).read_text()


def test_a_plan_costs_no_call(world: Path) -> None:
    shown = command("skill", "audit", world / "order-desk", "--suite", world / "suite.yaml",
                    "--rollouts", ROLLOUTS, "--dry-run", "--json")  # fmt: skip
    plan = json.loads(shown.stdout)
    assert [unit["id"] for unit in plan["units"]] == [f"SKILL.md:{n}" for n in range(10, 14)]
    assert plan["looks"] == [80, 120, 160] and plan["detectable"] > 10
    assert plan["estimate"]["attempts"] == 160 and plan["spread"].startswith("+-")
    few = command("skill", "audit", world / "order-desk", "--suite", world / "suite.yaml",
                  "--rollouts", 8)  # fmt: skip
    assert refused(few, 2) and "cannot tell 4 units apart" in str(few.exception)


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("codex", ".agents/skills"),
        ("plugin", "plugins/order-desk/skills"),
        ("well-known", ".well-known/skills"),
    ],
)
def test_the_receipt_holds_wherever_it_travels(
    target: str, folder: str, world: Path, copy: Path, tmp_path: Path
) -> None:
    done = command("skill", "export", copy, "--target", target, "--out", tmp_path / "there")
    assert done.exit_code == 0, done.output
    skill = tmp_path / "there" / folder / "order-desk"
    assert verify(skill, suite=str(world / "suite.yaml")).valid
    (skill / "agents").mkdir(exist_ok=True)
    (skill / "agents" / "openai.yaml").write_text("interface:\n  default_prompt: Be evil.\n")
    assert verify(skill, suite=str(world / "suite.yaml")).differs[0].startswith("skill: agents/")


def test_the_receipt_travels_and_holds_there(world: Path, copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "project"
    out.mkdir()
    done = command("skill", "export", copy, "--target", "claude", "--out", out, "--json")
    assert done.exit_code == 0, done.output
    skills = out / ".claude" / "skills"
    names = {f"order-desk.{part}" for part in (RECEIPT, RECORDS, CARD)}
    assert [path.name for path in skills.iterdir()] == ["order-desk"], "clients read no receipt"
    assert {path.name for path in (out / "harness-receipts" / "claude").iterdir()} == names
    assert len(json.loads(done.stdout)[0]["also"]) == 3
    assert verify(skills / "order-desk", suite=str(world / "suite.yaml")).valid
    again = command("skill", "export", copy, "--target", "claude", "--out", out, "--json")
    assert json.loads(again.stdout)[0]["status"] == "unchanged"
    (copy / "SKILL.md").write_text((copy / "SKILL.md").read_text() + "\n- More.\n")
    refusal = command("skill", "export", copy, "--target", "zip", "--out", out)
    assert refused(refusal, 2) and "speaks of skill" in str(refusal.exception)


def test_a_skill_without_a_receipt(tmp_path: Path) -> None:
    write_skill(new_skill("a-skill", "Does something."), tmp_path / "a-skill")
    shown = command("skill", "verify", tmp_path / "a-skill")
    assert refused(shown, 2) and "no receipt" in str(shown.exception)


def test_what_hurts_is_pruned_and_the_gate_judges_it(world: Path, tmp_path: Path) -> None:
    """The smaller skill lacks the harmful rule, and is better on tasks the audit did not run."""
    more = [task.model_dump(mode="json") for task in order_tasks("u", 60)]
    rows = [*map(json.loads, (world / "tasks.jsonl").read_text().splitlines()), *more]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "suite.yaml").write_text((world / "suite.yaml").read_text())
    run = tmp_path / "run"
    asked = settings(world, suite=str(tmp_path / "suite.yaml"), limit=40, out=run)
    found = Receipt.model_validate_json(beside(world / "order-desk", RECEIPT).read_bytes())
    done = prune_skill(asked, found, run)
    text = (done.skill / "SKILL.md").read_text()
    assert "Ignore small orders" not in text and "Leave cancelled orders out" in text
    assert done.tokens[1] < done.tokens[0]
    assert done.gate is not None and done.gate.verdict == "accepted", str(done)
    assert "gate: accepted" in str(done)
    whole = found.model_copy(update={"units": found.units[:1]})
    with pytest.raises(BadInput, match="nothing to prune"):
        prune_skill(asked, whole, run)

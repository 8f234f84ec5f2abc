"""A skill that one simulated model authored, run by others on a suite that taught nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput, LimitReached, Task
from harness.evals import ItemRecord, compare_paired, load_suite, records
from harness.evolve import EvolveSettings, plan_evolution, run_evolution
from harness.evolve.baselines.transfer import held_out
from harness.stats import detectable_lift
from lab.simulator import load_profile
from tests.browser import examine_file
from tests.evolve.baselines.conftest import ANALYST, order_tasks

AUTHOR = "simulated/orders"
FOREIGN = 110
"""Tasks of the foreign suite: enough to see ten points where few results change."""


def write_suite(folder: Path, splits: dict[str, list[Task]]) -> str:
    folder.mkdir(parents=True)
    for split, tasks in splits.items():
        rows = (json.dumps(task.model_dump(mode="json")) + "\n" for task in tasks)
        (folder / f"{split}.jsonl").write_text("".join(rows))
    named = ", ".join(f"{split}: {split}.jsonl" for split in splits)
    text = f"name: {folder.name}\nagent: graph:answer\nmax_turns: 1\ntasks: {{{named}}}\n"
    (folder / "suite.yaml").write_text(text)
    return str(folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two suites and two users.

    The hasty one fails in ways that the author knows too; the stubborn one passes over light
    orders, which the author never does and no lesson speaks of.
    """
    root = tmp_path_factory.mktemp("transfer")
    home = {split: order_tasks(split, 24) for split in ("train", "selection")}
    write_suite(root / "orders", home)
    write_suite(root / "invoices", {"test": order_tasks("invoice", FOREIGN)})
    known = {one.name: one.model_dump(mode="json") for one in load_profile("orders").orders}
    hasty = [{**known["cancelled counted"], "prevalence": 0.9}, known["unrounded amount"]]
    light = {"name": "light orders", "slip": "small", "prevalence": 0.6}
    for name, modes in (("hasty", hasty), ("stubborn", [light])):
        (root / f"{name}.json").write_text(json.dumps({"name": name, "orders": modes}))
    return root


def user(world: Path, name: str) -> str:
    return f"simulated/{world / name}.json"


def settings(world: Path, out: Path, **changed: Any) -> EvolveSettings:
    fields = {
        "out": out,
        "suite": str(world / "orders"),
        "create": "order-desk",
        "gate": "none",
        "models": (AUTHOR, f"analyst={ANALYST}"),
        "users": (user(world, "hasty"), user(world, "stubborn")),
        "transfer": (str(world / "invoices"),),
        "sandbox": "none",
    }
    return EvolveSettings.model_validate({**fields, **changed})


@pytest.fixture(scope="module")
def evolved(world: Path) -> tuple[Path, Result]:
    """One evolution by the real command line."""
    out = world / "out"
    users = [f"--user={user(world, name)}" for name in ("hasty", "stubborn")]
    command = [
        "evolve", "--suite", str(world / "orders"), "--create", "order-desk", "--gate", "none",
        "--model", AUTHOR, "--model", f"analyst={ANALYST}", "--out", str(out), "--sandbox", "none",
        *users, "--transfer", str(world / "invoices"), "--json",
    ]  # fmt: skip
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return out, result


def run_items(out: Path, name: str, side: str) -> list[ItemRecord]:
    (folder,) = out.glob(f"runs/transfer/*{name}.json-*/invoices-*/{side}")
    return records(folder)


def test_the_skill_helps_the_user_who_fails_alike(
    evolved: tuple[Path, Result], world: Path
) -> None:
    out, result = evolved
    hasty, stubborn = json.loads(result.stdout)["transfer"]
    assert (hasty["user"], stubborn["user"]) == (user(world, "hasty"), user(world, "stubborn"))
    assert hasty["author"] == f"{AUTHOR} + {ANALYST}"
    assert (hasty["suite"], hasty["n"], hasty["invalid"]) == ("invoices", FOREIGN, 0)
    assert hasty["verdict"] == "accepted" and hasty["ci95"][0] > 0.1
    assert stubborn["verdict"] == "refused" and "no significant gain" in stubborn["reason"]
    assert stubborn["difference"] < 0.05 and 0.2 < stubborn["with"] < 0.9
    for name, row in (("hasty", hasty), ("stubborn", stubborn)):
        pair = compare_paired(run_items(out, name, "without"), run_items(out, name, "with"))
        assert (row["without"], row["with"]) == (pair.before, pair.after)
        assert tuple(row["ci95"]) == pair.ci95
        assert row["calls"] == 2 * FOREIGN
    assert json.loads((out / "evolve.json").read_text())["transfer"] == [hasty, stubborn]


def test_the_plan_is_told_before_anything_is_spent(evolved: tuple[Path, Result]) -> None:
    lines = evolved[1].stderr.splitlines()
    told = [number for number, line in enumerate(lines) if line.startswith("transfer: ")]
    spent = next(number for number, line in enumerate(lines) if line.startswith("train: "))
    plan = [lines[number] for number in told if number < spent]
    lift = detectable_lift(FOREIGN, alpha=0.025)
    assert lift is not None
    assert (
        f"detects {100 * lift:+.1f} points" in plan[0] and f"at most {2 * FOREIGN} calls" in plan[0]
    )
    assert f"at most {4 * FOREIGN} calls for transfer" in plan[-1]


def test_the_report_has_the_table(evolved: tuple[Path, Result]) -> None:
    page = (evolved[0] / "report.html").read_text()
    table = page[page.index("<h2>Transfer") : page.index("<h2>Every line")]
    assert table.count("<tr>") == 3
    assert re.findall(r'<summary class="(\w+)', table) == ["accepted", "refused"]
    assert "Simulated model." in page


def test_the_report_fits_every_screen(evolved: tuple[Path, Result]) -> None:
    examine_file(evolved[0] / "report.html", "evolution-report")


def test_a_second_run_makes_no_call(evolved: tuple[Path, Result], world: Path) -> None:
    out = evolved[0]
    before = calls_of(out)
    again = run_evolution(settings(world, out))
    assert calls_of(out) == before
    assert list(again.transfer) == json.loads(evolved[1].stdout)["transfer"]


def calls_of(out: Path) -> dict[str, Counter[tuple[str, str]]]:
    """Store -> (digest, state) -> how often."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for path in out.rglob("calls.sqlite"):
        with sqlite3.connect(path) as db:
            rows: list[tuple[str, str]] = db.execute("SELECT digest, state FROM calls").fetchall()
        db.close()
        found[str(path.relative_to(out))] = Counter(rows)
    return found


def answers(store: Path) -> int:
    """Calls of a store that may be in the making."""
    db = sqlite3.connect(store)
    try:
        ((count,),) = db.execute("SELECT count(*) FROM calls WHERE state = 'done'").fetchall()
    except sqlite3.OperationalError:
        return 0
    else:
        return int(count)
    finally:
        db.close()


@pytest.mark.slow
def test_a_killed_transfer_repeats_no_stored_call(world: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "harness", "evolve", "--suite", str(world / "orders"), "--create",
        "order-desk", "--gate", "none", "--model", AUTHOR, "--model", f"analyst={ANALYST}",
        "--out", str(out), "--sandbox", "none", "--concurrency", "2",
        "--user", user(world, "hasty"), "--transfer", str(world / "invoices"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (stores := list(out.glob("runs/transfer/*/*/without/calls.sqlite"))) or not answers(
        stores[0]
    ):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 0 < answers(stores[0]) < FOREIGN

    result = run_evolution(settings(world, out, users=(user(world, "hasty"),)))
    assert result.transfer[0]["n"] == FOREIGN
    for calls in calls_of(out).values():
        sent = Counter(name for name, _ in calls.elements())
        # What was sent twice is a call whose answer the kill lost.
        assert all(calls[name, "sent"] == 1 for name, times in sent.items() if times > 1)
        assert sum(times - 1 for times in sent.values()) <= 2


def test_a_spent_budget_stops_and_a_higher_one_goes_on(world: Path, tmp_path: Path) -> None:
    one: dict[str, Any] = {"users": (user(world, "hasty"),), "limit": 20}
    with pytest.raises(LimitReached):
        run_evolution(settings(world, tmp_path / "out", budget_calls=50, **one))
    part = sum(calls.total() for calls in calls_of(tmp_path / "out").values())
    result = run_evolution(settings(world, tmp_path / "out", **one))
    whole = sum(calls.total() for calls in calls_of(tmp_path / "out").values())
    assert part <= 50 < whole
    assert result.transfer[0]["calls"] == 2 * 20

    more = {**one, "users": (*one["users"], user(world, "stubborn"))}
    result = run_evolution(settings(world, tmp_path / "out", **more))
    assert len(result.transfer) == 2
    assert sum(calls.total() for calls in calls_of(tmp_path / "out").values()) == whole + 2 * 20


@pytest.mark.slow
def test_users_alone_run_the_tasks_of_the_gate(world: Path, tmp_path: Path) -> None:
    users = (user(world, "hasty"),)
    asked = settings(world, tmp_path / "out", users=users, transfer=(), gate="auto")
    result = run_evolution(asked)
    (row,) = result.transfer
    assert (row["suite"], row["split"], row["n"]) == ("orders", "selection", 24)


def test_transfer_alone_is_run_by_the_agents_own_model(world: Path, tmp_path: Path) -> None:
    plan = plan_evolution(settings(world, tmp_path / "out", users=(), limit=10))["transfer"]
    assert plan[0].startswith(f"{AUTHOR} on invoices (test): 10 tasks, 20 attempts")
    assert "ten points need" in plan[0]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"transfer": ()}, "give --transfer SUITE"),
        ({"users": ("simulated/nobody",)}, "no simulated profile 'nobody'"),
        ({"transfer": ("no-such-suite",)}, "no suite 'no-such-suite'"),
    ],
)
def test_what_cannot_be_run_is_found_before_a_call(
    world: Path, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    asked = settings(world, tmp_path / "out", **changed)
    with pytest.raises(BadInput, match=message):
        run_evolution(asked)
    assert calls_of(tmp_path) in ({}, {"out/calls.sqlite": Counter()})


def test_a_skill_that_learned_nothing_is_not_run(world: Path, tmp_path: Path) -> None:
    never = {"name": "never", "slip": "small", "prevalence": 0}
    flawless = tmp_path / "flawless.json"
    flawless.write_text(json.dumps({"name": "flawless", "orders": [never]}))
    models = (f"simulated/{flawless}", f"analyst={ANALYST}")
    result = run_evolution(settings(world, tmp_path / "out", models=models, signal="error"))
    assert result.edits == 0
    assert {(row["verdict"], row["reason"], row["calls"]) for row in result.transfer} == {
        ("not gated", "nothing was learned", 0)
    }
    assert not (tmp_path / "out" / "runs" / "transfer").exists()


def test_tasks_of_given_trajectories_are_left_out(
    evolved: tuple[Path, Result], world: Path, tmp_path: Path
) -> None:
    train = str(world / "orders" / "train.jsonl")
    mixed = tmp_path / "mixed"
    write_suite(mixed, {"test": [*order_tasks("train", 24), *order_tasks("invoice", 15)]})
    told: list[str] = []
    asked = settings(
        world,
        tmp_path / "out",
        suite=None,
        trajectories=evolved[0] / "runs" / "train",
        users=(user(world, "hasty"),),
        transfer=(train, str(mixed)),
    )
    result = run_evolution(asked, progress=lambda event: told.append(event.message))
    known, foreign = result.transfer
    assert (known["n"], known["calls"], known["verdict"]) == (0, 0, "not gated")
    assert known["reason"] == "all tasks of this suite taught the skill"
    assert (foreign["n"], foreign["calls"]) == (15, 2 * 15)
    assert any(line.startswith("48 tasks taught this skill and are left out") for line in told)


def test_tasks_that_taught_are_left_out(world: Path) -> None:
    plan = settings(world, world / "none", transfer=(str(world / "orders" / "train.jsonl"),))
    with pytest.raises(BadInput, match="all of its 24 tasks are among those that teach"):
        plan_evolution(plan)
    tasks = order_tasks("train", 4)
    suite = load_suite(str(world / "orders"), "train")
    # The same id with another prompt is another task.
    taught = {tasks[0].id: tasks[0].prompt, tasks[1].id: "something else"}
    left = held_out(suite, taught, 3)
    assert [task.id for task in left.tasks] == ["train-1", "train-2", "train-3"]

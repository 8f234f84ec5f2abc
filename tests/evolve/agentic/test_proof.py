"""Proofs of fixes: real workbooks, the real sandbox, the real scorers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from harness.core import Task, digest
from harness.evolve.analysts.agentic import prove, trials
from harness.evolve.analysts.agentic.trial import clean_trial, reachable, run_fix
from harness.evolve.types import Proof
from harness.sandbox import Sandbox, select
from tests.evolve.agentic.attacks import ATTACKS, knows_the_file
from tests.evolve.agentic.conftest import FAST, HONEST, price_task

Attack = Callable[[Task, Path], bytes]


def proven(script: bytes | str, task: Task, base: Path, sandbox: Sandbox) -> Proof:
    data = script if isinstance(script, bytes) else script.encode()
    return prove(data, task, base, sandbox, limits=FAST)


def test_an_honest_fix_is_proven_and_bound_to_its_bytes(tmp_path: Path, sandbox: Sandbox) -> None:
    proof = proven(HONEST, price_task(tmp_path), tmp_path, sandbox)
    assert proof.holds, proof
    assert proof.script == digest(HONEST)
    assert [run.kind for run in proof.runs] == ["clean", "predicted", "predicted", "control"]
    assert "Prices in another order" in proof.runs[2].input
    outputs = [run.output for run in proof.runs]
    assert all(len(output) == 64 for output in outputs) and len(set(outputs)) == 4


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_script_that_does_not_solve_the_task_is_not_proven(
    attack: Attack, tmp_path: Path, sandbox: Sandbox
) -> None:
    task = price_task(tmp_path)
    script = attack(task, tmp_path)
    assert run_fix(script, clean_trial(task, tmp_path), sandbox, FAST).detail == ""
    proof = proven(script, task, tmp_path, sandbox)
    assert not proof.holds
    assert proof.runs[0].passed == (attack is not knows_the_file), "its file is in other bytes"


def test_gold_cannot_be_copied(tmp_path: Path, sandbox: Sandbox) -> None:
    """By path, by link, and by a link of the output: the scorer never meets gold with gold."""
    task = price_task(tmp_path / "suite")
    gold = str(tmp_path / "suite" / "gold.xlsx")
    for line in (
        f"import shutil; shutil.copy({gold!r}, 'output.xlsx')",
        f"import os; os.symlink({gold!r}, 'output.xlsx')",
        f"import os; os.link({gold!r}, 'output.xlsx')",
        "import os; os.mkfifo('output.xlsx')",
        "import os; os.mkdir('output.xlsx')",
    ):
        proof = proven(line, task, tmp_path / "suite", sandbox)
        assert not proof.holds and proof.runs[0].output == "", line
        assert [run.kind for run in proof.runs] == ["clean"]


def test_perturbed_gold_is_out_of_reach_too(tmp_path: Path, sandbox: Sandbox) -> None:
    store = tmp_path / "store"
    store.mkdir()
    task = price_task(tmp_path)
    made = trials(task, tmp_path, store)
    golds = sorted(store.glob("*.xlsx"))
    work = tmp_path / "work"
    work.mkdir()
    assert len(golds) >= 2
    assert reachable([*golds, tmp_path / "gold.xlsx"], work, sandbox) == []
    assert all(set(trial.files) == {"input.xlsx"} for trial in made)


def test_open_gold_is_noticed(tmp_path: Path) -> None:
    gold = tmp_path / "gold.xlsx"
    gold.write_bytes(b"x")
    work = tmp_path / "work"
    work.mkdir()
    assert reachable([gold], work, select("none")) == [str(gold)]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("while True: pass", "limit"),
        ("import time; time.sleep(60)", "limit"),
        ("raise SystemExit(3)", "exit code 3"),
        ("1 / 0", "ZeroDivisionError"),
        ("print('done')", "no file output.xlsx"),
        ("open('output.xlsx', 'w').write('no workbook')", "cannot be compared"),
        ("import shutil; shutil.copy('input.xlsx', 'output.xlsx')", "cells differ"),
        ("print('x' * 10_000_000)", "limit"),
    ],
)
def test_a_script_that_fails_says_how(
    script: str, why: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    short = FAST.model_copy(update={"wall_s": 1.0, "cpu_s": 1})
    limits = short if why == "limit" else FAST
    task = price_task(tmp_path)
    proof = prove(script.encode(), task, tmp_path, sandbox, limits=limits)
    assert not proof.holds and len(proof.runs) == 1
    assert why in proof.runs[0].detail


def test_no_detail_gives_an_expected_value_away(tmp_path: Path, sandbox: Sandbox) -> None:
    wrong = HONEST.replace(b"prices[", b"3 * prices[")
    detail = proven(wrong, price_task(tmp_path), tmp_path, sandbox).runs[0].detail
    assert detail.startswith("6 cells differ: 'Orders'!B2 (value)")
    assert not any(value in detail for value in ("12.5", "48", "33.25", "120.75"))


def test_a_script_that_gives_up_on_new_names_is_found_out(tmp_path: Path, sandbox: Sandbox) -> None:
    known = HONEST.replace(
        b"prices[sheet.cell(row, 1).value]", b"prices.get(sheet.cell(row, 1).value, 0) or 12.5"
    )
    assert proven(known, price_task(tmp_path), tmp_path, sandbox).holds, "it looks up, as it should"
    table = b'{"Amber lamp": 12.5, "Birch stool": 48, "Copper pan": 33.25, "Dune rug": 120.75}'
    lines = HONEST.splitlines()
    lines[3] = b"prices = " + table
    assert not proven(b"\n".join(lines), price_task(tmp_path), tmp_path, sandbox).holds


def test_further_cases_and_variants_are_held_out_inputs(tmp_path: Path, sandbox: Sandbox) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    task = price_task(one)
    price_task(two)
    for name, changed in (("orders.xlsx", []), ("gold.xlsx", ["B3", "B7"])):
        book = openpyxl.load_workbook(two / name)
        book["Prices"]["B2"] = 77.5
        for cell in changed:
            book["Orders"][cell] = 77.5
        book.save(two / name)
    several = task.model_copy(
        update={
            "files": {"input.xlsx": "1/orders.xlsx", "input_2.xlsx": "2/orders.xlsx"},
            "answer": ["1/gold.xlsx", "2/gold.xlsx"],
        }
    )
    proof = proven(HONEST, several, tmp_path, sandbox)
    assert proof.holds and proof.runs[1].input == "case 2"
    variant = {"files": {"input.xlsx": "2/orders.xlsx"}, "answer": "2/gold.xlsx"}
    varied = task.model_copy(
        update={
            "files": {"input.xlsx": "1/orders.xlsx"},
            "answer": "1/gold.xlsx",
            "meta": {**task.meta, "variants": [variant]},
        }
    )
    proof = proven(HONEST, varied, tmp_path, sandbox)
    assert proof.holds and proof.runs[1].input == "variant 1"


def test_a_task_that_the_untouched_input_passes_cannot_be_proven(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    """Two cells of constants that no data decide: nothing distinguishes a fix from none."""
    book = openpyxl.Workbook()
    book.worksheets[0].append(["ready"])
    book.save(tmp_path / "in.xlsx")
    task = Task(
        id="idle",
        prompt="Write ready into A1.",
        files={"input.xlsx": "in.xlsx"},
        answer="in.xlsx",
        check="spreadsheet",
        meta={"answer_position": "A1"},
    )
    script = "import shutil; shutil.copy('input.xlsx', 'output.xlsx')"
    proof = proven(script, task, tmp_path, sandbox)
    assert proof.runs[0].passed and not proof.holds

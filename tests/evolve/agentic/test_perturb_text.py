"""Perturbed inputs of tasks about text, and scripts that are proven on them or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import Task
from harness.evolve.analysts.agentic import prove, trials
from harness.evolve.analysts.agentic.trial import TASK_FILE
from harness.sandbox import Sandbox
from tests.evolve.agentic.conftest import FAST

ROWS = [("Elsholm", 12), ("Corvale", 7), ("Elsholm", 31), ("Farwick", 18), ("Elsholm", 4)]
TABLE = "city,crates\n" + "".join(f"{city},{count}\n" for city, count in ROWS)
COUNT = b"print(sum(line.startswith('Elsholm') for line in open('crates.csv')))"
SUM = (
    b"rows = [line.strip().split(',') for line in open('crates.csv')][1:]\n"
    b"print(sum(int(count) for city, count in rows if city == 'Elsholm'))"
)


def table_task(base: Path, prompt: str, answer: object, check: str = "em") -> Task:
    (base / "crates.csv").write_text(TABLE)
    return Task.model_validate(
        {
            "id": "crates",
            "prompt": prompt,
            "files": {"crates.csv": "crates.csv"},
            "answer": answer,
            "check": check,
        }
    )


def test_words_of_the_answer_change_in_input_and_answer_alike(tmp_path: Path) -> None:
    prompt = "Mara Quell sold 14 boats in 2019.\nWho sold the boats?"
    task = Task(id="boats", prompt=prompt, answer=["Mara Quell", "M. Q."])
    clean, first, second = trials(task, tmp_path, tmp_path)
    assert clean.files[TASK_FILE].decode() == prompt
    for trial in (first, second):
        assert trial.kind == "predicted" and isinstance(trial.task.answer, list)
        (answer,) = trial.task.answer  # the one that did not change would let it pass
        text = trial.files[TASK_FILE].decode()
        assert isinstance(answer, str) and answer.startswith("Ma") and answer in text
        assert "Mara" not in text and text.endswith("14 boats in 2019.\nWho sold the boats?")
    assert first.task.answer != second.task.answer


def test_a_number_that_stands_in_the_input_moves_between_its_neighbours(tmp_path: Path) -> None:
    prompt = "Ovens: 1,200 in May, 1,350 in June, 900 in July.\nWhat was the highest number?"
    task = Task(id="ovens", prompt=prompt, answer=1350, check="numeric")
    _, first, second = trials(task, tmp_path, tmp_path)
    for trial in (first, second):
        assert isinstance(trial.task.answer, list)
        moved = float(str(trial.task.answer[0]))
        text = trial.files[TASK_FILE].decode()
        assert moved > 1350 and f"{moved:,.0f} in June" in text and "1,200 in May" in text


@pytest.mark.parametrize(
    ("script", "answer", "prompt"),
    [
        (COUNT, "3", "How many rows of crates.csv are from Elsholm?"),
        (SUM, "47", "How many crates came from Elsholm, by crates.csv?"),
    ],
)
def test_a_count_or_sum_is_proven_by_controls(
    script: bytes, answer: str, prompt: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    task = table_task(tmp_path, prompt, answer)
    proof = prove(script, task, tmp_path, sandbox, limits=FAST)
    assert proof.holds, proof
    assert [run.kind for run in proof.runs] == ["clean", "control", "control"]
    proof = prove(f"print({answer})".encode(), task, tmp_path, sandbox, limits=FAST)
    assert not proof.holds and proof.runs[-1].detail == "it still gives the old result"
    quits = f"import sys\nprint({answer}) if '31' in open('crates.csv').read() else None"
    assert not prove(quits.encode(), task, tmp_path, sandbox, limits=FAST).holds


@pytest.mark.parametrize("answer", ["yes", "no", "B"])
def test_what_no_input_can_tell_apart_stays_unproven(
    answer: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    task = table_task(tmp_path, "Are there more than 40 crates from Elsholm?", answer)
    proof = prove(f"print({answer!r})".encode(), task, tmp_path, sandbox, limits=FAST)
    assert proof.runs[0].passed and len(proof.runs) == 1 and not proof.holds


def test_a_check_that_is_code_has_no_perturbed_input(tmp_path: Path) -> None:
    task = table_task(tmp_path, "Count the crates.", None, "true")
    assert [trial.name for trial in trials(task, tmp_path, tmp_path)] == ["clean"]


def test_variants_of_a_question(tmp_path: Path, sandbox: Sandbox) -> None:
    task = table_task(tmp_path, "Which is the larger: 40 or 7?", "40")
    script = b"import re\nprint(max(map(int, re.findall(r'\\d+', open('task.txt').read()))))"
    rows = [
        {"prompt": "Which is the larger: 3 or 5?", "answer": "5"},
        {"prompt": "Which is the larger: 90 or 50?", "answer": "90"},
    ]
    varied = task.model_copy(update={"meta": {"variants": rows}})
    assert prove(script, varied, tmp_path, sandbox, limits=FAST).holds
    first = b"import re\nprint(re.findall(r'\\d+', open('task.txt').read())[0])"
    proof = prove(first, varied, tmp_path, sandbox, limits=FAST)
    assert proof.runs[-1].input == "variant 1" and not proof.holds

"""Comparing made and human tasks: equally many of each table, and none on both sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.synth.worth import write_arms
from examples.objectives.designs import DESIGNS
from examples.objectives.proofs import PROOFS
from harness.core import BadInput
from harness.evals import load_suite
from harness.synth.registry import suite_tasks

LETTERS = "ABCDEFGHIJ"


def questions(path: Path, heads: str = "name,team,points") -> Path:
    """Four questions on a table, one of which has two answers."""
    cells = [heads, *(f"Player {c},{'Reds' if c < 'E' else 'Blues'},{ord(c)}" for c in LETTERS)]
    rows = [
        {
            "id": f"nu-{number}", "utterance": f"what is asked in question {number}?",
            "targetValue": ["a", "b"] if number == 3 else [f"answer {number}"],
            "table_csv": "\n".join(cells) + "\n",
        }
        for number in range(4)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_both_skills_learn_from_as_many_tasks_of_a_table(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_arms(questions(tmp_path / "q.jsonl"), runs, "table", 2, 2500, "local/smollm2-135m")
    arms = {
        name: suite_tasks(str(runs / name / "suite.yaml"))
        for name in ("human", "synthesised", "held-out")
    }
    assert len(arms["human"]) == len(arms["synthesised"]) == 1  # half of those with one answer
    assert len(arms["held-out"]) == 2
    assert not {task.id for task in arms["human"]} & {task.id for task in arms["held-out"]}
    (synthetic,) = arms["synthesised"]
    assert synthetic.prompt.startswith("Text: name,team,points")
    assert synthetic.prompt.endswith("Answer:")
    assert "name,team" in str(synthetic.answer)  # the gold table as text
    assert load_suite(str(runs / "held-out" / "suite.yaml")).suite.agent == "graph:answer"


def test_tables_that_give_no_task_are_named(tmp_path: Path) -> None:
    path = questions(tmp_path / "q.jsonl", "name,name,points")
    with pytest.raises(BadInput, match="makes no task of the kind 'table'"):
        write_arms(path, tmp_path / "runs", "table", 2, 2500, "local/smollm2-135m")


def test_every_design_that_was_tried_is_one_of_a_proof() -> None:
    assert {*DESIGNS} <= {*PROOFS}

"""Loaders of math problems and of questions about tables, on rows of their published shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from harness.core import BadInput, Task
from harness.corpora import convert, last_box

FRAME = (
    "Solve the following math problem step by step. End with Answer: $Answer\n\n{}\n\n"
    "Remember to put your answer on its own line."
)


def converted(folder: Path, name: str, rows: list[dict[str, Any]]) -> list[Task]:
    source = folder / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return convert(name, source, folder / "out")


@pytest.mark.parametrize(
    ("name", "row", "prompt", "answer"),
    [
        ("gsm8k", {"question": "How many?", "answer": "2+2=4\n#### 1,004"}, "How many?", "1004"),
        ("gsm8k", {"question": "How many?", "ground_truth": "so\nA: 7"}, "How many?", "7"),
        ("math", {"problem": "P", "solution": r"so $\boxed{\frac{1}{2}}$", "type": "Algebra"}, "P",
         r"\frac{1}{2}"),
        ("math", {"problem": "P", "solution": r"so $x = \boxed 5$."}, "P", "5"),
        ("math", {"problem": "P", "answer": "3", "solution": "", "subject": "A", "level": 2}, "P",
         "3"),
        ("aime", {"Problem": "P", "Answer": "045", "Year": 2026}, "P", "45"),
        ("aime", {"problem": "P", "answer": 27.0, "contest": "amc23"}, "P", "27"),
        ("dapo-math", {"prompt": "P\n\nmore", "solution": "34"}, "P\n\nmore", "34"),
        ("dapo-math", {"prompt": [{"role": "user", "content": FRAME.format("P\n\nmore")}],
                       "reward_model": {"ground_truth": "34"}}, "P\n\nmore", "34"),
    ],
)  # fmt: skip
def test_problems(name: str, row: dict[str, Any], prompt: str, answer: str, tmp_path: Path) -> None:
    (task,) = converted(tmp_path, name, [row])
    assert (task.prompt, task.answer, task.check) == (prompt, answer, "math")


def test_repeated_problems_of_dapo_are_one(tmp_path: Path) -> None:
    rows = [{"prompt": FRAME.format(p), "solution": "1"} for p in ("a", "b", "a", "a")]
    assert [task.prompt for task in converted(tmp_path, "dapo-math", rows)] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gsm8k", {"question": "Q", "answer": "no result"}),
        ("math", {"problem": "P", "solution": "no box"}),
        ("aime", {"problem": "P", "answer": "x"}),
        ("dapo-math", {"prompt": "", "solution": "1"}),
        ("wikitablequestions", {"id": "1", "utterance": "", "targetValue": [], "table_csv": "a"}),
        ("hitab", {"id": "1", "table_id": "../x", "question": "q", "answer": [1]}),
    ],
)  # fmt: skip
def test_rows_of_another_form_are_bad_input(name: str, row: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        converted(tmp_path, name, [row])


def test_boxes() -> None:
    assert last_box(r"\boxed{1} then \boxed{\frac{2}{3}}.") == r"\frac{2}{3}"
    assert last_box(r"\framebox{204}") == "204"
    assert last_box(r"\boxed{open") is None
    assert last_box(r"\boxed{1} and then \boxed{open") == "1"
    assert last_box(r"\boxed{\{1, 2\}}, \fbox {\left\{ 3 \right.}") == r"\left\{ 3 \right."
    assert last_box("so $x = \\boxed 5$, \\boxed \n") == "5"
    assert last_box(r"\[ \boxed \frac{1}{2} \]") == r"\frac{1}{2}"
    assert last_box(r"\boxed{7}, as \boxed demands") == "7"
    assert last_box("none") is None


def test_hostile_boxes_take_no_time() -> None:
    for text in ("\\boxed{" * 50_000, "\\boxed a" + " " * 200_000, "\\boxed " * 50_000):
        assert last_box(text) in (None, "a", ("\\boxed " * 49_999).strip())


def test_wikitablequestions_as_published(tmp_path: Path) -> None:
    for folder in ("data", "csv", "tagged/data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "csv" / "1.csv").write_text(
        '"Title","Year"\n"\\"Yes\\", she\\\nsaid","1974"\n"=1+1",""\n'
    )
    (tmp_path / "data" / "dev.tsv").write_text(
        "id\tutterance\tcontext\ttargetValue\nnu-1\twhich?\tcsv/1.csv\ta\\pb|c\\nd\n"
    )
    (tmp_path / "tagged" / "data" / "dev.tagged").write_text("id\ttargetCanon\nnu-1\ta\\pb|3.0\n")
    (task,) = convert("wikitablequestions", tmp_path / "data" / "dev.tsv", tmp_path / "out")
    assert task.answer == ["a|b", "c\nd"]
    assert task.meta == {"metric": "denotation", "canonical": ["a|b", "3.0"]}
    sheet: Any = load_workbook(tmp_path / "out" / task.files["input.xlsx"])["Table"]
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [
        ["Title", "Year"], ['"Yes", she\nsaid', 1974], ["=1+1", None],
    ]  # fmt: skip
    assert sheet["A3"].data_type == "s"


def test_hitab_as_published(tmp_path: Path) -> None:
    (tmp_path / "tables" / "raw").mkdir(parents=True)
    table = {
        "title": "budget of 2017",
        "texts": [["", "total", ""], ["", "men", "women"], ["north", "11.1", "9"]],
        "merged_regions": [{"first_row": 0, "last_row": 0, "first_column": 1, "last_column": 2}],
    }
    (tmp_path / "tables" / "raw" / "7.json").write_text(json.dumps(table))
    row = {"id": "x", "table_id": "7", "question": "how many?", "answer": [11.1, 154983.0]}
    (tmp_path / "dev_samples.jsonl").write_text(json.dumps(row) + "\n")
    (task,) = convert("hitab", tmp_path / "dev_samples.jsonl", tmp_path / "out")
    assert (task.answer, task.meta["metric"]) == (["11.1", "154983"], "ordered")
    sheet: Any = load_workbook(tmp_path / "out" / task.files["input.xlsx"])["Table"]
    assert sheet["A1"].value == "budget of 2017"
    assert [str(area) for area in sheet.merged_cells.ranges] == ["B2:C2"]
    assert sheet["B4"].value == 11.1


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"gsm8k.*hitab"):
        convert("nothing", tmp_path, tmp_path)

"""The vqa family and the loaders, on small sets in the published forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from harness.core import BadInput, Task, read_models
from harness.tasks import family
from harness.vision.corpora import VISUAL_LOADERS, convert_visual, load_questions

SETS: dict[str, tuple[Any, list[str], list[str]]] = {
    "docvqa": (
        {"data": [{"questionId": 7, "question": "Who?", "image": "documents/p1.png",
                   "answers": ["ITC Ltd", "itc ltd", "ITC Ltd"]}]},
        ["documents/p1.png"], ["ITC Ltd", "itc ltd"],
    ),
    "infographicvqa": (
        {"data": [{"questionId": 9, "question": "How many?", "image_local_name": "1.jpeg",
                   "answers": ["3"]}]},
        ["images/1.jpeg"], ["3"],
    ),
    "textvqa": (
        {"data": [{"question_id": 3, "question": "Sign?", "image_id": "ab",
                   "answers": ["stop"] * 10}]},
        ["train_images/ab.jpg"], ["stop"] * 10,
    ),
    "chartqa": (
        [{"imgname": "x.png", "query": "Highest?", "label": "12"}], ["png/x.png"], ["12"],
    ),
    "tabmwp": (
        {"41": {"question": "Total?", "choices": None, "answer": "1,200", "unit": "$"}},
        ["tables/41.png"], ["1,200"],
    ),
    "mathvista": (
        {"5": {"pid": "5", "question": "Even?", "choices": ["Yes", "No"], "answer": "No",
               "question_type": "multi_choice", "answer_type": "text", "precision": None,
               "image": "images/5.jpg"}},
        ["images/5.jpg"], ["No"],
    ),
    "scienceqa": (
        {"1": {"question": "Which?", "choices": ["a fern", "a moss"], "answer": 1, "hint": "Look.",
               "image": "image.png", "split": "test", "subject": "biology"},
         "2": {"question": "No image", "choices": ["x"], "answer": 0, "image": None}},
        ["images/test/1/image.png"], ["B"],
    ),
    "sroie": (
        [{"id": "003", "key": {"total": "9.00", "date": "1/2/2018"}}], ["img/003.jpg"],
        ['{"total": "9.00", "date": "1/2/2018"}'],
    ),
}  # fmt: skip
RIGHT = {
    "docvqa": "ITC  ltd.", "infographicvqa": "3", "textvqa": "STOP", "chartqa": "12.3",
    "tabmwp": "The answer is $1,200.", "mathvista": "B", "scienceqa": "The answer is B.",
    "sroie": '{"total": "9.00", "date": "1/2/2018"}',
}  # fmt: skip
WRONG = {
    "docvqa": "IBM", "infographicvqa": "14", "textvqa": "go", "chartqa": "14",
    "tabmwp": "1,300", "mathvista": "A", "scienceqa": "A",
    "sroie": '{"total": "9.10", "date": "1/2/2018"}',
}  # fmt: skip


def _published(name: str, folder: Path) -> Path:
    rows, images, _ = SETS[name]
    for image in images:
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), "white").save(folder / image)
    (folder / "set.json").write_text(json.dumps(rows))
    return folder / "set.json"


@pytest.mark.parametrize("name", VISUAL_LOADERS)
def test_a_published_set_becomes_tasks_that_can_be_judged(name: str, tmp_path: Path) -> None:
    tasks = convert_visual(name, _published(name, tmp_path), tmp_path / "out")
    assert tasks == read_models(tmp_path / "out" / "test.jsonl", Task)
    (task,) = tasks
    assert task.answer == SETS[name][2]
    work = tmp_path / "work"
    work.mkdir()
    judged = family(task)
    prompt = judged.prepare(task, tmp_path / "out", work)
    (seen,) = work.iterdir()
    assert f"Files: {seen.name}" in prompt
    assert judged.score(task, tmp_path, work, RIGHT[name]).outcome == "pass"
    assert judged.score(task, tmp_path, work, WRONG[name]).outcome == "fail"
    assert judged.score(task, tmp_path, work, " ").outcome == "fail"


def test_choices_and_units_stand_in_the_prompt(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (science,) = convert_visual(
        "scienceqa", _published("scienceqa", tmp_path / "s"), tmp_path / "a"
    )
    prompt = family(science).prepare(science, tmp_path / "a", work)
    assert "Look.\nWhich?\nA. a fern\nB. a moss\nFiles: image.png" in prompt
    (tabular,) = convert_visual("tabmwp", _published("tabmwp", tmp_path / "t"), tmp_path / "b")
    assert "Unit: $" in family(tabular).prepare(tabular, tmp_path / "b", work)


def test_partial_fields_have_a_value(tmp_path: Path) -> None:
    (task,) = convert_visual("sroie", _published("sroie", tmp_path), tmp_path / "out")
    score = family(task).score(task, tmp_path, tmp_path, WRONG["sroie"])
    assert score.value == 0.5
    assert score.detail["fields"] == {"total": False, "date": True}


def test_what_cannot_be_judged_is_refused_before_a_call(tmp_path: Path) -> None:
    for meta in ({"metric": "magic"}, {"metric": "choice"}, {"metric": "fields"}):
        task = Task(id="x", prompt="?", answer="not json", check="vqa", meta={**meta})
        with pytest.raises(BadInput, match="'x'"):
            family(task).prepare(task, tmp_path, tmp_path)


def test_loaders_name_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no loader"):
        load_questions("vqa", tmp_path)
    (tmp_path / "a.json").write_text('[{"imgname": "gone.png", "query": "?", "label": 1}]')
    with pytest.raises(BadInput, match=r"png/gone\.png"):
        list(load_questions("chartqa", tmp_path / "a.json"))
    (tmp_path / "b.json").write_text('[{"x": 1}]')
    with pytest.raises(BadInput, match="record 0: expected a record of DocVQA"):
        list(load_questions("docvqa", tmp_path / "b.json"))
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(BadInput, match="not JSON"):
        list(load_questions("tabmwp", tmp_path / "c.json"))


@pytest.mark.parametrize(
    ("name", "file", "count"),
    [
        ("chartqa", "vqa_chartqa", 92),
        ("tabmwp", "vqa_tabmwp", 53),
        ("mathvista", "vqa_mathvista_textmode", 212),
        ("sroie", "vqa_sroie_receipts", 15),
    ],
)
def test_real_rows_are_read(shared: Path, name: str, file: str, count: int) -> None:
    questions = list(load_questions(name, shared / "data" / "dev" / f"{file}.jsonl"))
    assert len(questions) == count
    assert len({one.id for one in questions}) == count
    assert all(one.images for one in questions) or name == "mathvista"

"""Questions about tables: denotations, ordered lists, and answers in a sheet."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from pydantic import JsonValue

from harness.core import BadInput, Task, read_models
from harness.corpora import convert
from harness.tasks import family
from harness.tasks.tableqa import (
    item_of,
    judge_items,
    normalised,
    same_denotation,
    same_list,
    uncited,
)

HERE = Path()
DENOTED: list[tuple[list[str], list[str], bool]] = [
    # numbers: within 1e-6, whatever they look like
    (["1974"], ["1974.0"], True), (["1974"], ["1975"], False), (["0.5"], [".5"], True),
    (["3"], ["3.0000004"], True), (["3"], ["3.00001"], False), (["-2"], ["\u22122"], True),
    (["2,400"], ["2400"], False), (["2,400"], ["2,400"], True), (["$1,500"], ["1500"], False),
    (["4"], ["four"], False), (["10 days"], ["10"], False), (["1e3"], ["1000"], True),
    (["nan"], ["NaN"], True), (["nan"], ["1"], False),
    # texts
    (["Real Zaragoza"], ["real  zaragoza."], True), (["Beyonc\u00e9"], ["Beyonce"], True),
    (["Saracens(RU)"], ["Saracens"], False), (["Saracens (RU)"], ["Saracens"], True),
    (["John \u2018Tune\u2019 Kristiansen"], ["John 'Tune' Kristiansen"], True),
    (['"Say Yes"'], ["Say Yes"], True), (["Italy[1]"], ["Italy"], True),
    (["Rome\u2020"], ["Rome"], True), (["Lightship"], ["Lightship X"], False),
    (["1990\u20131991"], ["1990-1991"], True), (["yes"], ["no"], False),
    # dates
    (["1795-02-xx"], ["xxxx-2-xx"], False), (["2010-01-02"], ["2010-1-2"], True),
    (["2010-13-02"], ["2010-13-02"], True), (["2010-xx-xx"], ["2010"], True),
    # sets
    (["Italy", "Russia"], ["Russia", "Italy"], True), (["Italy", "Russia"], ["Italy"], False),
    (["Italy"], ["Italy", "Russia"], False), (["Italy", "Italy"], ["Italy"], True),
    (["3"], ["3", "3.0"], True), (["a", "b"], ["a", "a"], False), (["a"], [], False),
]  # fmt: skip
LISTED = [
    (["0.876264"], ["0.87626"], True), (["0.876264"], ["87.6264"], False),
    (["154983"], ["$154,983"], True), (["11.1"], ["11.1%"], True), (["5"], ["(5)"], True),
    (["a", "b"], ["a", "b"], True), (["a", "b"], ["b", "a"], False),
    (["Black Male"], ["black male"], True),
    (["3"], ["three"], False), (["1", "2"], ["1"], False),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "same"), DENOTED)
def test_denotations(gold: list[str], answer: list[str], same: bool) -> None:
    assert same_denotation([item_of(x) for x in gold], [item_of(x) for x in answer]) is same


def test_canonical_forms_help_the_gold() -> None:
    meta: dict[str, JsonValue] = {"canonical": ["1795-02-xx"]}
    task = Task(id="t", prompt="when", answer=["February 1795"], check="tableqa", meta=meta)
    assert judge_items(task, ["1795-02-xx"]).outcome == "pass"
    assert judge_items(task, ["february 1795"]).outcome == "pass"
    assert judge_items(task, ["1795"]).outcome == "fail"
    wrong = task.model_copy(update={"meta": {"canonical": ["a", "b"]}})
    with pytest.raises(BadInput, match="canonical"):
        judge_items(wrong, ["x"])


@pytest.mark.parametrize(("gold", "answer", "same"), LISTED)
def test_ordered_lists(gold: list[str], answer: list[str], same: bool) -> None:
    assert same_list(gold, answer) is same


def test_citations_are_cut_as_the_evaluator_cuts_them() -> None:
    cut = re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[\u2022\u2666\u2020\u2021*#+])*$")
    rng = random.Random(7)
    for _ in range(3000):
        text = "".join(rng.choice("a1[]*+ ") for _ in range(rng.randrange(12))).strip()
        assert uncited(text) == cut.sub("", text), repr(text)


def test_hostile_texts_take_no_time() -> None:
    for text in ("[" * 100_000, " (" * 100_000, "*" * 100_000, '"' * 100_001, "[1]" * 40_000):
        assert same_denotation([item_of("3")], [item_of(text)]) is False
        assert same_list(["3"], [text]) is False
    assert normalised("") == ""


def answered(folder: Path, *values: Any, sheet: str = "Answer") -> Path:
    """`output.xlsx` with these values in column A."""
    book = Workbook()
    page: Any = book.create_sheet(sheet)
    for row, value in enumerate(values, 1):
        page.cell(row, 1).value = value
    book.save(folder / "output.xlsx")
    return folder


def question(**meta: JsonValue) -> Task:
    return Task(
        id="t", prompt="which years?", answer=["1974", "1975"], check="tableqa",
        files={"input.xlsx": "t.xlsx"}, meta=meta,
    )  # fmt: skip


def test_answers_are_read_from_the_sheet(tmp_path: Path) -> None:
    task = question()
    judge = family(task)
    assert "no output file" in judge.score(task, HERE, tmp_path, "1974").reason
    right = judge.score(task, HERE, answered(tmp_path, 1975, None, 1974.0), None)
    assert (right.outcome, right.detail) == ("pass", {"items": 2})
    assert judge.score(task, HERE, answered(tmp_path, "1975"), None).outcome == "fail"
    assert "no sheet" in judge.score(task, HERE, answered(tmp_path, 1, sheet="B"), None).reason
    assert "no value" in judge.score(task, HERE, answered(tmp_path, "=1+1"), None).reason
    (tmp_path / "output.xlsx").write_bytes(b"no workbook")
    assert "cannot be read" in judge.score(task, HERE, tmp_path, None).reason


def test_answers_may_be_lines_of_the_reply(tmp_path: Path) -> None:
    task = question(form="reply")
    assert family(task).score(task, HERE, tmp_path, "1975\n1974\n").outcome == "pass"
    assert family(task).score(task, HERE, tmp_path, " ").outcome == "fail"


def test_prompts(tmp_path: Path) -> None:
    answered(tmp_path, 1)
    (tmp_path / "output.xlsx").rename(tmp_path / "t.xlsx")
    for form, wanted in (("workbook", "`Answer`"), ("reply", "Reply with the answer alone")):
        work = tmp_path / form
        work.mkdir()
        task = question(form=form, metric="ordered")
        prompt = family(task).prepare(task, tmp_path, work)
        assert wanted in prompt and task.prompt in prompt and "in the order" in prompt
        assert (work / "input.xlsx").is_file()
    with pytest.raises(BadInput, match="metric"):
        family(task).prepare(question(metric="bleu"), tmp_path, tmp_path)
    with pytest.raises(BadInput, match="'canonical' with 2 items"):
        family(task).prepare(question(canonical=["1974"]), tmp_path, tmp_path)


def test_every_real_answer_is_right_and_those_of_others_are_not(
    shared: Path, tmp_path: Path
) -> None:
    rows = shared / "data" / "dev" / "wikitablequestions.jsonl"
    convert("wikitablequestions", rows, tmp_path)
    tasks = list(read_models(tmp_path / "test.jsonl", Task))
    assert len(tasks) > 100
    golds = [[str(one) for one in json.loads(json.dumps(task.answer))] for task in tasks]
    for task, gold in zip(tasks, golds, strict=True):
        assert judge_items(task, gold).outcome == "pass", task
        assert judge_items(task, [*gold, "and more"]).outcome == "fail", task
    pairs = zip(tasks, golds[1:] + golds[:1], golds, strict=True)
    crossed = [judge_items(task, other).outcome for task, other, own in pairs if other != own]
    assert crossed.count("pass") == 0
    book: Any = load_workbook(tmp_path / tasks[0].files["input.xlsx"])
    assert book.sheetnames == ["Table"]
    assert isinstance(book["Table"]["A2"].value, int)

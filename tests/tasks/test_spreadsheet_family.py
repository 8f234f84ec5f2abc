"""The spreadsheet family, from prompt to score."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core import BadInput, Task, read_models
from harness.sandbox import select
from harness.tasks import SpreadsheetFamily, family, find_soffice, recalculate
from tests.tasks.workbook_files import write_workbook

needs_soffice = pytest.mark.skipif(find_soffice() is None, reason="LibreOffice is not installed")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path / "suite"
    write_workbook(base / "in.xlsx", {"Data": [["n", "twice"], [2], [3]], "Other": [["x"]]})
    write_workbook(base / "gold.xlsx", {"Data": [["n", "twice"], [2, 4], [3, 6]]})
    (tmp_path / "work").mkdir()
    return base


@pytest.fixture
def work(base: Path) -> Path:
    return base.parent / "work"


def _task(**changes: JsonValue) -> Task:
    row: dict[str, JsonValue] = {
        "id": "double",
        "prompt": "Double column A into column B.",
        "files": {"input.xlsx": "in.xlsx"},
        "answer": "gold.xlsx",
        "check": "spreadsheet",
        "meta": {"answer_position": "'Data'!B2:B3", "instruction_type": "Cell-Level Manipulation"},
    }
    return Task.model_validate({**row, **changes})


def test_the_prompt_tells_what_is_needed_and_the_gold_stays_out(base: Path, work: Path) -> None:
    prompt = family(_task()).prepare(_task(), base, work)
    wanted = ("Double column A", "output.xlsx", "input.xlsx", "'Data'!B2:B3", "n | twice", "Cell-L")
    assert [word for word in wanted if word not in prompt] == []
    assert [one.name for one in work.iterdir()] == ["input.xlsx"]
    assert "gold" not in prompt


@pytest.mark.parametrize(
    ("rows", "outcome"), [([[2, 4], [3, 6]], "pass"), ([[2, 4], [3, 7]], "fail")]
)
def test_values_are_scored_and_need_no_recalculation(
    base: Path, work: Path, rows: list[list[str | int | float | bool | None]], outcome: str
) -> None:
    write_workbook(work / "output.xlsx", {"Data": [["n", "twice"], *rows]})
    score = family(_task()).score(_task(), base, work, None)
    assert score.outcome == outcome
    assert score.detail["with_recalc"] == score.detail["without_recalc"] == (outcome == "pass")
    assert "no formula is judged" in score.reason


@needs_soffice
@pytest.mark.parametrize("confined", [False, True])
def test_formulas_count_after_recalculation_only(base: Path, work: Path, confined: bool) -> None:
    write_workbook(work / "output.xlsx", {"Data": [["n", "twice"], [2, "=A2*2"], [3, "=A3*2"]]})
    sandbox = select("auto") if confined else None
    score = SpreadsheetFamily(sandbox).score(_task(), base, work, None)
    assert score.outcome == "pass", score.reason
    assert (score.detail["with_recalc"], score.detail["without_recalc"]) == (True, False)
    assert score.detail["counted"] == "with_recalc"
    assert "(recalculated)" in score.reason


def test_without_libreoffice_the_stored_values_count_and_it_is_said(
    base: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(base))
    write_workbook(work / "output.xlsx", {"Data": [["n", "twice"], [2, "=A2*2"], [3, 6]]})
    score = family(_task()).score(_task(), base, work, None)
    assert score.outcome == "fail"
    assert (score.detail["with_recalc"], score.detail["counted"]) == (None, "without_recalc")
    assert "not installed" in score.reason
    assert recalculate([work / "output.xlsx"], work / "out") == {}


@needs_soffice
def test_a_file_that_cannot_be_opened_does_not_spoil_its_batch(tmp_path: Path) -> None:
    good = [
        write_workbook(tmp_path / name / "same.xlsx", {"S": [[n, "=A1+1"]]})
        for n, name in enumerate(["a", "b"])
    ]
    bad = tmp_path / "bad.xlsx"
    bad.write_text("nonsense")
    made = recalculate([good[0], bad, good[1]], tmp_path / "out", 60)
    assert list(made) == good
    gold = write_workbook(tmp_path / "gold.xlsx", {"S": [[1, 2]]})
    assert (
        SpreadsheetFamily()
        .score(
            _task(
                answer=str(gold), meta={"answer_position": "A1:B1"}, files={"input.xlsx": str(gold)}
            ),
            tmp_path,
            _as_output(made[good[1]], tmp_path / "w"),
            None,
        )
        .detail["without_recalc"]
    )


def _as_output(path: Path, folder: Path) -> Path:
    folder.mkdir()
    shutil.copy(path, folder / "output.xlsx")
    return folder


def test_no_output_is_wrong_not_invalid(base: Path, work: Path) -> None:
    score = family(_task()).score(_task(), base, work, "done")
    assert score.outcome == "fail"
    assert "no output file" in score.reason


def test_an_output_that_is_a_link_to_the_gold_does_not_pass(base: Path, work: Path) -> None:
    (work / "output.xlsx").symlink_to(base / "gold.xlsx")
    assert family(_task()).score(_task(), base, work, None).outcome == "fail"


def test_an_unreadable_output_is_wrong_with_its_reason(base: Path, work: Path) -> None:
    (work / "output.xlsx").write_text("nonsense")
    score = family(_task()).score(_task(), base, work, None)
    assert score.outcome == "fail"
    assert "no readable .xlsx" in score.reason


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "none.xlsx"}, "golden workbook"),
        ({"answer": None}, "golden workbook"),
        ({"answer": "text.xlsx"}, "no readable .xlsx"),
        ({"answer": "formulas.xlsx"}, "formulas without stored values"),
        ({"files": {"input.xlsx": "none.xlsx"}}, "'input.xlsx'"),
        ({"files": {"input.xlsx": "text.xlsx"}}, "no readable .xlsx"),
        ({"files": {"data.xlsx": "in.xlsx"}}, "expected 'input.xlsx'"),
        ({"meta": {}}, "answer_position"),
        ({"meta": {"answer_position": "somewhere"}}, "cell ranges"),
    ],
)
def test_a_task_that_cannot_be_used_is_refused_before_the_agent_runs(
    base: Path, work: Path, changes: dict[str, JsonValue], message: str
) -> None:
    (base / "text.xlsx").write_text("nonsense")
    write_workbook(base / "formulas.xlsx", {"Data": [["n", "x"], [2, "=A2*2"], [3, "=A3*2"]]})
    task = _task(**changes)
    with pytest.raises(BadInput, match=message) as caught:
        family(task).prepare(task, base, work)
    assert "'double'" in str(caught.value)


def test_several_test_cases_make_a_soft_value_and_a_hard_outcome(base: Path, work: Path) -> None:
    write_workbook(base / "gold2.xlsx", {"Data": [["n", "twice"], [5, 10], [3, 6]]})
    task = _task(
        files={"input.xlsx": "in.xlsx", "input_2.xlsx": "in.xlsx"},
        answer=["gold.xlsx", "gold2.xlsx"],
    )
    prompt = family(task).prepare(task, base, work)
    assert "output_2.xlsx" in prompt
    shutil.copy(base / "gold.xlsx", work / "output.xlsx")
    score = family(task).score(task, base, work, None)
    assert (score.outcome, score.value) == ("fail", 0.5)
    shutil.copy(base / "gold2.xlsx", work / "output_2.xlsx")
    assert family(task).score(task, base, work, None).outcome == "pass"


def test_known_bad_items_say_so_in_the_result(base: Path, work: Path) -> None:
    task = _task(meta={"answer_position": "A1", "known_bad": "because"})
    assert family(task).score(task, base, work, None).detail["known_bad"] == "because"


def test_the_ledger_sample_gold_passes_and_input_fails(repository: Path, tmp_path: Path) -> None:
    base = repository / "corpora" / "ledger" / "sample"
    for task in read_models(base / "train.jsonl", Task):
        assert isinstance(task.answer, str)
        judge, work = family(task), tmp_path / task.id
        work.mkdir()
        judge.prepare(task, base, work)
        shutil.copy(work / "input.xlsx", work / "output.xlsx")
        assert judge.score(task, base, work, None).outcome == "fail", task.id
        shutil.copy(base / task.answer, work / "output.xlsx")
        assert judge.score(task, base, work, None).outcome == "pass", task.id

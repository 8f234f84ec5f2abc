"""The spreadsheet family, from prompt to score."""

from __future__ import annotations

import shutil
import socket
import zipfile
from pathlib import Path

import pytest
from openpyxl import load_workbook
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
    wanted = ("Double column A", "output.xlsx", "input.xlsx")
    wanted += ("'Data'!B2:B3", "A1: n | B1: twice", "Cell-L")
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


_DRAWN = (
    '<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{r}">'
    "<xdr:oneCellAnchor><xdr:from><xdr:col>1</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>1"
    '</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:ext cx="952500" cy="952500"/><xdr:pic>'
    '<xdr:nvPicPr><xdr:cNvPr id="1" name="p"/><xdr:cNvPicPr/></xdr:nvPicPr><xdr:blipFill>'
    '<a:blip r:link="rId1"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill><xdr:spPr>'
    '<a:prstGeom prst="rect"/></xdr:spPr></xdr:pic><xdr:clientData/></xdr:oneCellAnchor></xdr:wsDr>'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _with_linked_picture(path: Path, url: str) -> Path:
    """A workbook with a formula, a web service and a picture that lies at `url`."""
    plain = write_workbook(path, {"S": [[1, "=A1+1", f'=_xlfn.WEBSERVICE("{url}")']]})
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    relation = '<Relationships xmlns="{}"><Relationship Id="rId1" Type="{}/{}" {}/></Relationships>'
    with zipfile.ZipFile(plain) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet, folder = "xl/worksheets/sheet1.xml", "xl/drawings/"
    drawing = f'<drawing xmlns:r="{_OFFICE}" r:id="rId1"/></worksheet>'
    parts[sheet] = parts[sheet].replace("</worksheet>", drawing)
    kind = "application/vnd.openxmlformats-officedocument.drawing+xml"
    override = f'<Override PartName="/{folder}drawing1.xml" ContentType="{kind}"/></Types>'
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace("</Types>", override)
    parts["xl/worksheets/_rels/sheet1.xml.rels"] = relation.format(
        relations, _OFFICE, "drawing", f'Target="/{folder}drawing1.xml"'
    )
    parts[f"{folder}_rels/drawing1.xml.rels"] = relation.format(
        relations, _OFFICE, "image", f'Target="{url}/p.png" TargetMode="External"'
    )
    parts[f"{folder}drawing1.xml"] = _DRAWN.format(r=_OFFICE)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


@needs_soffice
@pytest.mark.parametrize("sandbox", ["none", "auto"])
def test_recalculating_asks_no_address_that_a_workbook_names(tmp_path: Path, sandbox: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        book = _with_linked_picture(tmp_path / "hostile.xlsx", url)
        made = recalculate([book], tmp_path / "out", 60, select(sandbox))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert load_workbook(made[book], data_only=True)["S"]["B1"].value == 2

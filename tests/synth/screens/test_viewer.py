"""A document viewer: a question on a PDF answered by finding, turning pages and zooming."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest

from examples.screens import plan_act_reflect
from examples.screens.environments import Action, Agent
from examples.screens.viewer import SHOWN, Viewer
from harness.core import BadInput
from lab.corpora.folio.canvas import pdf_file
from lab.worlds.models import FunctionModel
from tests.synth.cases import acts, run

pytest.importorskip("pypdfium2")
Image = pytest.importorskip("PIL.Image")

FILLER = [
    f"Line {n} of the minutes has nothing that anybody would want to look up." for n in range(40)
]
PAGES = [
    ["Contents", "Harbour dues . . . 3"],
    ["Minutes", *FILLER],
    ["Harbour dues", *FILLER[:36], "A barge pays 17 crowns."],
]


def document(path: Path, pages: list[list[str]], turned: int = 0) -> Path:
    """A PDF with lines of text from the top of each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -18 Td" for line in lines)
        stream = f"BT /F1 10 Tf 50 780 Td {shown} ET".encode()
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate {turned} "
            f"/Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream",
        ]
    path.write_bytes(pdf_file(objects))
    return path


@pytest.fixture
def viewer(tmp_path: Path) -> Viewer:
    return Viewer(document(tmp_path / "dues.pdf", PAGES))


SCRIPT = ["Page (2)", "Page (2)", "Find (harbour  DUES)", "Zoom (bottom)", "Stop"]


@pytest.mark.parametrize("pictures", [False, True])
def test_a_value_at_the_foot_of_a_page_is_read(viewer: Viewer, pictures: bool) -> None:
    keep = ("A barge pays 17 crowns.", "A barge pays 17 crowns.")
    sees = FunctionModel(acts(SCRIPT, wrong="Minutes", keep=keep))
    planner = FunctionModel(lambda m, s: "done so far")  # pyright: ignore[reportUnknownLambdaType]  # a model of one line
    agent = Agent(viewer, sees, planner, pictures=pictures)
    given: Any = {"instruction": "What does a barge pay?"}
    # The second page is wrong and taken back twice; only then the words are looked for.
    end = run(plan_act_reflect.graph.ainvoke(given, context=agent))
    assert (end["end"], end["history"]) == ("stopped", [f"do {step}" for step in SCRIPT[2:4]])
    assert end["world"] == [[1, "", ""], [3, "", "harbour dues"], [3, "bottom", "harbour dues"]]
    assert end["screen"].splitlines()[0] == "dues.pdf, page 3 of 3, bottom"
    assert end["memory"] == []  # stopped before it was noted down, but it is to be read
    assert "A barge pays 17 crowns." in end["screen"]
    contents = [request[-1]["content"] for request in sees.requests]
    assert all(isinstance(content, list) is pictures for content in contents)
    if pictures:
        judged = [content for content in contents if "Result: " in content[0]["text"]]
        assert [len(content) for content in judged] == [3] * 4  # before and after
        _, before, after = judged[-1]
        assert before != after
        url = after["image_url"]["url"].removeprefix("data:image/png;base64,")
        size = Image.open(io.BytesIO(base64.b64decode(url))).size
        assert size[0] > size[1]  # the lower half of an upright page
        assert size[0] * size[1] <= 1_010_000


def go(viewer: Viewer, name: str, argument: str = "") -> str:
    viewer.act(Action(name=name, argument=argument))
    return viewer.observe()


def test_a_long_page_is_shown_in_part_and_zooming_shows_the_rest(viewer: Viewer) -> None:
    whole = go(viewer, "Page", "3")
    assert whole.endswith("(there is more: zoom)")
    assert "barge" not in whole
    assert len(whole) < SHOWN + 100
    assert "barge" in go(viewer, "Zoom", "bottom left")
    assert "barge" not in go(viewer, "Zoom", "top")
    assert go(viewer, "Zoom", "page") == whole


def test_words_are_shown_where_they_stand(viewer: Viewer) -> None:
    screen = go(viewer, "Find", "barge pays")
    assert "'barge pays' is on the pages 3" in screen
    assert "\n… " in screen
    assert "A barge pays 17 crowns." in screen
    assert "page 1 of 3" in go(viewer, "Find", "harbour dues")  # round from the last page
    assert "page 3 of 3" in go(viewer, "Find", "harbour dues")


@pytest.mark.parametrize(
    ("name", "argument"),
    [("Page", "4"), ("Page", "0"), ("Page", "two"), ("Page", "1"), ("Find", "lighthouse"),
     ("Find", ""), ("Zoom", "middle"), ("Zoom", "page"), ("Back", "")],
)  # fmt: skip
def test_what_leads_nowhere_is_no_step(viewer: Viewer, name: str, argument: str) -> None:
    before = viewer.observe()
    assert go(viewer, name, argument) == before
    assert viewer.save() == [[1, "", ""]]


def test_back_leads_through_all_screens(viewer: Viewer) -> None:
    screens = [viewer.observe(), go(viewer, "Page", "2"), go(viewer, "Zoom", "top")]
    assert [go(viewer, "Back"), go(viewer, "Back")] == screens[1::-1]


def test_a_turned_page_keeps_its_text_in_every_part(tmp_path: Path) -> None:
    viewer = Viewer(document(tmp_path / "turned.pdf", [["Upright words"]], turned=90))
    assert "Upright words" in go(viewer, "Zoom", "bottom right")
    picture = Image.open(io.BytesIO(viewer.picture()))
    assert picture.size[0] > picture.size[1]


def test_a_page_without_text_says_so(tmp_path: Path) -> None:
    viewer = Viewer(document(tmp_path / "scan.pdf", [[]]))
    assert viewer.observe().endswith("(no text: it is a picture)")


def test_what_is_no_document(tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    with pytest.raises(BadInput, match=r"x\.pdf"):
        Viewer(path)
    path.write_bytes(b"%PDF-nothing")
    with pytest.raises(BadInput, match=r"x\.pdf"):
        Viewer(path)

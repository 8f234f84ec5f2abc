"""HTML, PDF and office files, made here and read back."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.rag.retrieve import Document
from harness.rag.retrieve.parse import ParseOptions, parse_bytes, parse_file
from harness.rag.retrieve.parse.html import parse_html

PAGE = """<!doctype html><html lang="de-AT"><head><title>Pump  guide</title>
<style>p {color: red}</style></head><body><nav>Home</nav>
<h1>Pumps <em>and</em> seals</h1><p>Check the <b>oil</b> daily.<br>Then weekly.</p>
<div>Loose text<p>inner</p>after</div>
<h2>Costs</h2><table><tr><th>Part</th><th>Price</th></tr><tr><td>Seal</td><td>12</td></tr></table>
<pre>line 1
  line 2</pre><script>alert(1)</script></body></html>"""


def one(name: str, data: bytes) -> Document:
    [found] = parse_bytes(name, data)
    return found


def saved(file: Any) -> bytes:
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def test_html_gives_what_a_reader_sees() -> None:
    found = one("page.html", PAGE.encode())
    assert found.text == (
        "Pumps and seals\n\nCheck the oil daily.\nThen weekly.\n\nLoose text\n\ninner\n\n"
        "after\n\nCosts\n\nPart | Price\nSeal | 12\n\nline 1\n  line 2"
    )
    assert found.metadata == {"title": "Pump guide", "language": "de"}
    assert found.headings_at(found.text.index("Seal |")) == (
        "Pumps and seals",
        "Costs",
        "Part | Price",
    )
    assert found.warnings == ("left out menus of 1 words",)


def test_deep_html_does_not_exhaust_the_stack() -> None:
    found = one("deep.html", b"<html>" + b"<div>" * 5000 + b"bottom" + b"</div>" * 5000)
    assert found.text == "bottom"


@pytest.mark.parametrize(
    "opening", ["<div>", "<ul><li>", "<DIV\nid='<'>", "<div/>", "<span>", "<a-b>"]
)
def test_the_parser_of_html_is_given_no_deep_page(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lexbor = import_module("selectolax.lexbor")
    parse, trees = lexbor.LexborHTMLParser, list[Any]()

    def parse_and_keep(text: str) -> Any:
        trees.append(parse(text))
        return trees[-1]

    monkeypatch.setattr(lexbor, "LexborHTMLParser", parse_and_keep)
    levels = "".join(f"{opening}<p>word {number}" for number in range(2000))
    found = one("deep.html", f"<p>top{levels}<p>bottom".encode())
    words = [word for number in range(2000) for word in ("word", str(number))]
    assert found.text.split() == ["top", *words, "bottom"]
    deepest, node = 0, trees[0].css("p")[-1]
    while node is not None:
        deepest, node = deepest + 1, node.parent
    assert deepest < 1100


def test_word_files_have_headings_and_tables() -> None:
    file = import_module("docx").Document()
    file.core_properties.title = "Report"
    file.add_heading("Results", level=1)
    file.add_paragraph("Sales rose by 4 percent.")
    table = file.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Region", "Sales", "North", "17"], strict=True):
        cell.text = text
    file.add_heading("Outlook", level=2)
    file.add_paragraph("Stable.")
    found = one("report.docx", saved(file))
    assert found.text == (
        "Results\n\nSales rose by 4 percent.\n\nRegion | Sales\nNorth | 17\n\nOutlook\n\nStable."
    )
    assert found.headings_at(found.text.index("Stable")) == ("Results", "Outlook")
    assert found.metadata["title"] == "Report"


def test_slides_are_pages_with_notes() -> None:
    file = import_module("pptx").Presentation()
    for title, body in (("Aim", "Fewer faults"), ("Plan", "Test daily")):
        slide = file.slides.add_slide(file.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    file.slides[1].notes_slide.notes_text_frame.text = "Ask Kim."
    found = one("talk.pptx", saved(file))
    assert found.text == "Aim\n\nFewer faults\n\nPlan\n\nTest daily\n\nAsk Kim."
    assert [found.page_at(found.text.index(word)) for word in ("Fewer", "Test", "Kim")] == [1, 2, 2]
    assert found.headings_at(found.text.index("Kim")) == ("Plan",)


def test_sheets_and_columns_head_their_rows() -> None:
    book = import_module("openpyxl").Workbook()
    book.active.title = "Stock"
    for row in (["part", "count"], ["bolt", 12], [None, None], ["nut", 7]):
        book.active.append(row)
    book.create_sheet("Empty")
    found = one("stock.xlsx", saved(book))
    assert found.text == "Stock\n\npart | count\nbolt | 12\nnut | 7\n\nEmpty"
    assert found.headings_at(found.text.index("nut")) == ("Stock", "part | count")
    assert found.metadata["sheets"] == ["Stock", "Empty"]


def pdf(*pages: str, outline: str = "", encrypt: bool = False) -> bytes:
    """A small PDF, one line of text a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    after = 4 + 2 * len(pages)
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {f'/Outlines {after} 0 R' if outline else ''} >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    }
    for number, text in enumerate(pages):
        shown = f"BT /F1 18 Tf 72 700 Td ({text}) Tj ET" if text else ""
        at = 4 + 2 * number
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {at + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[at + 1] = f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream"
    if outline:
        objects[after] = f"<< /Type /Outlines /First {after + 1} 0 R /Last {after + 1} 0 R >>"
        last = 4 + 2 * (len(pages) - 1)
        objects[after + 1] = f"<< /Title ({outline}) /Parent {after} 0 R /Dest [{last} 0 R /Fit] >>"
    out, places = b"%PDF-1.7\n", list[int]()
    for number, body in sorted(objects.items()):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    key = ""
    if encrypt:
        key = (
            "/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + "41" * 32 + "> /U <"
            + "42" * 32 + "> >> /ID [<00> <00>]"
        )  # fmt: skip
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {key} >>"
    tail = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}\n"
    return out + tail.encode() + f"startxref\n{len(out)}\n%%EOF\n".encode()


def test_pdf_text_stands_on_pages_under_bookmarks() -> None:
    found = one("a.pdf", pdf("First page.", "Chapter Two: valves.", outline="chapter two"))
    assert found.text == "First page.\n\nChapter Two: valves."
    assert found.page_at(0) == 1
    valves = found.text.index("valves")
    assert found.page_at(valves) == 2
    assert found.headings_at(valves) == ("chapter two",)
    assert found.metadata["pages"] == 2


def test_pdf_pages_without_text_are_named() -> None:
    found = one("a.pdf", pdf("First page.", "", "Third."))
    assert found.warnings == ("no text layer on pages 2: --ocr reads them",)
    assert [found.page_at(found.text.index(word)) for word in ("First", "Third")] == [1, 3]
    with pytest.raises(BadInput, match=r"no text layer \(1 pages.*--ocr"):
        one("scan.pdf", pdf(""))


def test_an_encrypted_pdf_says_so() -> None:
    with pytest.raises(BadInput, match=r"'a.pdf' is encrypted: save it without a password"):
        one("a.pdf", pdf("Secret.", encrypt=True))


@pytest.mark.slow
def test_a_scan_is_recognised(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    image, draw = import_module("PIL.Image"), import_module("PIL.ImageDraw")
    font = import_module("PIL.ImageFont").load_default(size=60)
    sheet = image.new("RGB", (1200, 400), "white")
    draw.Draw(sheet).text((60, 120), "Invoice total 4711", fill="black", font=font)
    path = tmp_path / "scan.pdf"
    sheet.save(path)
    with pytest.raises(BadInput, match="no text layer"):
        parse_file(path)
    [found] = parse_file(path, ParseOptions(ocr=True))
    assert "4711" in found.text
    assert found.warnings == ("recognised optically: pages 1",)


def test_tables_within_tables_are_read_once() -> None:
    """Each level was read again by the one above it: a page of 60 levels took minutes."""
    cell = "<table><tr><td>a</td><td>b</td></tr></table>"
    page = f"<table><tr><th>K</th><td>{cell}</td></tr></table>"
    assert parse_html("page", page).text.split() == ["K", "|", "a", "b"]
    deep = "<table><tr><td>x" * 60 + "</td></tr></table>" * 60
    assert parse_html("page", deep).text.split() == ["x"] * 60

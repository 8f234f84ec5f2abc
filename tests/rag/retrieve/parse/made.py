"""Files of many kinds and producers that say the same, made on the fly."""

from __future__ import annotations

import io
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

WORDS = (
    "harbour", "kiln", "orchard", "viaduct", "tannery", "foundry", "weir", "granary", "quarry",
    "cannery",
)  # fmt: skip


class Story(NamedTuple):
    """A text with a table; numbers differ from story to story."""

    place: str
    number: int

    @property
    def sentences(self) -> list[str]:
        """Two sentences that a reader must find whole."""
        return [
            f"The {self.place} handled {4120 + self.number:,} crates in May and closed in autumn.",
            f"A licence for the {self.place} costs {self.number + 88}.50 euros a year.",
        ]

    @property
    def table(self) -> list[list[str]]:
        """Labels in the first row and column."""
        rows = [["Depot", "2023", "2024"]]
        names = (f"{self.place.title()} North", f"{self.place.title()} South", "Ash & Co.")
        return rows + [
            [name, str(310 + 7 * n + self.number), str(905 + 13 * n + self.number)]
            for n, name in enumerate(names)
        ]


STORIES = [Story(word, 11 * number) for number, word in enumerate(WORDS)]


def saved(file: Any) -> bytes:
    """The bytes of a file of python-docx, python-pptx or openpyxl."""
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def rewritten(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """A zip file with every member changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", 8) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return out.getvalue()


def word(*body: str) -> bytes:
    """A Word file of paragraphs in WordprocessingML."""
    file = import_module("docx").Document()
    xml: Any = import_module("docx.oxml")
    names = {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    }
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in names.items())
    for part in body:
        file.element.body.insert(-1, xml.parse_xml(part.replace(">", f" {spaces}>", 1)))
    return saved(file)


def run(text: str, style: str = "") -> str:
    """A run of Word, with properties."""
    shown = f'<w:t xml:space="preserve">{escape(text)}</w:t>'
    return f"<w:r><w:rPr>{style}</w:rPr>{shown}</w:r>"


def paragraph(*runs: str) -> str:
    """A paragraph of Word."""
    return f"<w:p>{''.join(runs)}</w:p>"


def _docx(story: Story) -> Any:
    file = import_module("docx").Document()
    file.add_heading(f"On the {story.place}", level=1)
    for sentence in story.sentences:
        file.add_paragraph(sentence)
    table = file.add_table(rows=4, cols=3)
    for cell, text in zip(table._cells, chain(*story.table), strict=True):
        cell.text = text
    return file


def tracked(story: Story) -> bytes:
    """Half of every sentence inserted, half of it moved, other words deleted."""
    lines: list[str] = []
    for sentence in story.sentences:
        half = len(sentence) // 2
        gone = run("9,999 mules ").replace("w:t>", "w:delText>").replace("<w:t ", "<w:delText ")
        lines.append(
            paragraph(
                f'<w:ins w:id="1" w:author="R">{run(sentence[:half])}</w:ins>',
                f'<w:del w:id="2" w:author="R">{gone}</w:del>',
                f'<w:moveFrom w:id="3" w:author="R">{run("8,888 mules ")}</w:moveFrom>',
                f'<w:moveTo w:id="4" w:author="R">{run(sentence[half:])}</w:moveTo>',
            )
        )
    return word(*lines)


def boxed(story: Story) -> bytes:
    """Sentences in text boxes, as Word writes them: once as a shape, once for older readers."""
    boxes: list[str] = []
    for sentence in story.sentences:
        box = f"<w:txbxContent>{paragraph(run(sentence))}</w:txbxContent>"
        shape = f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing>'
        old = f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
        boxes.append(
            paragraph(
                f"<w:r><mc:AlternateContent>{shape}</mc:Choice>{old}</mc:AlternateContent></w:r>"
            )
        )
    return word(*boxes)


def nested(story: Story) -> bytes:
    """The table in a cell of another one."""
    file = import_module("docx").Document()
    for sentence in story.sentences:
        file.add_paragraph(sentence)
    outer = file.add_table(rows=1, cols=2)
    outer.cell(0, 0).text = "Details"
    inner = outer.cell(0, 1).add_table(rows=4, cols=3)
    for cell, text in zip(inner._cells, chain(*story.table), strict=True):
        cell.text = text
    return saved(file)


def _strict(name: str, data: bytes) -> bytes:
    if not name.endswith((".xml", ".rels")) or name == "[Content_Types].xml":
        return data
    kinds = (
        rb"http://schemas\.openxmlformats\.org/(wordprocessingml|officeDocument|drawingml)/2006/"
    )
    return re.sub(kinds, rb"http://purl.oclc.org/ooxml/\1/", data)


def _book(story: Story) -> Any:
    book = import_module("openpyxl").Workbook()
    sheet = book.active
    for sentence in story.sentences:
        sheet.append([sentence])
    sheet.append([])
    for row in story.table:
        sheet.append([int(cell) if cell.isdigit() else cell for cell in row])
    return book


def no_size(name: str, data: bytes) -> bytes:
    """A sheet that says that it has a single cell."""
    return re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1"', data)


def _xlsxwriter(story: Story) -> bytes:
    buffer = io.BytesIO()
    book = import_module("xlsxwriter").Workbook(buffer, {"in_memory": True})
    sheet = book.add_worksheet("Numbers")
    for number, sentence in enumerate(story.sentences):
        sheet.write(number, 0, sentence)
    grouped = book.add_format({"num_format": "#,##0.00"})
    for number, row in enumerate(story.table, start=4):
        for column, cell in enumerate(row, start=2):
            plain = (number, column, float(cell), grouped) if number > 4 and column > 2 else ()
            sheet.write(*plain) if plain else sheet.write(number, column, cell)
    book.close()
    return buffer.getvalue()


def delimited(
    story: Story, mark: str, encoding: str, *, first: str = "", decimal: str = ""
) -> bytes:
    """The table, quoted where it must be."""
    rows = [[cell + decimal * (cell.isdigit() and n > 0) for cell in row]
            for n, row in enumerate(story.table)]  # fmt: skip
    rows[1][0] = rows[1][0].replace("h", "hä", 1) if encoding == "cp1252" else rows[1][0]
    lines = [mark.join(f'"{cell}"' if mark in cell else cell for cell in row) for row in rows]
    return (first + "\r\n".join(lines) + "\r\n").encode(encoding)


def html(story: Story) -> bytes:
    """A page with what no reader sees, and menus, in front."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}<script>var x = 7</script></td>' for cell in row)}</tr>"
        for row in story.table
    )
    hidden = (
        '<nav>Home 77777</nav><div style="display:none">Old: 66666</div>'
        "<ix:header>55555</ix:header><p class='off'>44444</p>"
    )
    text = "".join(f"<p>{sentence}</p>" for sentence in story.sentences)
    style = "<style>.off {display: none} td {padding: 4px 30px}</style>"
    body = f"{hidden}<h1>On the {story.place}</h1>{text}<table>{rows}</table>"
    return f"<html><head>{style}</head><body>{body}</body></html>".encode()


def slides(story: Story) -> bytes:
    """Sentences in a text and in notes, the table as a table."""
    file = import_module("pptx").Presentation()
    slide = file.slides.add_slide(file.slide_layouts[5])
    slide.shapes.title.text = f"On the {story.place}"
    box = slide.shapes.add_textbox(0, 2_000_000, 5_000_000, 900_000)
    box.text_frame.text = story.sentences[0]
    slide.notes_slide.notes_text_frame.text = story.sentences[1]
    table = slide.shapes.add_table(4, 3, 0, 3_000_000, 6_000_000, 900_000).table
    for row, texts in zip(table.rows, story.table, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return saved(file)


QUICK: dict[str, Callable[[Story], bytes]] = {
    "plain.docx": lambda story: saved(_docx(story)),
    "tracked.docx": tracked,
    "boxed.docx": boxed,
    "nested.docx": nested,
    "strict.docx": lambda story: rewritten(saved(_docx(story)), _strict),
    "plain.xlsx": lambda story: saved(_book(story)),
    "no_size.xlsx": lambda story: rewritten(saved(_book(story)), no_size),
    "writer.xlsx": _xlsxwriter,
    "comma.csv": lambda story: delimited(story, ",", "utf-8"),
    "decimal.csv": lambda story: delimited(story, ";", "utf-8-sig", decimal=",5"),
    "marked.csv": lambda story: delimited(story, ";", "utf-8", first="sep=;\r\n"),
    "wide.csv": lambda story: delimited(story, "\t", "utf-16"),
    "western.csv": lambda story: delimited(story, ";", "cp1252"),
    "page.html": html,
    "talk.pptx": slides,
}


def converted(stories: list[Story], folder: Path) -> Iterator[tuple[Story, Path]]:
    """The stories as LibreOffice writes sheets."""
    for story in stories:
        (folder / f"{story.place}.xlsx").write_bytes(saved(_book(story)))
    office = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless"]
    for kind in ("ods", "xlsx"):
        out = folder / kind
        sheets = [str(folder / f"{story.place}.xlsx") for story in stories]
        subprocess.run([*office, "--convert-to", kind, "--outdir", str(out), *sheets],
                       check=True, capture_output=True, timeout=300)  # fmt: skip
        for story in stories:
            yield story, out / f"{story.place}.{kind}"

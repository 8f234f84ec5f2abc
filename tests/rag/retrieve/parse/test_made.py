"""Every sentence and cell of files by many producers is found, and none altered."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from harness.rag.retrieve import Document, parse_bytes, parse_file
from tests.rag.retrieve.parse.made import QUICK, STORIES, Story, converted


def plain(cell: str) -> str:
    """A cell without the number format that some producers give it."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", cell.strip()).removesuffix(".00").removesuffix(",5")


def faults(document: Document, story: Story, kind: str) -> list[str]:
    """What a file of that kind should say and does not, and the other way round."""
    text = " ".join(document.text.split())
    lines = [line.split(" | ") for line in document.text.splitlines()]
    missing = [
        sentence for sentence in story.sentences if sentence not in text and kind[-3:] != "csv"
    ]
    missing += [
        mark for mark in ("mules", "77777", "66666", "55555", "44444", "var x") if mark in text
    ]
    if kind in ("tracked.docx", "boxed.docx"):
        return missing
    for number, row in enumerate(story.table):
        cells = [plain(cell) for cell in row]
        near = [[plain(cell) for cell in line] for line in lines]
        if kind == "nested.docx":
            near = [[cell for cell in cells if cell in text]]
        if kind == "western.csv" and number == 1:
            cells[0] = cells[0].replace("h", "hä", 1)
        if cells not in near:
            missing.append(" | ".join(row))
    return missing


@pytest.mark.parametrize("kind", QUICK)
@pytest.mark.parametrize("story", [STORIES[0], STORIES[7]], ids=lambda story: story.place)
def test_sentences_and_cells_are_found_whole(kind: str, story: Story) -> None:
    [document] = parse_bytes(kind, QUICK[kind](story))
    assert faults(document, story, kind) == []


def test_a_text_of_opendocument_is_read_with_its_table() -> None:
    cells = "".join(
        f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
        for text in ("Jute", "1,240")
    )
    body = (
        "<office:body><office:text><text:tracked-changes><text:p>gone</text:p>"
        "</text:tracked-changes><text:h>Ropes</text:h><text:p>Sold<text:s/>by weight.</text:p>"
        f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
        "</office:text></office:body>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", f"<office:document-content>{body}")
    [document] = parse_bytes("ropes.odt", buffer.getvalue())
    assert document.text == "Ropes\n\nSold by weight.\n\nJute | 1,240"


@pytest.mark.full
def test_all_stories_by_all_producers(tmp_path: Path) -> None:
    made = [(story, kind, make(story)) for story in STORIES for kind, make in QUICK.items()]
    found = [(story, kind, parse_bytes(kind, data)[0]) for story, kind, data in made]
    found += [
        (story, path.name, parse_file(path)[0]) for story, path in converted(STORIES, tmp_path)
    ]
    assert len(found) >= 150
    wrong = {
        f"{kind} of {story.place}": fault
        for story, kind, document in found
        if (fault := faults(document, story, kind))
    }
    assert wrong == {}

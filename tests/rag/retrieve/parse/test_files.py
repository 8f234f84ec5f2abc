"""Paths, and files that are no documents."""

from __future__ import annotations

import io
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.rag.retrieve import ParseOptions, parse_file, parse_paths
from tests.rag.retrieve.parse.test_rich import pdf


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
BAD = {
    "nothing.md": (b"", "'.*nothing.md' is empty"),
    "blank.txt": (b" \n\t\n", "is empty"),
    "program.txt": (b"\x7fELF\x02\x01\x00\x00", "is a binary file"),
    "photo.png": (b"\x89PNG\r\n\x1a\n\0\0\0\r", "is a binary file"),
    "files.zip": (zipped("a.txt", "b.txt"), "archive of 2 files: unpack"),
    "torn.docx": (zipped("word/document.xml")[:40], "damaged zip or office file"),
    "empty.docx": (zipped("word/document.xml"), "damaged docx file"),
    "empty.pptx": (zipped("ppt/presentation.xml"), "damaged pptx file"),
    "empty.xlsx": (zipped("xl/workbook.xml"), "damaged xlsx file"),
    "old.doc": (OLE, "from before 2007.*soffice"),
    "secret.docx": (OLE + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
    "torn.pdf": (b"%PDF-1.7\nnothing else", "damaged pdf file"),
    "blank.html": (b"<html><body><script>x()</script></body></html>", "shows no text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_document_says_what_it_is(tmp_path: Path, name: str) -> None:
    data, message = BAD[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput, match=message):
        parse_paths([tmp_path / name])


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as sparse:
        sparse.truncate(1_000_000_000)
    with pytest.raises(BadInput, match=r"1,000 MB, the limit is 200 MB: split it, or raise"):
        parse_file(path)
    path.write_text("small " * 100)
    with pytest.raises(BadInput, match="the limit is 0 MB"):
        parse_file(path, ParseOptions(max_bytes=100))


def test_a_folder_passes_over_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.txt").write_text("hidden")
    (tmp_path / "sub" / "b.txt").write_text("Second.")
    (tmp_path / "a.md").write_text("First.")
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    found = parse_paths([tmp_path])
    assert [document.text for document in found.documents] == ["First.", "Second."]
    assert [Path(one.path).name for one in found.passed_over] == ["c.bin"]
    assert "binary" in found.passed_over[0].reason
    assert parse_paths([tmp_path, tmp_path / "a.md"]).documents == found.documents


def damaged(kind: str) -> bytes:
    """A file that opens, and whose inner part is no good."""
    if kind == "pdf":
        return pdf("Sales rose").replace(b"/Kids [4 0 R]", b"/Kids [9 0 R]")
    if kind == "xlsx":
        book, part = import_module("openpyxl").Workbook(), "xl/workbook.xml"
        book.active.append(["bolt"])
    else:
        book, part = import_module("docx").Document(), "word/document.xml"
        book.add_paragraph("Sales rose.")
    buffer, broken = io.BytesIO(), io.BytesIO()
    book.save(buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(broken, "w") as new:
        fresh = b"<x/>" if kind == "docx" else b"<x"
        for name in old.namelist():
            new.writestr(name, fresh if name == part else old.read(name))
    return broken.getvalue()


@pytest.mark.parametrize("kind", ["pdf", "docx", "xlsx"])
def test_a_damaged_file_is_passed_over_named_and_counted(tmp_path: Path, kind: str) -> None:
    good, bad = tmp_path / "a.md", tmp_path / f"bad.{kind}"
    good.write_text("First.")
    bad.write_bytes(damaged(kind))
    for paths in ([tmp_path], [good, bad], [bad, good]):
        parsed = parse_paths(paths)
        assert [document.text for document in parsed.documents] == ["First."]
        assert parsed.notes[1].startswith("1 file was passed over")
        assert f"bad.{kind}' is a damaged {kind} file" in parsed.notes[0]
        with pytest.raises(BadInput, match=f"damaged {kind} file"):
            parse_paths(paths, ParseOptions(strict=True))
    with pytest.raises(BadInput, match=f"^'.*bad.{kind}' is a damaged {kind} file"):
        parse_paths([bad])


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(300_000_000))
    (tmp_path / "bomb.docx").write_bytes(buffer.getvalue())
    with pytest.raises(BadInput, match="unpacks to 300 MB, the limit is 200 MB"):
        parse_paths([tmp_path / "bomb.docx"])


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="found nothing at"):
        parse_paths([tmp_path / "nowhere"])
    with pytest.raises(BadInput, match="no document in"):
        parse_paths([tmp_path])
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    with pytest.raises(BadInput, match=r"1 files could not be read; the first: .*binary"):
        parse_paths([tmp_path])


def test_docling_is_an_extra(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("First.")
    with pytest.raises(BadInput, match="pip install docling"):
        parse_file(tmp_path / "a.md", ParseOptions(parser="docling"))

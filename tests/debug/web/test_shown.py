"""The page's view of a state besides texts: images and cells; safely, and nothing else."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from langchain_core.messages import HumanMessage

from harness.core import BadInput
from harness.debug.terminal import short
from harness.debug.web.values import sheets, tree

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.mark.parametrize(
    "value",
    [
        URL,
        PNG,
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "data": base64.b64encode(PNG).decode()}},
    ],
)
def test_images_of_every_form_are_shown(value: Any) -> None:
    shown = tree(value)
    assert (shown["kind"], shown["src"], shown["size"]) == ("image", URL, len(PNG))
    (part,) = tree(HumanMessage([value] if isinstance(value, dict) else [URL]))["content"]["items"]  # pyright: ignore[reportUnknownArgumentType]  # any part of a message
    assert part["kind"] == "image"


@pytest.mark.parametrize(
    "value",
    [
        "data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=",
        "data:image/png;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
        "data:text/html;base64,PHNjcmlwdD4=",
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        b"<svg onload=alert(1)>",
    ],
)
def test_what_only_says_that_it_is_an_image_is_none(value: Any) -> None:
    assert tree(value)["kind"] in ("text", "map", "bytes")


def test_large_images_are_named_only() -> None:
    shown = tree(PNG + bytes(1_100_000))
    assert (shown["kind"], shown["src"]) == ("image", None)


def test_a_terminal_names_images_in_place_of_their_bytes() -> None:
    assert short({"image": URL}) == f'{{"image": "<image/png, {len(PNG)} bytes>"}}'


def test_cells_are_a_table() -> None:
    shown = tree({"A1": "name", "B1": "sum", "A2": "x", "B2": 3})
    assert shown["columns"] == ["A", "B"]
    assert shown["rows"] == [[1, "name", "sum"], [2, "x", "3"]]
    listed = tree([{"cell": "$C$3", "value": 1}, {"cell": "C10", "value": None}])
    assert listed["rows"] == [[3, "1"], [10, ""]]
    assert tree({"Q1": 5, "Q2": 6})["kind"] == "map"
    assert tree([{"cell": "C3"}])["kind"] == "list"


def test_a_workbook_is_read_from_the_folders_of_the_session_only(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["a", 1])
    book.save(folder / "out.xlsx")
    book.save(tmp_path / "secret.xlsx")
    (found,) = sheets("out.xlsx", [folder])
    assert found["rows"] == [[1, "a", "1"]]
    (folder / "bad.xlsx").write_bytes(b"no")
    (folder / "link.xlsx").symlink_to(tmp_path / "secret.xlsx")
    for name in ("../secret.xlsx", "link.xlsx", str(tmp_path / "secret.xlsx"), "/etc/passwd"):
        with pytest.raises(BadInput, match=r"expected a workbook"):
            sheets(name, [folder])
    with pytest.raises(BadInput):
        sheets("bad.xlsx", [folder])

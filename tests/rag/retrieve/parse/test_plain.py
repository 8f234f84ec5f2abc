"""Text, Markdown, comma-separated files and JSON lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput
from harness.rag.retrieve import Document, Heading
from harness.rag.retrieve.parse import ParseOptions, parse_bytes

MARKDOWN = """\
# Pumps

Intro.

Maintenance
-----------

```
# not a heading
```

### Seals ###

Replace them yearly.

- item
---
## Costs
"""


def one(name: str, data: bytes | str, options: ParseOptions | None = None) -> Document:
    raw = data.encode() if isinstance(data, str) else data
    [found] = parse_bytes(name, raw, options or ParseOptions())
    return found


def test_markdown_keeps_its_characters_and_has_an_outline() -> None:
    found = one("pumps.md", MARKDOWN)
    assert found.text == MARKDOWN
    assert [(level, title) for _, level, title in found.headings] == [
        (1, "Pumps"),
        (2, "Maintenance"),
        (3, "Seals"),
        (2, "Costs"),
    ]
    for heading in found.headings:
        assert found.text[heading.start :].lstrip("# ").startswith(heading.title)
    place = found.text.index("Replace")
    assert found.headings_at(place) == ("Pumps", "Maintenance", "Seals")
    assert found.headings_at(len(MARKDOWN)) == ("Pumps", "Costs")
    assert found.metadata["title"] == "Pumps"


@given(st.text(alphabet="#=- \n`~ab|.", max_size=80))
def test_headings_of_any_markdown_stand_where_they_say(text: str) -> None:
    if not text.strip():
        return
    found = one("any.md", text)
    assert found.text == text
    starts = [heading.start for heading in found.headings]
    assert starts == sorted(starts)
    for heading in found.headings:
        assert heading.title in text[heading.start :]


def test_column_names_are_the_heading_of_every_row() -> None:
    found = one("stock.csv", "part;count\nbolt;12\nnut;7\n")
    assert found.text == "part | count\nbolt | 12\nnut | 7"
    assert found.headings[0] == Heading(0, 7, "part | count")
    assert found.metadata["columns"] == ["part", "count"]


def test_rows_of_json_lines_are_documents() -> None:
    rows = [{"id": "a", "text": "First.", "year": 1999}, {"text": "Second.", "title": "Two"}]
    data = "\n".join(map(json.dumps, rows)).encode()
    found = parse_bytes("set.jsonl", data)
    assert [(each.id, each.text) for each in found] == [
        ("set.jsonl#a", "First."),
        ("set.jsonl#2", "Second."),
    ]
    assert found[0].metadata == {"year": 1999}
    assert one("log.jsonl", '{"message": "no text here"}').text == '{"message": "no text here"}'
    assert one("half.jsonl", '{"text": "a\\ud800"}').text == "a\ufffd", "what no index can store"
    with pytest.raises(BadInput, match=r"set.jsonl:2: a second row named 'set.jsonl#a'"):
        parse_bytes("set.jsonl", b'{"id":"a","text":"x"}\n{"id":"a","text":"y"}')
    with pytest.raises(BadInput, match=r"set.jsonl:1: expected a JSON object"):
        parse_bytes("set.jsonl", b"{half")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_need_no_guess(encoding: str) -> None:
    found = one("note.txt", "Größe: 3 µm, 東京".encode(encoding))
    assert (found.text, found.warnings) == ("Größe: 3 µm, 東京", ())


def test_another_encoding_is_guessed_with_a_warning_or_taken_as_named() -> None:
    text = "Die Prüfung der Wärmeübertragung ergab für jede Größe gleiche Werte. " * 4
    guessed = one("note.txt", text.encode("cp1252"))
    assert guessed.text == text
    assert "not UTF-8" in guessed.warnings[0]
    named = one("note.txt", text.encode("cp1252"), ParseOptions(encoding="cp1252"))
    assert (named.text, named.warnings) == (text, ())
    with pytest.raises(BadInput, match=r"'note.txt' is not ascii text.*position"):
        one("note.txt", text, ParseOptions(encoding="ascii"))
    with pytest.raises(BadInput, match="unknown encoding 'cp9999'"):
        one("note.txt", text, ParseOptions(encoding="cp9999"))


def test_a_notebook_is_its_cells_with_what_they_printed() -> None:
    written = ["# Keys\n", "\n", "| Key | Action |\n", "|-|-|\n", "| Ctrl-l | Clear |"]
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": written},
        {"cell_type": "code", "source": ["1 + 1"], "outputs": [
            {"output_type": "execute_result", "data": {"image/png": "iVBO", "text/plain": ["2"]}},
            {"output_type": "stream", "text": ["done\n"]}, {"output_type": "error", "ename": "E"}]},
        {"cell_type": "code", "source": "", "outputs": []},
    ]  # fmt: skip
    document = one("keys.ipynb", json.dumps({"cells": cells, "nbformat": 4}))
    table, code = document.text.split("\n\n```", 1)
    assert table == "# Keys\n\n| Key | Action |\n|-|-|\n| Ctrl-l | Clear |"
    assert code == "\n1 + 1\n```\n\n```\n2\n```\n\n```\ndone\n```"
    assert document.headings_at(document.text.index("Ctrl-l")) == ("Keys", "Key | Action")
    assert not document.warnings


@pytest.mark.parametrize("text", ['{"cells": [{}]}', '{"cells": 3}', "[1]", "{torn", '"cells"'])
def test_what_is_no_notebook_stays_as_it_is(text: str) -> None:
    document = one("a.ipynb", text)
    assert document.text == text
    assert document.warnings[0].startswith("read as plain text")

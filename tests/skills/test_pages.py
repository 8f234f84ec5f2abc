"""A skill as pages show it: Markdown as HTML that does nothing, in blocks that one edit wrote."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core import Edit, Patch
from harness.skills import (
    apply_patch,
    markdown_blocks,
    new_skill,
    provenance_of,
    shown_blocks,
)

TEXT = """# Title

- first **bold**
- second

  with more

3. third

```python
print("<b>")
```

| a | b |
|---|---|
| 1 | 2 |
"""


def test_every_item_is_a_block_with_its_lines() -> None:
    blocks = markdown_blocks(TEXT)
    assert [(block.first, block.last) for block in blocks] == [
        (1, 1), (3, 3), (4, 6), (8, 8), (10, 12), (14, 16),
    ]  # fmt: skip
    heading, first, second, third, fence, table = (block.html for block in blocks)
    assert heading == "<h4>Title</h4>"
    assert first == "<ul>\n<li>\n<p>first <strong>bold</strong></p>\n</li>\n</ul>"
    assert "with more" in second
    assert third.startswith('<ol start="3">')
    assert "print(&quot;&lt;b&gt;&quot;)" in fence
    assert table.startswith("<table>")


def test_headings_go_down_by_one_level() -> None:
    html = [block.html for block in markdown_blocks("### Deep\n\n# High\n\n###### Deepest\n")]
    assert html == ["<h4>Deep</h4>", "<h4>High</h4>", "<h5>Deepest</h5>"]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[go](javascript:alert(1))",
        "![see](https://example.com/pixel.png)",
        "<https://example.com><iframe src=x>",
        '[x](https://example.com "a" onclick=alert(1))',
        "`</code><script>`",
    ],
)
def test_nothing_in_it_runs_or_is_fetched(text: str) -> None:
    (block,) = markdown_blocks(text)
    for tag in ("<script", "<img", "<iframe", 'href="javascript', "onclick=alert(1)>"):
        assert tag not in block.html


def blocks_of(*edits: Edit) -> list[tuple[str, Any]]:
    start = new_skill("short", "Says how.", "\n# Short\n\n## How\n\nOld line.\n")
    result = apply_patch(start, Patch(edits=edits))
    shown = shown_blocks(provenance_of(result, start), result.skill)
    return [(block.text, block.edit and block.edit.support) for block in shown]


def rule(content: str, support: int) -> Edit:
    sources = tuple(str(number) for number in range(support))
    return Edit(
        file="SKILL.md", op="append_to_section", target_section="## How",
        content=content, sources=sources, support=support,
    )  # fmt: skip


def test_a_block_names_the_edit_that_wrote_it() -> None:
    blocks = blocks_of(rule("- One.\n- Two.", 3), rule("- Three.", 2))
    assert blocks[0][0].startswith("---\nname:")
    assert blocks[-3:] == [("- One.", 3), ("- Two.", 3), ("- Three.", 2)]


def test_what_two_edits_wrote_in_one_block_is_shown_as_it_stands() -> None:
    edits = (rule("```\na\n```\nA paragraph", 3), rule("goes on here.", 2))
    shown = dict(blocks_of(*edits))
    assert shown["A paragraph"] == 3
    assert shown["goes on here."] == 2


def test_a_heading_names_none_of_the_edits_below_it() -> None:
    """The edit that wrote it taught one of the examples below it."""
    examples = [
        rule(f"Task: {n}\nAnswer: {n}", 1).model_copy(
            update={"op": "add_section", "target_section": "## Worked examples"}
        )
        for n in range(3)
    ]
    shown = blocks_of(*examples)[-4:]
    assert shown[0] == ("## Worked examples", None)
    assert [support for _, support in shown[1:]] == [1, 1, 1]

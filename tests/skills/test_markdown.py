"""Sections: headings are what a reader sees as headings, nothing else."""

from __future__ import annotations

import pytest

from harness.skills import find_sections, scan, sections

DOCUMENT = """---
name: "x"
# not: a heading
---
# Top

## Code

```python
# comment
```

~~~~
## in tildes
~~~
## still in tildes
~~~~

<!--
## commented out
-->

    ## indented code

Setext one
==========

Two lines of
setext two
---

- item
---

1. a list
    ```sh
    # deep in a list
    ```

## Code ##
last
"""


def test_only_real_headings_count() -> None:
    titles = [(one.level, one.title) for one in sections(DOCUMENT)]
    assert titles == [
        (1, "Top"),
        (2, "Code"),
        (1, "Setext one"),
        (2, "Two lines of setext two"),
        (2, "Code"),
    ]


def test_a_section_ends_at_the_next_heading_of_its_level_or_above() -> None:
    lines = DOCUMENT.split("\n")
    code = sections(DOCUMENT)[1]
    assert lines[code.start] == "## Code"
    assert lines[code.end] == "Setext one"


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ("Code", 2),
        ("## code:", 2),
        ("Top > Code", 1),
        ("Setext one > Code", 1),
        ("**Top**", 1),
        ("comment", 0),
        ("in tildes", 0),
        ("deep in a list", 0),
    ],
)
def test_duplicates_are_told_apart_by_path(wanted: str, count: int) -> None:
    assert len(find_sections(DOCUMENT, wanted)) == count


def test_an_open_fence_is_found_and_swallows_the_rest() -> None:
    lines = ["# A", "```", "# B", "````` text", "# C"]
    assert scan(lines).open_fence == 1
    assert [one.title for one in sections(lines)] == ["A"]

"""A merge by a model may word rules anew, but only say what its sources said."""

from __future__ import annotations

from harness.core import Edit, Patch
from harness.evolve.merge.by_model import faithful

LESSONS = {
    "a": "When deleting rows, never go from top to bottom.",
    "b": "Use `ws.delete_rows` from the last row to the first.",
    "c": "Reload the saved workbook and compare its totals.",
}


def edit(content: str, *sources: str) -> Edit:
    return Edit(
        file="SKILL.md", op="append_to_section", target_section="Checks",
        content=f"- **Rows**: {content}", sources=sources, support=len(sources),
    )  # fmt: skip


TAUGHT = [Patch(edits=(edit(text, name),)) for name, text in LESSONS.items()]


def worded(content: str, *sources: str) -> tuple[str, list[str]]:
    patch, refused = faithful(Patch(edits=(edit(content, *sources),)), TAUGHT)
    return patch.edits[0].content, [row.reason for row in refused]


def test_a_wording_that_its_sources_bear_out_stays() -> None:
    for text in (LESSONS["a"], "Never go from top to bottom when deleting rows."):
        assert worded(text, "a", "b") == (f"- **Rows**: {text}", [])


def test_what_no_source_said_gives_way_to_a_sources_own_words() -> None:
    for text, why in (
        ("When deleting rows, go from top to bottom.", "the reverse"),
        ("Use `ws.delete_columns` from the last row to the first.", "no source has"),
        ("When deleting rows, never go from topto bottom.", "no source or lesson has"),
        ("Reload the saved workbook and compare its totals.", "sources do not"),  # of another
    ):
        content, reasons = worded(text, "a", "b")
        assert content.removeprefix("- **Rows**: ") in (LESSONS["a"], LESSONS["b"])
        assert len(reasons) == 1 and why in reasons[0]


def test_edits_that_are_no_rules_and_sources_without_lessons_stay() -> None:
    create = Edit(file="references/x.md", op="create", content="# X\n", sources=("a",), support=1)
    patch = Patch(edits=(create, edit("Anything at all.", "unknown")))
    assert faithful(patch, TAUGHT) == (patch, ())

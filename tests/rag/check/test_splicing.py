"""Outside of its edits a repaired answer is the given one, whatever was replaced."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.rag.check.repairs import Change, Draft

TEXT = st.text("abc. \n", min_size=1, max_size=30)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[str, list[list[Change]], set[int]]:
    """An answer, disjoint replacements in each round, and the places that none of them took."""
    given_text = draw(TEXT)
    # Characters of the present text: the place in the given answer, or -1 for a new one.
    origin = list(range(len(given_text)))
    found: list[list[Change]] = []
    for _ in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.lists(st.integers(0, len(origin)), max_size=6, unique=True)))
        spans = [(cuts[at], cuts[at + 1]) for at in range(0, len(cuts) - 1, 2)]
        afters = [draw(st.text("xyz", max_size=4)) for _ in spans]
        found.append([Change(*span, after, "r") for span, after in zip(spans, afters, strict=True)])
        for (start, end), after in sorted(zip(spans, afters, strict=True), reverse=True):
            origin[start:end] = [-1] * len(after)
    return given_text, found, {place for place in origin if place >= 0}


@given(rounds())
def test_what_no_change_touched_stays(made: tuple[str, list[list[Change]], set[int]]) -> None:
    answer, changes, kept = made
    draft, plain = Draft(answer), answer
    for one in changes:
        for change in sorted(one, reverse=True):
            plain = plain[: change.start] + change.after + plain[change.end :]
        draft = draft.changed(one)
        assert draft.text == plain
    inside = {place for edit in draft.edits for place in range(edit.start, edit.end)}
    assert set(range(len(answer))) - inside == kept
    at = 0
    for edit in draft.edits:
        assert at <= edit.start <= edit.end
        assert answer[edit.start : edit.end] == edit.before != edit.after
        at = edit.end


def test_an_edit_of_an_edit_is_one_edit() -> None:
    draft = Draft("built in 1921 by Orrin.")
    draft = draft.changed([Change(9, 13, "1912 AD", "date")])
    assert draft.text == "built in 1912 AD by Orrin."
    draft = draft.changed([Change(6, 16, "about 1912", "sentence")])
    assert draft.text == "built about 1912 by Orrin."
    (edit,) = draft.edits
    assert (edit.start, edit.end, edit.before, edit.after) == (6, 13, "in 1921", "about 1912")
    assert edit.reason == "date; sentence"
    back = draft.changed([Change(6, 16, "in 1921", "again")])
    assert (back.text, back.edits) == ("built in 1921 by Orrin.", ())

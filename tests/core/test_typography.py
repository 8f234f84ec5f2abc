"""Characters that print alike are one; characters that say something else are not touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import SAME_SIGN, plain

SIGNS = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("0123456789-+.,{}\\'\u2212\u2013\u202f\u00a0\u2019\u0301\u00ad\uff0c½²℃"),
    ),
    max_size=30,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u22127 \u20137 \ufe637 \uff0d7", "-7 -7 -7 -7"),
        (
            "Finn\u2019s \u201cnote\u201d \u201eZettel\u201c «mot» 『語』",
            'Finn\'s "note" "Zettel" "mot" "語"',
        ),
        ("Bjo\u0308rn", "Bj\u00f6rn"),
        ("\uff22\uff15\uff06\uff23", "B5&C"),
        ("\ufb01le of 3\u33a1", "file of 3m\u00b2"),
        ("20\u2103", "20\u00b0C"),
        ("7\u202f654\u202f321 and 7\u00a0654,5 and 12\u2009km", "7654321 and 7654,5 and 12 km"),
        ("1{,}500 and 1\\,500 and 1\\;50", "1,500 and 1,500 and 1\\;50"),
        ("co\u00adop\u200berate\ufeff", "cooperate"),
        ("上海。", "上海."),
        ("10\u00b2 and \u00bd and \u2460", "10\u00b2 and \u00bd and \u2460"),
        ("in 1999\u00a0500 people", "in 1999 500 people"),
    ],
)
def test_characters_that_print_alike_become_one(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(SIGNS)
def test_twice_is_as_once_and_nothing_but_separators_changes_in_ascii(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    bare = "".join(sign for sign in text if sign.isascii() and sign not in "\\{")
    assert plain(bare) == bare


@given(SIGNS)
def test_signs_that_are_the_same_keep_their_offsets(text: str) -> None:
    assert len(text.translate(SAME_SIGN)) == len(text)

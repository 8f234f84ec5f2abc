"""Sentence spans: exact offsets, languages, abbreviations, lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rag.retrieve.text import LONGEST, sentence_spans

PIECES = st.sampled_from(
    [
        "Dr. Who paid $3.14. ",
        "He left! ",
        "\n\n",
        "\r\n",
        "这是。",
        "“好。”",
        "wrapped\nline ",
        "x" * 70,
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=20).map("".join))


@given(TEXTS)
def test_spans_cover_every_visible_character_once_and_in_order(text: str) -> None:
    spans = sentence_spans(text)
    ends = [0, *(end for _, end in spans)]
    for (start, end), before in zip(spans, ends, strict=False):
        assert before <= start < end
        assert not text[before:start].strip(), "visible text between two sentences"
        assert text[start:end] == text[start:end].strip()
    assert not text[ends[-1] :].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr. Smith paid $3.14 to Mr. Jones (see Fig. 3). Then he left.",
            ["Dr. Smith paid $3.14 to Mr. Jones (see Fig. 3).", "Then he left."],
        ),
        (
            "Das ist z. B. ein Satz, der nicht endet. Am 3. Mai kam die Post.",
            ["Das ist z. B. ein Satz, der nicht endet.", "Am 3. Mai kam die Post."],
        ),
        # Full-width marks are what Chinese ends sentences with.
        ("圆周率是3.14。这是第二句！第三句？", ["圆周率是3.14。", "这是第二句！", "第三句？"]),  # noqa: RUF001  # as above
        ("次の文です。これは違う。", ["次の文です。", "これは違う。"]),
        ("VAR X1 = 12345\nVAR X2 = VAR X1\n", ["VAR X1 = 12345", "VAR X2 = VAR X1"]),
        ("Speaker A: no\nSpeaker B: me neither", ["Speaker A: no", "Speaker B: me neither"]),
        (
            "A line that the typesetter broke after the word\nthe and went on. Second one.",
            ["A line that the typesetter broke after the word\nthe and went on.", "Second one."],
        ),
        ("- one\n- two", ["- one", "- two"]),
    ],
)  # fmt: skip
def test_sentences(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


def test_a_sentence_without_an_end_is_cut_at_a_space() -> None:
    text = "word " * 2000
    lengths = [end - start for start, end in sentence_spans(text)]
    assert max(lengths) <= LONGEST
    assert all(text[start:end].startswith("word") for start, end in sentence_spans(text))


def test_a_quotation_mark_without_its_partner_holds_nothing_together() -> None:
    sentences = ['He said "go.'] + [f"Sentence {word} is here." for word in "abcdefghijklmnopqrst"]
    text = " ".join(sentences)
    found = [text[start:end] for start, end in sentence_spans(text)]
    assert found[-19:] == sentences[-19:]

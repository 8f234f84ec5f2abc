"""Chunks cover a document in order, within their sizes and parents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.rag.retrieve import Chunking, Document, chunk_document, estimate_tokens
from harness.rag.retrieve.chunk import context_of, search_text
from harness.rag.retrieve.document import Heading
from harness.rag.retrieve.parse import parse_bytes

CHUNKING = Chunking(size=20, overlap=6, parent=60)
WORDS = st.sampled_from(
    ["valve", "Pump.", "42", "is", "weekly!", "\n\n", "# Part\n", "東京。", "(a)"]
)


def document(text: str) -> Document:
    [parsed] = parse_bytes("a.md", text.encode())
    return parsed


@given(st.lists(WORDS, min_size=1, max_size=120).map(" ".join).filter(lambda text: text.strip()))
def test_chunks_cover_every_word_within_size_and_parent(text: str) -> None:
    parsed = document(text)
    chunks = chunk_document(parsed, CHUNKING)
    covered: set[int] = set()
    for chunk in chunks:
        assert chunk.parent_start <= chunk.start < chunk.end <= chunk.parent_end
        assert estimate_tokens(text[chunk.start : chunk.end]) <= CHUNKING.size
        assert estimate_tokens(text[chunk.parent_start : chunk.parent_end]) <= CHUNKING.parent
        covered.update(range(chunk.start, chunk.end))
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})
    assert all(place in covered for place, sign in enumerate(text) if not sign.isspace())


@given(st.lists(WORDS, min_size=1, max_size=20).map(" ".join))
def test_a_document_that_fits_is_cut_as_its_sentences_would_be(text: str) -> None:
    plain = Document("a", text)
    by_sentences = Document("a", text, headings=(Heading(0, 1, "Top"),))
    assert chunk_document(plain, CHUNKING) == chunk_document(by_sentences, CHUNKING)


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    chunks = chunk_document(document(text), CHUNKING)
    assert len(chunks) == 5
    assert " ".join(text[chunk.start : chunk.end] for chunk in chunks) == text


def test_a_chunk_repeats_the_end_of_the_one_before_but_not_of_another_section() -> None:
    text = "# One\n\n" + "A short line. " * 12 + "\n\n# Two\n\n" + "Other words stand here. " * 3
    parsed = document(text)
    chunks = chunk_document(parsed, CHUNKING)
    assert chunks[1].start < chunks[0].end
    second = next(chunk for chunk in chunks if parsed.text[chunk.start :].startswith("# Two"))
    assert all(chunk.end <= second.start for chunk in chunks if chunk.start < second.start)


def test_the_context_names_what_the_chunk_does_not_say() -> None:
    parsed = document("# Pumps\n\nIntro.\n\n## Seals\n\n" + "Replace them every single year. " * 8)
    chunks = chunk_document(parsed, CHUNKING)
    assert search_text(parsed, chunks[0]).startswith("# Pumps")
    assert context_of(parsed, chunks[-1]) == "Pumps > Seals"
    assert search_text(parsed, chunks[-1]).startswith("Pumps > Seals\nReplace")


def test_sizes_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="expected 0 <= overlap < size <= parent"):
        Chunking(size=100, overlap=100)

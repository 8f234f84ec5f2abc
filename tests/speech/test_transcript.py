"""Words with times as sentences; subtitles; transcripts as documents."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.rag.retrieve import Document, clock
from harness.speech import Segment, Transcript, document_of
from harness.speech.transcript import sentences


def test_words_become_sentences_at_their_ends_and_at_pauses() -> None:
    words = [(0.0, 0.3, " We"), (0.3, 0.8, " left."), (1.0, 1.2, " Then"), (1.2, 1.5, " rain"),
             (4.0, 4.4, " fell"), (4.4, 5.0, " hard.")]  # fmt: skip
    assert [(part.start, part.end, part.text) for part in sentences(words)] == [
        (0.0, 0.8, "We left."),
        (1.0, 1.5, "Then rain"),
        (4.0, 5.0, "fell hard."),
    ]


@given(st.lists(st.tuples(st.floats(0, 9), st.text("ab. ", min_size=1, max_size=4)), max_size=40))
def test_no_word_is_lost(drawn: list[tuple[float, str]]) -> None:
    words: list[tuple[float, float, str]] = []
    second = 0.0
    for length, text in drawn:
        words.append((second, second + length, text))
        second += length
    parts = sentences(words)
    Transcript(segments=parts)  # in order
    said = "".join(text for _, _, text in words)
    assert "".join("".join(part.text for part in parts).split()) == "".join(said.split())


@pytest.mark.parametrize(
    "segments",
    [
        [Segment(start=2, end=3, text="b"), Segment(start=1, end=2, text="a")],
        [Segment(start=2, end=1, text="a")],
    ],
)
def test_times_that_run_backwards_are_refused(segments: list[Segment]) -> None:
    with pytest.raises(ValidationError):
        Transcript(segments=tuple(segments))


def test_subtitles() -> None:
    transcript = Transcript(segments=(Segment(start=3661.5, end=3663.25, text="It is late."),))
    assert transcript.to_srt() == "1\n01:01:01,500 --> 01:01:03,250\nIt is late.\n"
    assert (clock(83.9), clock(3661.5)) == ("1:23", "1:01:01")


TALK = Transcript(
    segments=(
        Segment(start=1.0, end=3.0, text="The bridge is closed."),
        Segment(start=10.0, end=14.0, text="Take the ferry.", speaker="Ann"),
    ),
    seconds=15.0,
    model="local/whisper-base",
    language="en",
)


def test_a_transcript_is_a_document_with_times() -> None:
    document = document_of("talk.mp3", TALK)
    assert document.text == "The bridge is closed.\nAnn: Take the ferry."
    assert document.time_at(0) == 1.0
    assert document.time_at(document.text.index("\n")) == 3.0
    assert document.time_at(document.text.index("Ann")) == 10.0
    middle = document.time_at(len("The bridge"))
    assert middle is not None and 1.5 < middle < 2.5
    assert document.time_at(len(document.text) + 99) == 14.0
    assert document.metadata["transcribed_by"] == "local/whisper-base"


def test_times_survive_an_index_row() -> None:
    document = document_of("talk.mp3", TALK)
    again = Document.from_row(document.to_row(), document.text)
    assert again.times == document.times


def test_documents_without_times_have_the_rows_that_they_always_had() -> None:
    document = Document("a.txt", "Text.")
    assert "times" not in document.to_row()
    assert document.time_at(0) is None


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5), st.text("abc ", max_size=9))))
def test_time_never_runs_backwards_in_a_document(drawn: list[tuple[float, float, str]]) -> None:
    segments: list[Segment] = []
    second = 0.0
    for pause, length, text in drawn:
        segments.append(Segment(start=second + pause, end=second + pause + length, text=text))
        second += pause + length
    document = document_of("x", Transcript(segments=tuple(segments)))
    times = [document.time_at(place) for place in range(len(document.text))]
    known = [time for time in times if time is not None]
    assert len(known) == len(times)
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(known))


def test_a_transcript_without_times_says_so() -> None:
    untimed = TALK.model_copy(update={"timed": False})
    document = document_of("talk.mp3", untimed)
    assert document.time_at(0) is None
    assert "no times" in document.warnings[0]

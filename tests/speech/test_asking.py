"""Recordings as documents of `ask` and `index`: cited at the second at which it was said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.rag.ask import AskSettings, ask
from harness.rag.retrieve import create_index, open_encoder, open_index, parse_file, parse_paths
from tests.speech.audio_server import Served, error, serve, tone, transcript

SEGMENTS = (
    (0.5, 4.0, "Good evening from the harbour office."),
    (61.0, 66.0, "The last ferry to Tidwell leaves at a quarter past nine."),
    (70.0, 74.0, "Bring a lamp, for the pier is dark."),
    (3725.0, 3730.0, "The storm warning was lifted by the coast guard."),
)
QUESTION = "When does the last ferry to Tidwell leave?"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Served]:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HARNESS_RECOGNIZER", "openai/whisper-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "evening.wav").write_bytes(tone(0.2).to_wav())
    with serve(lambda _: transcript(*SEGMENTS)) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        yield served


def test_the_best_sentence_is_cited_at_its_second(server: Served, tmp_path: Path) -> None:
    answer = ask(AskSettings(question=QUESTION, paths=(tmp_path / "evening.wav",), extract=True))
    citation = answer.citations[0]
    assert citation.text == SEGMENTS[1][2]
    assert citation.time == 61.0
    assert citation.uri == f"{(tmp_path / 'evening.wav').as_uri()}#t=61.0"
    assert citation.where.startswith(f"{tmp_path / 'evening.wav'}, 1:01 [")
    assert len(server.requests) == 1


def test_a_question_is_no_answer_and_leads_to_one(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Hello. What does it cost the town? 42,000 crowns. What does it cost us?")
    question = "What does the bridge cost the town?"
    answer = ask(AskSettings(question=question, paths=(notes,), extract=True))
    assert answer.citations[0].text == "Hello. What does it cost the town? 42,000 crowns."
    assert len(answer.citations) == 1


def test_a_passage_that_a_model_cites_is_cited_where_it_says_the_answer(
    server: Served, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["It was lifted by the coast guard [1]."]))
    settings = AskSettings(
        question="Who lifted the storm warning?",
        paths=(tmp_path / "evening.wav",),
        model=f"scripted/{script}",
    )
    [citation] = ask(settings).citations
    assert citation.text.startswith("Good evening")  # the passage is the whole recording
    assert citation.time == 3725.0
    assert ", 1:02:05 [" in citation.where


def test_a_recording_is_heard_once(server: Served, tmp_path: Path) -> None:
    first = parse_file(tmp_path / "evening.wav")
    (tmp_path / "copy.wav").write_bytes((tmp_path / "evening.wav").read_bytes())
    second = parse_file(tmp_path / "copy.wav")
    assert first[0].text == second[0].text
    assert len(server.requests) == 1


def test_hits_of_an_index_name_the_second(server: Served, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The harbour office opens at eight.")
    parsed = parse_paths([tmp_path / "evening.wav", tmp_path / "notes.txt"])
    create_index(tmp_path / "index", open_encoder("lexical")).add(parsed.documents)
    index = open_index(tmp_path / "index")
    hits = index.search("storm warning lifted", 5)
    spoken = next(hit for hit in hits if hit.source.endswith(".wav"))
    assert spoken.time is not None
    document = index.document(spoken.doc)
    assert document.time_at(document.text.index("The storm")) == 3725.0
    written = next(hit for hit in index.search("office opens at eight", 5) if hit.time is None)
    assert written.source.endswith(".txt")


def test_an_index_search_is_asked_like_files(server: Served, tmp_path: Path) -> None:
    create_index(tmp_path / "index", open_encoder("lexical")).add(
        parse_paths([tmp_path / "evening.wav"]).documents
    )
    answer = ask(AskSettings(question=QUESTION, index=tmp_path / "index", extract=True))
    assert answer.citations[0].time == 61.0


def test_a_recording_without_speech_is_passed_over_with_its_reason(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("The harbour office opens at eight.")
    with serve(lambda _: transcript((0.0, 9.0, ""))) as silent:
        monkeypatch.setenv("OPENAI_BASE_URL", silent.url)
        parsed = parse_paths([tmp_path / "evening.wav", tmp_path / "notes.txt"])
    assert [document.id for document in parsed.documents] == [str(tmp_path / "notes.txt")]
    assert "heard no speech in 9 seconds" in parsed.passed_over[0].reason


def test_a_server_that_refuses_is_named(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(lambda _: error(401, "bad key")) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        with pytest.raises(BadInput, match=r"was not heard.*refused the key"):
            parse_file(tmp_path / "evening.wav")


def test_a_recording_is_read_inside_a_running_loop(server: Served, tmp_path: Path) -> None:
    async def read() -> str:
        return parse_file(tmp_path / "evening.wav")[0].text

    assert asyncio.run(read()).startswith("Good evening")


def test_text_that_is_named_like_a_recording_is_text(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("These are notes.")
    assert parse_file(tmp_path / "notes.wav")[0].text == "These are notes."

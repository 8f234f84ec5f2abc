"""The audio endpoints through the real client: multipart, errors, records, budgets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, LimitReached, Unreachable
from harness.models import Budget, CallStore, export_calls, transport
from harness.speech import open_recognizer, open_synthesizer
from tests.speech.audio_server import Request, error, serve, tone, transcript

SPOKEN = transcript((0.0, 2.0, "The bridge is closed."), (2.5, 4.0, "Take the ferry."))
WAV = tone(0.25).to_wav()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "BASE_S", 0.001)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def test_a_recording_is_sent_as_a_form_with_the_file_and_its_suffix() -> None:
    with serve(lambda _: SPOKEN) as server:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url)
        heard = asyncio.run(recognizer.transcribe(WAV, "calls/Monday.WAV", "en"))
    [request] = server.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.file == ("recording.wav", WAV)
    assert request.fields == {
        "model": "whisper-1",
        "language": "en",
        "response_format": "verbose_json",
        "timestamp_granularities[]": "segment",
    }
    assert request.headers["authorization"] == "Bearer sk-test"
    assert [(part.start, part.end, part.text) for part in heard.segments] == [
        (0.0, 2.0, "The bridge is closed."),
        (2.5, 4.0, "Take the ferry."),
    ]
    assert (heard.language, heard.seconds, heard.model) == ("english", 4.0, "openai/whisper-1")
    assert heard.timed


@pytest.mark.parametrize("status", [400, 422])
def test_a_model_without_times_is_asked_for_its_text(status: int) -> None:
    def answer(request: Request) -> tuple[int, bytes]:
        if request.fields["response_format"] == "verbose_json":
            return error(status, "response_format 'verbose_json' is not compatible with this model")
        return 200, json.dumps({"text": "All of it.", "usage": {"type": "tokens",
            "input_tokens": 14, "output_tokens": 5, "total_tokens": 19}}).encode()  # fmt: skip

    with serve(answer) as server, CallStore() as calls:
        recognizer = open_recognizer("openai/gpt-4o-transcribe", base_url=server.url, calls=calls)
        heard = asyncio.run(recognizer.transcribe(WAV, "a.wav"))
        [call] = calls.answered()
    assert heard.text == "All of it." and not heard.timed
    assert [request.fields["response_format"] for request in server.requests] == [
        "verbose_json",
        "json",
    ]
    assert (call.usage.prompt_tokens, call.usage.completion_tokens) == (14, 5)


def test_another_refusal_is_not_asked_again() -> None:
    with serve(lambda _: error(400, "the audio file is corrupted")) as server:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url)
        with pytest.raises(BadInput, match=r"HTTP 400.*the audio file is corrupted"):
            asyncio.run(recognizer.transcribe(WAV, "a.wav"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "message", "sent"),
    [
        (error(401, "bad key"), Unreachable, "refused the key.*OPENAI_API_KEY", 1),
        (error(404, "no such model"), BadInput, "rejected the request for model 'whisper-1'", 1),
        (error(503, "loading"), Unreachable, "keeps answering HTTP 503: loading", 6),
        (error(429, "slow down"), Unreachable, "HTTP 429", 6),
        ((200, b"<html>hello</html>"), Unreachable, "expected a transcript as JSON", 1),
        ((200, b'{"text": 3}'), Unreachable, "expected a transcript as JSON", 1),
        ((200, b'{"text": "a", "segments": [{"start": "x"}]}'), Unreachable, "transcript", 1),
        ((200, b'{"text": "a", "segments": [{"start": -5, "end": 1, "text": "a"}]}'),
         Unreachable, "transcript", 1),
    ],
)  # fmt: skip
def test_errors_of_hearing(
    answer: tuple[int, bytes], kind: type[Exception], message: str, sent: int
) -> None:
    with serve(lambda _: answer) as server:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url)
        with pytest.raises(kind, match=message):
            asyncio.run(recognizer.transcribe(WAV, "a.wav"))
    assert len(server.requests) == sent


def test_a_busy_server_is_asked_again() -> None:
    answers = iter([error(503), error(429), SPOKEN])
    with serve(lambda _: next(answers)) as server:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url)
        heard = asyncio.run(recognizer.transcribe(WAV, "a.wav"))
    assert len(heard.segments) == 2
    assert [request.file for request in server.requests] == [("recording.wav", WAV)] * 3


def test_nobody_listens() -> None:
    with serve(lambda _: SPOKEN) as server:
        url = server.url
    recognizer = open_recognizer("openai/whisper-1", base_url=url)
    with pytest.raises(Unreachable, match="is the server running"):
        asyncio.run(recognizer.transcribe(WAV, "a.wav"))


def test_a_recording_is_heard_once_and_replayed_without_its_bytes(tmp_path: Path) -> None:
    with serve(lambda _: SPOKEN) as server, CallStore(tmp_path / "calls.sqlite") as calls:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url, calls=calls)
        first = asyncio.run(recognizer.transcribe(WAV, "a.wav"))
        again = asyncio.run(recognizer.transcribe(WAV, "b/other.wav"))
        [call] = calls.answered()
        export_calls(calls, tmp_path / "calls.jsonl")
    assert first == again
    assert len(server.requests) == 1
    assert len(json.dumps(call.body)) < 300  # a digest stands for the recording
    replayed = open_recognizer(f"replay/{tmp_path / 'calls.jsonl'}")
    assert asyncio.run(replayed.transcribe(WAV, "a.wav")).segments == first.segments
    with pytest.raises(BadInput, match="not in the recording"):
        asyncio.run(replayed.transcribe(WAV + b"\0\0", "a.wav"))


def test_a_budget_of_calls_holds_before_anything_is_sent() -> None:
    with serve(lambda _: SPOKEN) as server:
        recognizer = open_recognizer(
            "openai/whisper-1", base_url=server.url, budget=Budget(calls=1)
        )
        asyncio.run(recognizer.transcribe(WAV, "a.wav"))
        with pytest.raises(LimitReached, match="budget of 1 calls"):
            asyncio.run(recognizer.transcribe(tone(0.5).to_wav(), "b.wav"))
    assert len(server.requests) == 1


@pytest.mark.parametrize("budget", [Budget(usd=1.0), Budget(tokens=100)])
def test_money_and_tokens_of_sound_are_refused_as_budgets(budget: Budget) -> None:
    with pytest.raises(BadInput, match="expected a budget of calls"):
        open_recognizer("openai/whisper-1", budget=budget)


def test_a_recording_above_the_servers_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.speech.endpoint.MOST_BYTES", 1 << 20)
    with serve(lambda _: SPOKEN) as server:
        recognizer = open_recognizer("openai/whisper-1", base_url=server.url)
        with pytest.raises(BadInput, match="at most 1 MiB"):
            asyncio.run(recognizer.transcribe(bytes(2 << 20), "a.wav"))
    assert not server.requests


def test_two_base_urls_are_refused() -> None:
    with pytest.raises(BadInput, match="one base URL, got 2"):
        open_recognizer("vllm/whisper", base_url="http://127.0.0.1:1/v1,http://127.0.0.1:2/v1")


@pytest.mark.parametrize("open_it", [open_recognizer, open_synthesizer])
def test_an_unknown_packaged_model_is_named(open_it: Any) -> None:
    with pytest.raises(BadInput, match="it is the packaged model"):
        open_it("local/qwen2.5-coder-1.5b")


def test_a_text_is_spoken_with_voice_pace_and_instructions() -> None:
    spoken = tone(0.25)
    with serve(lambda _: (200, spoken.to_wav())) as server:
        synthesizer = open_synthesizer("openai/gpt-4o-mini-tts", base_url=server.url)
        sound = asyncio.run(
            synthesizer.speak("Good day.", "ash", instructions="Mood: calm.", speed=1.25)
        )
    [request] = server.requests
    assert request.path == "/v1/audio/speech"
    assert request.fields == {
        "model": "gpt-4o-mini-tts",
        "input": "Good day.",
        "voice": "ash",
        "response_format": "wav",
        "instructions": "Mood: calm.",
        "speed": 1.25,
    }
    assert sound.rate == 24_000
    assert abs(sound.samples - spoken.samples).max() < 1e-4


def test_what_is_usual_is_not_sent() -> None:
    with serve(lambda _: (200, WAV)) as server:
        asyncio.run(open_synthesizer("openai/tts-1", base_url=server.url).speak("Hello."))
    assert set(server.requests[0].fields) == {"model", "input", "voice", "response_format"}


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ((200, b"ID3\x04an mp3"), Unreachable, "expected a WAV file"),
        ((200, WAV[:44]), Unreachable, "is cut off"),
        ((200, b""), Unreachable, "expected a WAV file"),
        (error(400, "unknown voice 'zed'"), BadInput, "unknown voice 'zed'"),
        (error(403, "not yours"), Unreachable, "refused the key"),
        (error(500, "broken"), Unreachable, "keeps answering HTTP 500: broken"),
    ],
)
def test_errors_of_speaking(answer: tuple[int, bytes], kind: type[Exception], message: str) -> None:
    with serve(lambda _: answer) as server:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url)
        with pytest.raises(kind, match=message):
            asyncio.run(synthesizer.speak("Hello.", "zed"))


def test_speech_is_recorded_and_replayed(tmp_path: Path) -> None:
    with serve(lambda _: (200, WAV)) as server, CallStore() as calls:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url, calls=calls)
        first = asyncio.run(synthesizer.speak("Hello.", "nova"))
        asyncio.run(synthesizer.speak("Hello.", "nova"))
        export_calls(calls, tmp_path / "calls.jsonl")
    assert len(server.requests) == 1
    replayed = open_synthesizer(f"replay/{tmp_path / 'calls.jsonl'}")
    assert (asyncio.run(replayed.speak("Hello.", "nova")).samples == first.samples).all()


@pytest.mark.parametrize("text", ["", " \n", "a" * 4097])
def test_texts_that_cannot_be_spoken_cost_no_call(text: str) -> None:
    with serve(lambda _: (200, WAV)) as server:
        synthesizer = open_synthesizer("openai/tts-1", base_url=server.url)
        with pytest.raises(BadInput, match="1 to 4096 characters"):
            asyncio.run(synthesizer.speak(text))
    assert not server.requests

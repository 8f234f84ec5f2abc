"""`transcribe` and `speak` as tools of agents."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.speech import read_wav
from harness.tools import Arguments, Bench, ToolArgumentError, get_tools
from tests.speech.audio_server import serve, tone, transcript

SEGMENTS = ((0.0, 2.0, "The bridge is closed."), (61.5, 64.0, "Take the ferry."))


def call(name: str, arguments: Arguments, bench: Bench) -> str:
    [tool] = get_tools([name])
    return asyncio.run(tool.call(arguments, bench))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def test_an_agent_reads_a_recording_with_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "call.wav").write_bytes(tone(0.2).to_wav())
    with serve(lambda _: transcript(*SEGMENTS)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        text = call("transcribe:openai/whisper-1", {"file": "call.wav"}, Bench(tmp_path))
    assert text == "[0:00] The bridge is closed.\n[1:01] Take the ferry."


@pytest.mark.parametrize("file", ["absent.wav", "../outside.wav", "link.wav"])
def test_files_outside_the_work_folder_are_none(file: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "outside.wav").write_bytes(tone(0.2).to_wav())
    (work / "link.wav").symlink_to(tmp_path / "outside.wav")
    with pytest.raises((ToolArgumentError, BadInput)):
        call("transcribe:openai/whisper-1", {"file": file}, Bench(work))


def test_another_format_is_decoded_in_the_sandbox_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "call.mp3").write_bytes(b"ID3\x04\0\0\0\0\0\0")
    with pytest.raises(BadInput, match="needs a sandbox"):
        call("transcribe:openai/whisper-1", {"file": "call.mp3"}, Bench(tmp_path))


def test_an_agent_speaks_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = tone(0.5)
    with serve(lambda _: (200, spoken.to_wav())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments: Arguments = {"text": "Good day.", "file": "out/day.wav", "voice": "nova"}
        said = call("speak:openai/tts-1", arguments, Bench(tmp_path))
    assert said == "out/day.wav: 0.5 seconds"
    written = read_wav((tmp_path / "out" / "day.wav").read_bytes(), "day")
    assert written.seconds == pytest.approx(0.5)
    assert server.requests[0].fields["voice"] == "nova"


@pytest.mark.parametrize("file", ["day.mp3", "../day.wav", "/tmp/day.wav"])
def test_only_wav_files_of_the_work_folder_are_written(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with serve(lambda _: (200, tone(0.1).to_wav())) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with pytest.raises(ToolArgumentError):
            call("speak:openai/tts-1", {"text": "Hi.", "file": file}, Bench(work))
    assert not (tmp_path / "day.wav").exists()

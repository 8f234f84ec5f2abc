"""`harness transcribe` and `harness speak`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli import cli
from harness.core import BadInput
from harness.speech import read_wav
from tests.speech.audio_server import Request, serve, tone, transcript

SPOKEN = transcript((0.0, 2.0, "The bridge is closed."), (61.5, 64.0, "Take the ferry."))
DIALOGUE = "Ann: Is it far?\nBen: Not at all.\n"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def run(*options: object) -> Result:
    return CliRunner().invoke(cli, [str(option) for option in options])


def test_a_recording_is_written_down(tmp_path: Path) -> None:
    (tmp_path / "call.wav").write_bytes(tone(0.2).to_wav())
    command = ["transcribe", tmp_path / "call.wav", "--model", "openai/whisper-1"]
    with serve(lambda _: SPOKEN) as server:
        command += ["--base-url", server.url]
        shown = run(*command, "--out", tmp_path / "call.srt")
        report = json.loads(run(*command, "--json").stdout)
    assert shown.stdout == "0:00  The bridge is closed.\n1:01  Take the ferry.\n"
    assert "00:01:01,500 --> 00:01:04,000" in (tmp_path / "call.srt").read_text()
    assert report["segments"][1]["start"] == 61.5
    assert report["model"] == "openai/whisper-1"


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    done = run("transcribe", tmp_path / "absent.wav")
    assert isinstance(done.exception, Exception) and "absent.wav" in str(done.exception)


def spoken(tmp_path: Path, source: str, *options: object, name: str = "talk.txt") -> Any:
    """The JSON report of `speak`, or the exception."""
    (tmp_path / name).write_text(source)

    def answer(request: Request) -> tuple[int, bytes]:
        return 200, tone(len(request.fields["input"]) / 100).to_wav()

    with serve(answer) as server:
        command = ["speak", tmp_path / name, "--out", tmp_path / "talk.wav", "--json"]
        command += ["--synthesizer", "openai/tts-1", "--base-url", server.url, *options]
        done = run(*command)
    return json.loads(done.stdout) if done.exit_code == 0 else done.exception


def test_a_text_is_spoken_and_its_script_can_be_changed_and_spoken_again(tmp_path: Path) -> None:
    report = spoken(tmp_path, DIALOGUE, "--voice", "nova")
    assert report["voices"] == {"Ann": "nova", "Ben": "alloy"}
    assert report["words"] == 6
    sound = read_wav((tmp_path / "talk.wav").read_bytes(), "talk")
    assert sound.seconds == pytest.approx(report["seconds"], abs=0.01)
    assert [part["speaker"] for part in report["segments"]] == ["Ann", "Ben"]

    script = json.loads((tmp_path / "talk.script.json").read_text())
    script["sentences"][1]["pause_s"] = 2.0
    again = spoken(tmp_path, json.dumps(script), name="changed.json")
    assert again["seconds"] > report["seconds"] + 1

    (tmp_path / "full.txt").write_text("Is it far? Not at all.")
    covering = ("--covering", tmp_path / "full.txt")
    assert spoken(tmp_path, json.dumps(script), *covering, name="changed.json")["sentences"] == 2
    del script["sentences"][1]
    refused = spoken(tmp_path, json.dumps(script), *covering, name="changed.json")
    assert "leaves out 'Not at all'" in str(refused)


@pytest.mark.parametrize(
    ("source", "name", "options", "message"),
    [
        ("", "talk.txt", [], "words to speak"),
        ("Hello.", "talk.txt", ["--instructions", "softly"], "name one with --model"),
        ("{}", "talk.json", ["--voice", "nova"], "names voices and manner itself"),
        ("{}", "talk.json", [], "no speech script"),
        ("Hello.", "talk.txt", ["--voice", "a", "--voice", "b"], "at most 1 voices"),
    ],
)
def test_what_cannot_be_spoken(
    source: str, name: str, options: list[str], message: str, tmp_path: Path
) -> None:
    error = spoken(tmp_path, source, *options, name=name)
    assert message in str(error)
    assert not (tmp_path / "talk.wav").exists()


def test_a_planner_decides_the_manner(tmp_path: Path) -> None:
    reply = json.dumps({"sentences": [{"number": 1, "mood": "calm"}]})
    (tmp_path / "planner.json").write_text(json.dumps([reply]))
    options = ("--model", f"scripted/{tmp_path / 'planner.json'}", "--instructions", "softly")
    spoken(tmp_path, "Hello there.", *options)
    script = json.loads((tmp_path / "talk.script.json").read_text())
    assert script["sentences"][0]["mood"] == "calm"


@pytest.mark.parametrize("words", ["", " \n"])
def test_a_recording_without_words_is_an_error_and_no_empty_transcript(
    words: str, tmp_path: Path
) -> None:
    (tmp_path / "call.wav").write_bytes(tone(0.2).to_wav())
    with serve(lambda _: transcript((0.0, 2.0, words))) as server:
        command = ["transcribe", tmp_path / "call.wav", "--model", "openai/whisper-1"]
        done = run(*command, "--base-url", server.url, "--out", tmp_path / "call.srt")
    assert isinstance(done.exception, BadInput) and "heard no speech" in str(done.exception)
    assert "call.wav" in str(done.exception)
    assert not (tmp_path / "call.srt").exists()


def test_a_recording_that_is_cut_off_is_named_by_the_users_file(tmp_path: Path) -> None:
    whole = tone(2.0).to_wav()
    (tmp_path / "call.wav").write_bytes(whole[: len(whole) // 3])
    done = run("transcribe", tmp_path / "call.wav")
    assert isinstance(done.exception, BadInput)
    assert "'call.wav' is cut off: it holds 33%" in str(done.exception)


def test_only_wav_files_are_written(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text("Hello.")
    done = run("speak", tmp_path / "talk.txt", "--out", tmp_path / "talk.mp3")
    assert "expected a .wav file" in str(done.exception)
    assert not (tmp_path / "talk.mp3").exists()

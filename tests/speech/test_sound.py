"""Sound in and out of WAV files, at other rates, louder, joined."""

from __future__ import annotations

import contextlib
import io
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput
from harness.speech import Sound, joined, read_wav, silence
from tests.speech.audio_server import tone


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=200), st.integers(1, 96_000))
def test_a_wav_file_gives_back_what_was_written(values: list[float], rate: int) -> None:
    sound = Sound(np.array(values, dtype=np.float32), rate)
    again = read_wav(sound.to_wav(), "x.wav")
    assert again.rate == rate
    assert again.samples.shape == sound.samples.shape
    assert abs(again.samples - sound.samples).max() < 2**-14


def _wav(width: int, channels: int, frames: bytes) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(frames)
    return out.getvalue()


@pytest.mark.parametrize(
    ("width", "frames"),
    [
        (1, bytes([128, 192, 64])),
        (2, np.array([0, 1 << 14, -(1 << 14)], "<i2").tobytes()),
        (3, b"\0\0\0\0\0\x40\0\0\xc0"),
        (4, np.array([0, 1 << 30, -(1 << 30)], "<i4").tobytes()),
    ],
)
def test_integers_of_every_width_are_read(width: int, frames: bytes) -> None:
    assert read_wav(_wav(width, 1, frames), "x").samples.tolist() == [0.0, 0.5, -0.5]


def test_channels_are_averaged() -> None:
    frames = np.array([1 << 14, 0, -(1 << 14), 1 << 14], "<i2").tobytes()
    assert read_wav(_wav(2, 2, frames), "x").samples.tolist() == [0.25, 0.0]


def test_a_length_that_a_server_did_not_know_is_read_to_the_end() -> None:
    data = bytearray(tone(0.1).to_wav())
    data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    assert read_wav(bytes(data), "x").seconds == pytest.approx(0.1)


@pytest.mark.parametrize(
    "data", [b"", b"RIFF", b"no sound at all", tone(0.1).to_wav()[:30], _wav(2, 1, b"")]
)
def test_what_is_no_wav_file_is_named(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"'talk\.wav'"):
        read_wav(data, "talk.wav")


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    with contextlib.suppress(BadInput):
        read_wav(tone(0.001).to_wav()[:44] + tail, "x")


def test_another_rate_keeps_length_and_pitch() -> None:
    sound = tone(0.5).at_rate(16_000)
    assert (sound.rate, sound.seconds) == (16_000, pytest.approx(0.5, abs=1e-3))
    peak = np.abs(np.fft.rfft(sound.samples)).argmax() / sound.seconds
    assert peak == pytest.approx(220, abs=3)


def test_gain_is_in_decibels_and_never_leaves_full_scale() -> None:
    sound = tone(0.1)
    assert abs(sound.louder(-20).samples * 10 - sound.samples).max() < 1e-5
    assert abs(sound.louder(60).samples).max() == 1.0


def test_joined_sounds_last_as_long_as_their_parts() -> None:
    sound = joined([tone(0.2), silence(0.3, 24_000), tone(0.1, 16_000)])
    assert sound.rate == 24_000
    assert sound.seconds == pytest.approx(0.6, abs=1e-3)
    assert not sound.samples[int(0.25 * 24_000) : int(0.45 * 24_000)].any()

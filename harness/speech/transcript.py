"""A transcript: what was said, and when."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pydantic import Field, model_validator

from harness.core import Value

_ENDS = (".", "?", "!", "…", '."', '?"', '!"')
# A sentence without an end is cut at a pause, or when it has lasted so long.
_PAUSE_S, _LONGEST_S = 1.5, 30.0


class Segment(Value):
    """A stretch of speech.

    Attributes:
        start: seconds from the beginning of the recording.
        end: seconds.
        text: what was said.
        speaker: by whom; "" where that is not known.
    """

    start: float = Field(ge=0)
    end: float = Field(ge=0)
    text: str
    speaker: str = ""


class Transcript(Value):
    """Transcript of a recording.

    Attributes:
        segments: in order of time.
        language: ISO 639-1 code or name, as the model said; "" where it did not.
        seconds: length of the recording.
        model: spec that heard it.
        timed: whether the model gave times; else the only segment is the whole recording.
    """

    segments: tuple[Segment, ...] = ()
    language: str = ""
    seconds: float = Field(default=0.0, ge=0)
    model: str = ""
    timed: bool = True

    @model_validator(mode="after")
    def _ordered(self) -> Transcript:
        if any(earlier.start > later.start for earlier, later in pairwise(self.segments)):
            raise ValueError("expected segments in order of their start")
        if any(segment.end < segment.start for segment in self.segments):
            raise ValueError("expected segments that end after their start")
        return self

    @property
    def text(self) -> str:
        """All that was said, a segment a line."""
        return "\n".join(segment.text for segment in self.segments)

    def to_srt(self) -> str:
        """Subtitles in the SubRip format."""
        blocks = [
            f"{number}\n{_srt_time(segment.start)} --> {_srt_time(segment.end)}\n{segment.text}\n"
            for number, segment in enumerate(self.segments, start=1)
        ]
        return "\n".join(blocks)


def sentences(words: Iterable[tuple[float, float, str]]) -> tuple[Segment, ...]:
    """Words with their times as sentences.

    Args:
        words: (start, end, text) in order; the text brings its own spaces, as Whisper gives it.
    """
    segments: list[Segment] = []
    begun: list[tuple[float, float, str]] = []
    for word in words:
        if begun and (
            begun[-1][2].rstrip().endswith(_ENDS)
            or word[0] - begun[-1][1] > _PAUSE_S
            or word[1] - begun[0][0] > _LONGEST_S
        ):
            segments.append(_segment(begun))
            begun = []
        begun.append(word)
    return (*segments, _segment(begun)) if begun else tuple(segments)


def _segment(words: list[tuple[float, float, str]]) -> Segment:
    start, end = words[0][0], max(word[1] for word in words)
    text = "".join(word[2] for word in words).strip()
    return Segment(start=start, end=max(start, end), text=text)


def _srt_time(seconds: float) -> str:
    total, milliseconds = divmod(round(seconds * 1000), 1000)
    return f"{total // 3600:02}:{total // 60 % 60:02}:{total % 60:02},{milliseconds:03}"

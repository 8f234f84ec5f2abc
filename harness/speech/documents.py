"""Recordings as documents of `ask` and `index`, whose citations name the second.

Registered as the plugin of every suffix in the group `harness.readers`. A recording is heard once:
transcripts stay in the cache folder, under the digest of the file.
"""

from __future__ import annotations

import os

from pydantic import JsonValue

from harness.core import BadInput, LimitReached, Unreachable, cache_root, loops
from harness.models import CallStore
from harness.rag.retrieve import Document, Time
from harness.speech.models import DEFAULT_RECOGNIZER, open_recognizer
from harness.speech.transcript import Transcript

VARIABLE = "HARNESS_RECOGNIZER"
"""Names the model that hears recordings of `ask` and `index`; default local/whisper-base."""


def read_recording(source: str, data: bytes) -> Document:
    """The transcript of a recording as a document.

    Args:
        source: its path, for messages and citations.
        data: the file.

    Raises:
        BadInput: if it cannot be read, nothing is said in it, or no model can hear it.
    """
    spec = os.environ.get(VARIABLE) or DEFAULT_RECOGNIZER
    with CallStore(cache_root() / "speech" / "transcripts.sqlite") as calls:
        recognizer = open_recognizer(spec, calls=calls)
        try:
            transcript = loops.run(recognizer.transcribe(data, source))
        except (Unreachable, LimitReached) as error:
            raise BadInput(f"{source!r} was not heard: {error}") from error
    return document_of(source, transcript)


def document_of(source: str, transcript: Transcript) -> Document:
    """A transcript as a document: a segment a line, its times at both ends of each."""
    parts: list[str] = []
    times: list[Time] = []
    start = 0
    for segment in transcript.segments:
        line = f"{segment.speaker}: {segment.text}" if segment.speaker else segment.text
        end = start + len(line)
        if line:
            times += [Time(segment.start, start), Time(segment.end, end)]
            parts.append(line)
            start = end + 1
    metadata: dict[str, JsonValue] = {
        "seconds": round(transcript.seconds, 2),
        "transcribed_by": transcript.model,
        **({"language": transcript.language} if transcript.language else {}),
    }
    untimed = f"{transcript.model} gives no times: citations name no second"
    return Document(
        source,
        "\n".join(parts),
        source,
        metadata=metadata,
        times=tuple(times) if transcript.timed else (),
        warnings=() if transcript.timed else (untimed,),
    )

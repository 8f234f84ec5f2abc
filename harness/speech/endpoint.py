"""The audio endpoints of an OpenAI-compatible server: `/audio/transcriptions`, `/audio/speech`.

As a back end of the model layer, so that a call of them is cached, recorded, replayed, counted and
tried again as any other: a request to hear or to speak is a chat request, in the form that the
OpenAI API has for sound in conversations. A recording is named in it by its digest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import openai
from openai import AsyncOpenAI

from harness.core import BadInput, Unreachable, listing, mapping, string
from harness.models import Body, Endpoint, Fault, answering, fault_of
from harness.speech.sound import read_wav
from harness.speech.transcript import Segment, Transcript

# A server may take minutes for an hour of speech.
TIMEOUT_S = 900.0
MOST_BYTES = 25 * 1024 * 1024
"""Of a recording that is sent; OpenAI's limit, which other servers copy."""
MOST_CHARACTERS = 4096
"""Of a text that is spoken by one call."""
# How a server says that it cannot give times.
_UNTIMED = ("response_format", "verbose_json", "timestamp")


@dataclass(frozen=True)
class Recording:
    """A file to be heard; its suffix tells servers the format, its name is for messages."""

    data: bytes
    suffix: str
    name: str


def completion(model: str, content: str, usage: Any = None) -> Body:
    """An answer in the form of a chat completion; tokens count where the server counted them."""
    counted = mapping(usage)
    tokens = {"prompt_tokens": counted.get("input_tokens"),
              "completion_tokens": counted.get("output_tokens")}  # fmt: skip
    message = {"role": "assistant", "content": content}
    body: Body = {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    return body | ({"usage": tokens} if None not in tokens.values() else {})


class Transcriptions:
    """Hears recordings at a server.

    Args:
        endpoint: of one base URL.
        recordings: by SHA-256; what a request names must be among them.
    """

    def __init__(self, endpoint: Endpoint, recordings: Mapping[str, Recording]) -> None:
        self._endpoint, self._recordings = endpoint, recordings
        self._where = f"{endpoint.kind} endpoint {endpoint.url}"

    async def answer(self, body: Body) -> Body:
        """A transcript as the content of a completion.

        Raises:
            Fault: if there is none.
        """
        part = body["messages"][0]["content"][0]["input_audio"]
        recording = self._recordings[part["sha256"]]
        if len(recording.data) > MOST_BYTES:
            raise Fault(
                BadInput(
                    f"expected a recording of at most {MOST_BYTES >> 20} MiB for {self._where}, "
                    f"got {len(recording.data) / 2**20:.0f} MiB: compress or cut it, or hear it "
                    "with local/whisper-base"
                )
            )
        fields: dict[str, Any] = {
            "file": (f"recording{recording.suffix}", recording.data),
            "model": body["model"],
            **({"language": body["language"]} if body.get("language") else {}),
        }

        async def ask(client: AsyncOpenAI, form: dict[str, Any]) -> bytes:
            # Raw: the client would take any JSON for a transcript.
            create: Any = client.audio.transcriptions.with_raw_response.create
            return (await create(**fields, **form, timeout=TIMEOUT_S)).content

        timed = {"response_format": "verbose_json", "timestamp_granularities": ["segment"]}
        try:
            async with answering(TIMEOUT_S), self._endpoint.client(1) as client:
                try:
                    content = await ask(client, timed)
                except openai.APIStatusError as error:  # of a model that gives no times
                    refusal = error.response.text
                    untimed = any(word in refusal for word in _UNTIMED)
                    if error.status_code not in (400, 422) or not untimed:
                        raise
                    content = await ask(client, {"response_format": "json"})
        except openai.APIError as error:
            raise fault_of(error, self._endpoint, self._where) from error
        transcript, usage = _read(content, self._where)
        return completion(body["model"], transcript.model_dump_json(), usage)


def _read(content: bytes, where: str) -> tuple[Transcript, Any]:
    """The transcript and the usage in what a server answered.

    Raises:
        Fault: if it is no transcript.
    """
    try:
        answer = mapping(json.loads(content))
        if not isinstance(answer.get("text"), str):
            raise ValueError("no text")
        seconds = float(answer.get("duration") or 0.0)
        parts = [
            Segment(
                start=part["start"],
                end=max(part["start"], part["end"]),
                text=part["text"].strip(),
                speaker=string(part.get("speaker")),
            )
            for part in map(mapping, listing(answer.get("segments")))
        ]
        recording = Segment(start=0.0, end=seconds, text=answer["text"].strip())
        transcript = Transcript(
            segments=tuple(sorted(parts, key=lambda part: part.start)) or (recording,),
            language=string(answer.get("language")),
            seconds=max([seconds, *(part.end for part in parts)]),
            timed=bool(parts),
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        text = content[:200].decode("utf-8", "replace")
        problem = Unreachable(f"{where}: expected a transcript as JSON, got {text!r}")
        raise Fault(problem, lost=True) from error
    return transcript, answer.get("usage")


class Speech:
    """Speaks texts at a server of one base URL."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._where = f"{endpoint.kind} endpoint {endpoint.url}"

    async def answer(self, body: Body) -> Body:
        """A WAV file in base64 as the content of a completion.

        Raises:
            Fault: if there is none.
        """
        fields = {name: body[name] for name in ("instructions", "speed") if name in body}
        try:
            async with answering(TIMEOUT_S), self._endpoint.client(1) as client:
                spoken = await client.audio.speech.create(
                    model=body["model"],
                    voice=body["audio"]["voice"],
                    input=body["messages"][0]["content"],
                    response_format="wav",
                    timeout=TIMEOUT_S,
                    **fields,
                )
                data = spoken.content
        except openai.APIError as error:
            raise fault_of(error, self._endpoint, self._where) from error
        try:
            read_wav(data, "the answer")
        except BadInput as error:
            problem = f"{self._where}: {error}; it begins with {data[:40]!r}"
            raise Fault(Unreachable(problem), lost=True) from error
        return completion(body["model"], base64.b64encode(data).decode())

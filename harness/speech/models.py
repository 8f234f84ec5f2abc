"""Models that hear and models that speak, on a server or on this machine, in one layer of calls.

Specs are those of every command: `openai/whisper-1`, `vllm/<model>`, `replay/<file>`, and two that
need no server: `local/whisper-base`, `local/hibari`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from harness.core import BadInput, decoding
from harness.models import (
    Backend,
    Body,
    Budget,
    CallStore,
    ChatModel,
    Endpoint,
    Fault,
    Sampling,
    parse_spec,
    resolve,
)
from harness.speech.endpoint import MOST_CHARACTERS, Recording, Speech, Transcriptions, completion
from harness.speech.offline import RECOGNIZER, VOICE, VOICES, speak, transcribe
from harness.speech.sound import Sound, read_wav
from harness.speech.transcript import Transcript

DEFAULT_RECOGNIZER, DEFAULT_SYNTHESIZER = f"local/{RECOGNIZER}", f"local/{VOICE}"
OPENAI_VOICES = (
    "alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse",
)  # fmt: skip


class Recognizer:
    """Hears recordings (speech recognition). Made by :func:`open_recognizer`.

    Attributes:
        spec: the spec string.
    """

    def __init__(self, model: ChatModel, recordings: dict[str, Recording]) -> None:
        self._model, self._recordings = model, recordings
        self.spec = model.spec

    async def transcribe(self, data: bytes, name: str, language: str = "") -> Transcript:
        """Transcribe a recording; one that was heard before is not heard again.

        Args:
            data: the file.
            name: its name; the suffix tells the format.
            language: ISO 639-1 code; "" to let the model find it.

        Raises:
            BadInput: if it cannot be read, the server rejects it, or nothing is said in it.
            Unreachable: if the server does not answer, or gives no transcript.
            LimitReached: if the budget has no call left.
        """
        suffix, key = PurePath(name).suffix.lower(), sha256(data).hexdigest()
        self._recordings[key] = Recording(data, suffix, name)
        part = {"type": "input_audio", "input_audio": {"sha256": key, "format": suffix[1:]}}
        extra: dict[str, Any] = {"language": language} if language else {}
        try:
            reply = await self._model.complete(
                [{"role": "user", "content": [part]}], sampling=Sampling(extra=extra)
            )
        finally:
            self._recordings.pop(key, None)
        with decoding(f"the transcript of {name!r}"):
            transcript = Transcript.model_validate_json(reply.text)
        if not transcript.text.strip():
            seconds = f" in {transcript.seconds:.0f} seconds" if transcript.seconds else ""
            raise BadInput(f"{name!r}: {self.spec} heard no speech{seconds}")
        return transcript.model_copy(update={"model": self.spec})


class Synthesizer:
    """Speaks texts (speech synthesis). Made by :func:`open_synthesizer`.

    Attributes:
        spec: the spec string.
        voices: known voices; a server may have others.
        obeys: whether the model follows instructions in words.
    """

    def __init__(self, model: ChatModel, voices: tuple[str, ...], obeys: bool) -> None:
        self._model = model
        self.spec, self.voices, self.obeys = model.spec, voices, obeys

    async def speak(
        self, text: str, voice: str = "", *, instructions: str = "", speed: float = 1.0
    ) -> Sound:
        """A text as sound; one that was spoken before in the same way is not spoken again.

        Args:
            text: at most 4,096 characters.
            voice: default the first of `voices`.
            instructions: how to say it, in words.
            speed: 1 is the usual pace.

        Raises:
            BadInput: for an empty or too long text, an unknown voice, or what the server rejects.
            Unreachable: if the server does not answer, or gives no sound.
            LimitReached: if the budget has no call left.
        """
        if not text.strip() or len(text) > MOST_CHARACTERS:
            raise BadInput(
                f"expected a text of 1 to {MOST_CHARACTERS} characters, got {len(text)} characters"
            )
        extra: dict[str, Any] = {
            "modalities": ["audio"],
            "audio": {"voice": voice or self.voices[0], "format": "wav"},
        }
        if instructions and self.obeys:
            extra["instructions"] = instructions
        if speed != 1.0:
            extra["speed"] = speed
        reply = await self._model.complete(
            [{"role": "user", "content": text}], sampling=Sampling(extra=extra)
        )
        with decoding(f"the speech of {self.spec}"):
            return read_wav(base64.b64decode(reply.text, validate=True), "the recorded speech")


def open_recognizer(
    spec: str = DEFAULT_RECOGNIZER,
    *,
    base_url: str | None = None,
    calls: CallStore | None = None,
    budget: Budget | None = None,
) -> Recognizer:
    """Open a model that hears.

    Args:
        spec: see the module.
        base_url: as in :func:`harness.models.open_model`; one.
        calls: where calls are recorded and answered from; default in memory.
        budget: of calls. Money and tokens of sound are not known beforehand.

    Raises:
        BadInput: for a spec that cannot be opened, several base URLs, or another budget.
    """
    recordings: dict[str, Recording] = {}

    async def offline(body: Body) -> Body:
        key = body["messages"][0]["content"][0]["input_audio"]["sha256"]
        recording, language = recordings[key], body.get("language")
        heard = await _threaded(lambda: transcribe(recording.data, recording.name, language))
        return completion(RECOGNIZER, heard.model_dump_json())

    def served(endpoint: Endpoint) -> Backend:
        return Transcriptions(endpoint, recordings).answer

    return Recognizer(_open(spec, RECOGNIZER, offline, served, base_url, calls, budget), recordings)


def open_synthesizer(
    spec: str = DEFAULT_SYNTHESIZER,
    *,
    base_url: str | None = None,
    calls: CallStore | None = None,
    budget: Budget | None = None,
) -> Synthesizer:
    """Open a model that speaks; arguments and errors as of :func:`open_recognizer`."""

    async def offline(body: Body) -> Body:
        text, voice = body["messages"][0]["content"], body["audio"]["voice"]
        sound = await _threaded(lambda: speak(text, voice, body.get("speed", 1.0)))
        return completion(VOICE, base64.b64encode(sound.to_wav()).decode())

    def served(endpoint: Endpoint) -> Backend:
        return Speech(endpoint).answer

    model = _open(spec, VOICE, offline, served, base_url, calls, budget)
    is_local = spec == DEFAULT_SYNTHESIZER
    return Synthesizer(model, tuple(VOICES) if is_local else OPENAI_VOICES, not is_local)


def _open(
    spec: str,
    packaged: str,
    offline: Backend,
    served: Callable[[Endpoint], Backend],
    base_url: str | None,
    calls: CallStore | None,
    budget: Budget | None,
) -> ChatModel:
    """The layer of calls in front of a back end."""
    parsed, limits, store = parse_spec(spec), budget or Budget(), calls or CallStore()
    if limits.bounds_tokens:
        raise BadInput(f"{spec}: expected a budget of calls: sound has no known worst case")
    if parsed.kind == "local":
        if parsed.name != packaged:
            raise BadInput(f"expected local/{packaged}, got {spec!r}: it is the packaged model")
        endpoint = Endpoint("local", packaged, backend=offline, slots=1)
    else:
        endpoint = resolve(parsed, base_url)
        if endpoint.backend is None:
            endpoint = replace(endpoint, backend=served(endpoint))
    limits.adopt(store.name, store.spend())
    return ChatModel(parsed, endpoint, store, limits, Sampling(), 4, "agent", False)


async def _threaded(work: Callable[[], Any]) -> Any:
    """Off the event loop; input that cannot be used is a final answer.

    Raises:
        Fault: for bad input.
    """
    try:
        return await asyncio.to_thread(work)
    except BadInput as error:
        raise Fault(error) from error

"""A vision model of the user's own in OpenVINO form, behind the same app as the embedded engine.

`local/<folder>` names a folder that `optimum-cli export openvino` wrote from a model that sees
(Qwen2-VL, Qwen2.5-VL, MiniCPM-V, Phi-3.5-vision, ...: what openvino-genai's `VLMPipeline` takes).
One request runs at a time. Images come as data URLs, in the order of the messages.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from base64 import b64decode
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.core import BadInput
from harness.engines.embedded.request import DEFAULT_MAX_TOKENS, Rejected, TextPart, parse_body
from harness.engines.embedded.server import failed

if TYPE_CHECKING:
    from PIL.Image import Image

NEEDED = (
    "config.json",
    "openvino_language_model.xml",
    "openvino_vision_embeddings_model.xml",
    "openvino_tokenizer.xml",
    "openvino_detokenizer.xml",
)
"""Files that every export of a vision model has."""
MOST_IMAGES = 64
_DATA = "data:"


class _Url(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class _ImagePart(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["image_url"]
    image_url: _Url


_Part = Annotated[TextPart | _ImagePart, Field(discriminator="type")]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]


class SeeingRequest(BaseModel):
    """Body of `POST /v1/chat/completions`; a parameter that is not listed is refused."""

    model_config = ConfigDict(extra="forbid")

    model: str
    messages: list[_Message] = Field(min_length=1)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)
    stop: list[str] | None = None
    stream: Literal[False] | None = None
    tools: list[Any] | None = Field(None, max_length=0)


class Seen(NamedTuple):
    """What the model wrote, with tokens that entered and left it."""

    text: str
    prompt_tokens: int
    completion_tokens: int


Answerer = Callable[[list[dict[str, str]], "list[Image]", dict[str, Any]], Seen]
"""Messages with image tags, the images, and settings of the generation to an answer."""


def app(folder: Path, load: Callable[[Path], Answerer] | None = None) -> Starlette:
    """The app of a vision model; its weights load on the first request.

    Args:
        folder: of the exported model.
        load: how the model is opened; openvino-genai by default.

    Raises:
        BadInput: if the folder is no export of a vision model, or the library is not installed.
    """
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        raise BadInput(
            f"expected a vision model in OpenVINO form in {str(folder)!r}, found no "
            f"{', '.join(missing)}: write one with `optimum-cli export openvino --model MODEL "
            "--task image-text-to-text FOLDER`"
        )
    if find_spec("openvino_genai") is None:
        raise BadInput("a local vision model needs `pip install 'agent-skill-harness[local,vqa]'`")
    service = _Service(folder, load or open_model)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.chat, methods=["POST"]),
            Route("/v1/models", service.models),
        ]
    )


class _Service:
    def __init__(self, folder: Path, load: Callable[[Path], Answerer]) -> None:
        self._folder, self._load = folder, load
        self._answerer: Answerer | None = None
        self._lock = threading.Lock()

    async def models(self, request: Request) -> Response:
        """The one model that this app serves."""
        entry = {"id": self._folder.name, "object": "model", "created": 0, "owned_by": "local"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        try:
            wanted = parse_body(await request.body(), SeeingRequest)
            messages, images = conversation(wanted)
            seen = await asyncio.to_thread(self._answer, messages, images, settings(wanted))
        except Rejected as error:
            return failed(400, str(error), error.param)
        except RuntimeError as error:
            last = str(error).strip().splitlines()[-1:] or ["unknown error"]
            return failed(500, f"the model in {str(self._folder)!r} failed: {last[0]}", None)
        limit = wanted.max_tokens or DEFAULT_MAX_TOKENS
        finish = "length" if seen.completion_tokens >= limit else "stop"
        message = {"role": "assistant", "content": seen.text}
        total = seen.prompt_tokens + seen.completion_tokens
        return JSONResponse(
            {
                "id": f"chatcmpl-{uuid.uuid4().hex}",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": self._folder.name,
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {
                    "prompt_tokens": seen.prompt_tokens,
                    "completion_tokens": seen.completion_tokens,
                    "total_tokens": total,
                },
            }
        )

    def _answer(
        self, messages: list[dict[str, str]], images: list[Image], chosen: dict[str, Any]
    ) -> Seen:
        with self._lock:  # the pipeline is not safe to call from several threads
            if self._answerer is None:
                self._answerer = self._load(self._folder)
            return self._answerer(messages, images, chosen)


def conversation(wanted: SeeingRequest) -> tuple[list[dict[str, str]], list[Image]]:
    """Messages with a tag where every image stands, and the images in that order.

    Raises:
        Rejected: for an image that is no data URL or cannot be decoded, or too many.
    """
    images: list[Image] = []
    messages: list[dict[str, str]] = []
    for message in wanted.messages:
        role = "system" if message.role == "developer" else message.role
        pieces = [message.content] if isinstance(message.content, str) else []
        for part in () if isinstance(message.content, str) else message.content:
            if isinstance(part, TextPart):
                pieces.append(part.text)
            else:
                pieces.append(f"<ov_genai_image_{len(images)}>")
                images.append(_decoded(part.image_url.url, len(images)))
        messages.append({"role": role, "content": "\n".join(pieces)})
    if len(images) > MOST_IMAGES:
        raise Rejected("messages", f"expected at most {MOST_IMAGES} images, found {len(images)}")
    return messages, images


def settings(wanted: SeeingRequest) -> dict[str, Any]:
    """Fields of the library's GenerationConfig; greedy without a temperature."""
    chosen: dict[str, Any] = {
        "max_new_tokens": wanted.max_tokens or DEFAULT_MAX_TOKENS,
        "do_sample": bool(wanted.temperature),
        "stop_strings": set(wanted.stop or ()),
    }
    if wanted.temperature:
        chosen["temperature"] = wanted.temperature
        if wanted.top_p is not None:
            chosen["top_p"] = wanted.top_p
        if wanted.seed is not None:
            chosen["rng_seed"] = wanted.seed
    return chosen


def _decoded(url: str, number: int) -> Image:
    where = f"image {number + 1}"
    head, comma, data = url.partition(",")
    if not url.startswith(_DATA) or not comma or not head.endswith(";base64"):
        raise Rejected("messages", f"{where}: expected a data URL in base64, found {url!r:.60}")
    from PIL import Image

    try:
        with Image.open(BytesIO(b64decode(data, validate=True))) as handle:
            return handle.convert("RGB")
    except (ValueError, OSError) as error:
        raise Rejected("messages", f"{where} cannot be decoded: {error}") from error


def open_model(folder: Path) -> Answerer:
    """The model of a folder, on the CPU.

    Raises:
        RuntimeError: if the library cannot load it.
    """
    import numpy as np
    import openvino_genai as genai
    from openvino import Tensor

    library: Any = genai
    pipeline = library.VLMPipeline(folder, "CPU")

    def answer(messages: list[dict[str, str]], images: list[Image], chosen: dict[str, Any]) -> Seen:
        config = pipeline.get_generation_config()
        for name, value in chosen.items():
            setattr(config, name, value)
        tensors = [Tensor(np.asarray(image, dtype=np.uint8)[None]) for image in images]
        history = library.ChatHistory(messages)
        found = pipeline.generate(history, images=tensors, generation_config=config)
        metrics = found.perf_metrics
        return Seen(
            found.texts[0], metrics.get_num_input_tokens(), metrics.get_num_generated_tokens()
        )

    return answer

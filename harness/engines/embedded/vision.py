"""A vision model of the user's own in OpenVINO form, as a back end.

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

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from harness.core import BadInput
from harness.core.plugins import install_command
from harness.engines.embedded.wire import DEFAULT_MAX_TOKENS
from harness.models import Backend, Body, Refused

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


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _TextPart(_Strict):
    type: Literal["text"]
    text: str


class _Url(_Strict):
    url: str
    detail: Literal["auto", "low", "high"] = "auto"


class _ImagePart(_Strict):
    type: Literal["image_url"]
    image_url: _Url


class _Message(_Strict):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Annotated[_TextPart | _ImagePart, Field(discriminator="type")]]


class VisionRequest(_Strict):
    """Body of `POST /v1/chat/completions` of a vision model; other parameters are refused."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)
    stop: list[str] | None = None
    stream: Literal[False] | None = None
    tools: list[JsonValue] | None = Field(None, max_length=0)


def parse(body: Body) -> VisionRequest:
    """Read a request body.

    Raises:
        Refused: naming the first parameter that cannot be honoured.
    """
    try:
        return VisionRequest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        param = ".".join(str(part) for part in first["loc"]) or "body"
        reason = f"{param}: {first['msg']}, found {first['input']!r:.80}"
        if first["type"] == "extra_forbidden":
            reason = f"{param}: a local vision model has no such parameter"
        raise Refused(400, reason, param) from error


class VisionAnswer(NamedTuple):
    """Text of the model, with tokens that entered and left it."""

    text: str
    prompt_tokens: int
    completion_tokens: int


VisionModel = Callable[[list[dict[str, str]], "list[Image]", dict[str, Any]], VisionAnswer]
"""Messages with image tags, the images, and settings of the generation to an answer."""


def backend(folder: Path, load: Callable[[Path], VisionModel] | None = None) -> Backend:
    """The back end of a vision model; its weights load on the first request.

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
        raise BadInput(f"a local vision model needs `{install_command('openvino', 'vqa')}`")
    loaded: list[VisionModel] = []
    lock = threading.Lock()

    def generate(
        messages: list[dict[str, str]], images: list[Image], options: dict[str, Any]
    ) -> VisionAnswer:
        with lock:  # the pipeline is not safe to call from several threads
            if not loaded:
                loaded.append((load or open_model)(folder))
            return loaded[0](messages, images, options)

    async def answer(body: Body) -> Body:
        chat = parse(body)
        messages, images = conversation(chat)
        try:
            reply = await asyncio.to_thread(generate, messages, images, settings(chat))
        except RuntimeError as error:
            last = str(error).strip().splitlines()[-1:] or ["unknown error"]
            raise Refused(500, f"the model in {str(folder)!r} failed: {last[0]}") from error
        limit = chat.max_tokens or DEFAULT_MAX_TOKENS
        finish = "length" if reply.completion_tokens >= limit else "stop"
        message = {"role": "assistant", "content": reply.text}
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": folder.name,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "total_tokens": reply.prompt_tokens + reply.completion_tokens,
            },
        }

    return answer


def conversation(chat: VisionRequest) -> tuple[list[dict[str, str]], list[Image]]:
    """Messages with a tag where every image stands, and the images in that order.

    Raises:
        Refused: for an image that is no data URL or cannot be decoded, or too many.
    """
    from PIL.Image import open as open_image

    images: list[Image] = []
    messages: list[dict[str, str]] = []
    for message in chat.messages:
        role = "system" if message.role == "developer" else message.role
        pieces = [message.content] if isinstance(message.content, str) else []
        for part in () if isinstance(message.content, str) else message.content:
            if isinstance(part, _TextPart):
                pieces.append(part.text)
                continue
            number, url = len(images) + 1, part.image_url.url
            head, comma, data = url.partition(",")
            if not url.startswith("data:") or not comma or not head.endswith(";base64"):
                raise Refused(
                    400,
                    f"image {number}: expected a data URL in base64, found {url!r:.60}",
                    "messages",
                )
            pieces.append(f"<ov_genai_image_{len(images)}>")
            try:
                with open_image(BytesIO(b64decode(data, validate=True))) as handle:
                    images.append(handle.convert("RGB"))
            except (ValueError, OSError) as error:
                reason = f"image {number} cannot be decoded: {error}"
                raise Refused(400, reason, "messages") from error
        messages.append({"role": role, "content": "\n".join(pieces)})
    if len(images) > MOST_IMAGES:
        raise Refused(
            400, f"expected at most {MOST_IMAGES} images, found {len(images)}", "messages"
        )
    return messages, images


def settings(chat: VisionRequest) -> dict[str, Any]:
    """Fields of the library's GenerationConfig; greedy without a temperature."""
    options: dict[str, Any] = {
        "max_new_tokens": chat.max_tokens or DEFAULT_MAX_TOKENS,
        "do_sample": bool(chat.temperature),
        "stop_strings": set(chat.stop or ()),
    }
    if chat.temperature:
        sampling = {"temperature": chat.temperature, "top_p": chat.top_p, "rng_seed": chat.seed}
        options |= {name: value for name, value in sampling.items() if value is not None}
    return options


def open_model(folder: Path) -> VisionModel:
    """The model of a folder, on the CPU.

    Raises:
        RuntimeError: if the library cannot load it.
    """
    import numpy as np
    import openvino_genai as genai
    from openvino import Tensor

    library: Any = genai
    pipeline = library.VLMPipeline(folder, "CPU")

    def answer(
        messages: list[dict[str, str]], images: list[Image], options: dict[str, Any]
    ) -> VisionAnswer:
        config = pipeline.get_generation_config()
        for name, value in options.items():
            setattr(config, name, value)
        tensors = [Tensor(np.asarray(image, dtype=np.uint8)[None]) for image in images]
        history = library.ChatHistory(messages)
        reply = pipeline.generate(history, images=tensors, generation_config=config)
        metrics = reply.perf_metrics
        return VisionAnswer(
            reply.texts[0], metrics.get_num_input_tokens(), metrics.get_num_generated_tokens()
        )

    return answer

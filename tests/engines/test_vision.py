"""A vision model in a folder: what its app takes, gives and refuses. No weights are at hand."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from harness.core import BadInput
from harness.engines import serve
from harness.engines.embedded import vision
from harness.engines.embedded.vision import NEEDED, VisionAnswer
from harness.models import Backend, open_model, served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of an export, all of them empty."""
    path = tmp_path / "qwen2.5-vl-3b"
    path.mkdir()
    for name in NEEDED:
        (path / name).write_bytes(b"")
    return path


def _url(colour: str) -> str:
    out = BytesIO()
    Image.new("RGBA", (28, 14), colour).save(out, "PNG")
    return "data:image/png;base64," + b64encode(out.getvalue()).decode()


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _post(backend: Backend, **body: Any) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=served(backend, "m"))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/v1/chat/completions", json={"model": "m", **body})

    return asyncio.run(send())


class _Recorder:
    """Stands for the native library: keeps what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[dict[str, str]], list[Image.Image], dict[str, Any]]] = []

    def load(self, folder: Path) -> vision.VisionModel:
        def answer(
            messages: list[dict[str, str]], images: list[Image.Image], chosen: dict[str, Any]
        ) -> VisionAnswer:
            self.calls.append((messages, images, chosen))
            return VisionAnswer("red then blue", 90, 4)

        return answer


def test_images_stand_where_their_parts_stood(folder: Path) -> None:
    recorder = _Recorder()
    content = [_image(_url("red")), {"type": "text", "text": "and"}, _image(_url("blue")),
               {"type": "text", "text": "Which?"}]  # fmt: skip
    said = _post(
        vision.backend(folder, recorder.load),
        messages=[{"role": "developer", "content": "Short."}, {"role": "user", "content": content}],
        max_tokens=4,
        temperature=0.5,
        seed=3,
    ).json()
    assert said["choices"][0]["message"]["content"] == "red then blue"
    assert said["choices"][0]["finish_reason"] == "length"
    assert said["usage"]["total_tokens"] == 94
    ((messages, images, chosen),) = recorder.calls
    assert messages == [
        {"role": "system", "content": "Short."},
        {"role": "user", "content": "<ov_genai_image_0>\nand\n<ov_genai_image_1>\nWhich?"},
    ]
    assert [(image.mode, image.size) for image in images] == [("RGB", (28, 14))] * 2
    assert [image.getpixel((0, 0)) for image in images] == [(255, 0, 0), (0, 0, 255)]
    assert chosen == {"max_new_tokens": 4, "do_sample": True, "stop_strings": set(),
                      "temperature": 0.5, "rng_seed": 3}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"messages": [{"role": "user", "content": [_image("https://x.org/a.png")]}]},
         "image 1: expected a data URL in base64"),
        ({"messages": [{"role": "user", "content": [_image("data:image/png;base64,AAAA")]}]},
         "image 1 cannot be decoded"),
        ({"logit_bias": {}}, "no such parameter"),
        ({"stream": True}, "stream"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_by_name(
    folder: Path, change: dict[str, Any], text: str
) -> None:
    recorder = _Recorder()
    body = {"messages": [{"role": "user", "content": "?"}], **change}
    refused = _post(vision.backend(folder, recorder.load), **body)
    assert refused.status_code == 400
    assert text in refused.json()["error"]["message"]
    assert recorder.calls == []


def test_a_folder_without_a_model_says_what_is_missing(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(BadInput, match=r"found no config\.json, openvino_language_model\.xml"):
        open_model(f"local/{tmp_path}/nothing")
    (folder / "openvino_tokenizer.xml").unlink()
    with pytest.raises(BadInput, match=r"no openvino_tokenizer\.xml: write one with `optimum"):
        open_model(f"local/{folder}")


def test_weights_that_do_not_load_are_a_fault_with_a_reason(folder: Path) -> None:
    """The real library on empty files."""
    failed = _post(vision.backend(folder), messages=[{"role": "user", "content": "?"}])
    assert failed.status_code == 500
    assert f"the model in {str(folder)!r} failed: " in failed.json()["error"]["message"]


def test_a_folder_is_served_without_the_weights_of_an_embedded_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    served: list[Any] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: served.append(server))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    serve(f"local/{folder}", 0, print)
    assert len(served) == 1

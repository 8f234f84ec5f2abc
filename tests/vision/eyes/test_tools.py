"""The tools in the sandbox, as an agent calls them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from harness.core import BadInput
from harness.sandbox import select
from harness.tools import Arguments, Bench, ToolArgumentError, get_tools
from harness.vision.tools import VISION_TOOLS
from tests.backends import fresh_cache


@pytest.fixture(autouse=True, scope="module")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]  # autouse
    """One cache for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE", fresh_cache(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with one picture: two shapes and a word."""
    image = Image.new("RGB", (300, 200), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((20, 20, 80, 80), fill=(205, 45, 45))
    pen.rectangle((120, 20, 180, 80), fill=(50, 90, 215))
    pen.text((30, 130), "Total 42.50", fill="black", font=ImageFont.load_default(26))
    image.save(tmp_path / "a.png")
    return tmp_path


def _call(name: str, work: Path, **arguments: Any) -> Any:
    return json.loads(_said(name, arguments, Bench(work, select("auto"))))


def _said(name: str, arguments: Arguments, bench: Bench) -> str:
    (tool,) = get_tools([name])

    async def run() -> str:
        return await tool.run(arguments, bench)

    return asyncio.run(run())


def test_every_tool_has_a_schema() -> None:
    for tool in get_tools(VISION_TOOLS):
        schema: Any = tool.schema()
        assert schema["function"]["parameters"]["required"][0] == "file"


def test_zoom_leaves_a_file_and_nothing_else(work: Path) -> None:
    said = _call("zoom", work, file="a.png", box=[10, 10, 100, 100])
    assert said == {"file": "zoom-10-10-100-100.png", "box": [10, 10, 100, 100], "size": [720, 720]}
    with Image.open(work / said["file"]) as image:
        assert image.size == (720, 720)
    assert sorted(path.name for path in work.iterdir()) == ["a.png", "zoom-10-10-100-100.png"]


def test_shapes_have_boxes_in_pixels_of_the_file(work: Path) -> None:
    said = _call("shapes", work, file="a.png", box=[100, 0, 300, 100])
    assert said["counts"] == {"blue square": 1}
    left, top, right, bottom = said["shapes"][0]["box"]
    assert abs(left - 120) + abs(top - 20) + abs(right - 181) + abs(bottom - 81) < 8


def test_text_is_read_with_its_box(work: Path) -> None:
    (line,) = _call("ocr", work, file="a.png")
    assert line["text"].replace(" ", "") == "Total42.50"
    left, top, right, bottom = line["box"]
    assert 15 < left < 45
    assert right < 200
    assert 110 < top < bottom < 180


def test_faults_come_back_to_the_model(work: Path) -> None:
    (work / "b.png").write_bytes(b"no picture")
    assert "UnidentifiedImageError" in _call("shapes", work, file="b.png")["error"]
    assert "is empty" in _call("zoom", work, file="a.png", box=[50, 50, 50, 60])["error"]
    with pytest.raises(ToolArgumentError, match=r"no file 'c\.png'; there are a\.png, b\.png"):
        _call("shapes", work, file="c.png")
    with pytest.raises(ToolArgumentError, match="no file"):
        _call("shapes", work, file="../../etc/passwd")
    with pytest.raises(BadInput, match="need a sandbox"):
        _said("shapes", {"file": "a.png"}, Bench(work))

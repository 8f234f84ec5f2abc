"""A matrix in the run pages, and as one file to share."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.debug.web.browse import Browsing, Library
from tests.browser import browser_at, examine
from tests.evals.test_matrix import SECRET, answer, serve, told, written
from tests.models.http_server import Served


def inflated(page: str) -> list[str]:
    """The parts of the answers of a copy, as JSON."""
    parts = re.findall(r'class="kept">(.*)</script>', page)
    return [zlib.decompress(base64.b64decode(part)).decode() for part in parts]


def copied(folder: Path, served: Served) -> str:
    path = written(folder, served.url, tasks=4)
    words = [str(path), "--out", str(folder / "m"), "--html", str(folder / "m.html")]
    assert told(*words).exit_code == 0
    return (folder / "m.html").read_text()


def test_the_copy_to_share_has_all_cells_and_tells_no_secret_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serve(answer) as served:
        page = copied(tmp_path, served)
    texts = inflated(page)
    kept: dict[str, Any] = {}
    for text in texts[:-1]:
        kept |= json.loads(text)
    assert kept.keys() == json.loads(texts[-1]).keys()
    matrix = kept["matrix\0."]
    assert matrix["name"] == "sizes"
    assert {f"run\0{one['run']}" for one in matrix["cells"]} <= kept.keys()
    everything = "".join([page, *texts])
    assert "no idea" in everything
    assert SECRET not in everything
    assert str(tmp_path) not in everything
    assert str(Path.home()) + "/" not in everything
    asyncio.run(look_at((tmp_path / "m.html").as_uri()))


async def look_at(address: str) -> None:
    """The copy as its readers see it."""
    async with browser_at(address, ready="body[data-ready]") as (page, asked):
        await page.get_by_role("table", name="Cells").wait_for()
        await examine(page, "matrix")
        assert asked == [address]


def test_the_page_finds_a_matrix_among_other_runs(tmp_path: Path) -> None:
    with serve(answer) as served:
        copied(tmp_path, served)
    browsing = Browsing(Library(tmp_path))
    rows = {row["name"]: row for row in browsing.runs({})["rows"]}
    assert rows["m"]["matrix"] == {"title": "sizes", "cells": 4, "begun": 4}
    shown = browsing.matrix({"matrix": "m"})
    assert {one["run"] for one in shown["cells"]} == rows.keys() - {"m"}
    assert shown["plots"][0][1].startswith("data:image/svg+xml;base64,")
    (tmp_path / "m" / "matrix.json").write_text("{}")
    broken = {row["name"]: row for row in browsing.runs({})["rows"]}["m"]
    assert "cannot be read" in broken["error"]
    with pytest.raises(BadInput, match="expected the name of a matrix"):
        browsing.matrix({"matrix": "nowhere"})

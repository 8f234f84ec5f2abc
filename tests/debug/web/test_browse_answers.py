"""Answers about finished work: who may ask, and their sources."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from harness.core import BadInput
from harness.core.rundir import RunWriter
from harness.debug.web import Library, open_view
from harness.debug.web.browse import Browsing
from harness.debug.web.browse.library import Place
from harness.evolve import kept_trajectory
from tests.debug.web.worlds import LESSON, QUOTE, attempt, lock, write_evolution, write_run

ASKED = (
    "about",
    "runs",
    "run?run=eval",
    "samples?run=eval",
    "tasks?run=eval",
    "item?run=eval&item=t0",
    "session?run=eval&item=t0",
)


@asynccontextmanager
async def client(root: Path) -> AsyncGenerator[tuple[httpx.AsyncClient, dict[str, str]]]:
    """A client of a view, and the headers that are let in."""
    async with open_view(Library(root)) as url:
        [token] = parse_qs(urlsplit(url).query)["token"]
        origin = url.partition("/runs.html")[0]
        async with httpx.AsyncClient(base_url=origin, timeout=30) as found:
            yield found, {"x-harness-token": token}


def test_only_the_page_with_the_token_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        write_run(tmp_path / "eval", {"t0": "fail"})
        async with client(tmp_path) as (found, good):
            for question in ASKED:
                path = f"/api/{question}"
                assert (await found.get(path)).status_code == 403
                evil = {**good, "origin": "http://evil.example"}
                assert (await found.get(path, headers=evil)).status_code == 403
                answer = await found.get(path, headers=good)
                assert answer.status_code == 200, answer.text
                assert "default-src 'none'" in answer.headers["content-security-policy"]

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["../secret", "/etc", "nothing", "eval/../../secret", "%2e%2e"])
def test_what_lies_outside_is_not_told(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    write_run(root / "eval", {"t0": "pass"})
    write_run(tmp_path / "secret", {"t0": "pass"})
    (root / "link").symlink_to(tmp_path / "secret")
    browsing = Browsing(Library(root))
    assert [row["name"] for row in browsing.runs({})["rows"]] == ["eval"]
    for ask in (browsing.run, browsing.samples, browsing.tasks):
        with pytest.raises(BadInput, match="expected the name of an eval run"):
            ask({"run": name})
    with pytest.raises(BadInput, match="expected the name of an evolution"):
        browsing.evolution({"evolution": name})


def test_a_finished_sample_cannot_be_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        write_run(tmp_path / "eval", {"t0": "fail"})
        async with client(tmp_path) as (found, good):
            body: dict[str, Any] = {"command": "rewind", "arguments": {"steps": 1}}
            path = "/api/command?run=eval&item=t0"
            answer = await found.post(path, json=body, headers=good)
            assert (answer.status_code, "only to look at" in answer.text) == (400, True)
            alone = await found.post("/api/command", json=body, headers=good)
            assert (alone.status_code, "no graph is debugged" in alone.text) == (400, True)
            session = (await found.get("/api/session?run=eval&item=t0", headers=good)).json()
            assert session["read_only"] and len(session["branches"]) == 1

    asyncio.run(scenario())


def test_a_run_that_is_still_written_is_read_on(tmp_path: Path) -> None:
    folder = tmp_path / "eval"
    write_run(folder, {"t0": "fail"})
    browsing = Browsing(Library(tmp_path))
    query = {"run": "eval"}
    assert [row["id"] for row in browsing.samples(query)["rows"]] == ["t0"]
    assert list(browsing.tasks(query)["texts"]) == ["t0"]
    write_run(folder, {"t0": "pass", "t1": "fail"})
    segment = folder / "trajectories.seg"
    whole = segment.read_bytes()
    segment.write_bytes(whole + b"\x40\0\0\0torn")
    outcomes = {row["id"]: row["cells"][0][0] for row in browsing.samples(query)["rows"]}
    assert outcomes == {"t0": "pass", "t1": "fail"}
    assert list(browsing.tasks(query)["texts"]) == ["t0", "t1"]
    segment.write_bytes(whole)
    with RunWriter(folder, lock()) as run:
        late = attempt("t9", "pass", "When?", "now")
        run.append_trajectory(late.model_dump(mode="json", exclude_none=True))
    assert browsing.tasks(query)["texts"]["t9"] == "When?"
    assert browsing.item({**query, "item": "t9"})["record"] is None


def test_secrets_are_not_shown_and_long_texts_are_cut(tmp_path: Path) -> None:
    said = "sk-" + "a1" * 20 + " " + "x" * 30_000
    write_run(tmp_path / "eval", {"t0": "fail"}, said=said)
    browsing = Browsing(Library(tmp_path))
    query = {"run": "eval", "item": "t0"}
    thought = browsing.item(query)["transcript"]["steps"][2]["reasoning"]
    assert thought["value"].startswith("[REDACTED] xxx") and len(thought["value"]) == 20_000
    whole = browsing.item({**query, "whole": "3"})["transcript"]["steps"][2]["reasoning"]
    assert len(whole["value"]) == whole["size"] > 30_000


def test_a_line_names_patch_records_and_steps(tmp_path: Path) -> None:
    write_evolution(tmp_path / "evolved")
    browsing = Browsing(Library(tmp_path))
    query = {"evolution": "evolved"}
    [line] = [one for one in browsing.evolution(query)["lines"] if LESSON in one["text"]]
    origin = browsing.lineage({**query, "edit": str(line["edit"])})
    assert LESSON in origin["content"] and origin["support"] == 4
    assert [one["trajectory"] for one in origin["records"]] == ["t0", "t1", "t2", "t3"]
    assert {one["run"] for one in origin["records"]} == {"evolved/runs/train"}
    quotes = origin["records"][0]["quotes"]
    assert (quotes[0]["text"], quotes[0]["step"], quotes[1]["step"]) == (QUOTE, 3, None)
    with pytest.raises(BadInput, match="no edit 99"):
        browsing.lineage({**query, "edit": "99"})


def test_trajectories_that_lie_elsewhere_come_from_what_the_evolution_kept(tmp_path: Path) -> None:
    out = write_evolution(tmp_path / "evolved", inside=False)
    query = {"evolution": ".", "item": "t2"}
    browsing = Browsing(Library(out, kept=kept_trajectory))
    assert browsing.about()["at"] == "evolution=."
    assert len(browsing.item(query)["transcript"]["steps"]) == 3
    with pytest.raises(BadInput, match="--trajectories"):
        browsing.item({**query, "item": "t77"})
    with pytest.raises(BadInput, match="--trajectories"):
        Browsing(Library(out)).item(query)
    elsewhere = Library(out, trajectories=tmp_path / "evolved-read")
    assert len(Browsing(elsewhere).item(query)["transcript"]["steps"]) == 3


def test_a_damaged_evolution_is_told_of_and_the_rest_is_listed(tmp_path: Path) -> None:
    write_run(tmp_path / "eval", {"t0": "pass"})
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "evolve.json").write_text("{")
    rows = {row["name"]: row for row in Browsing(Library(tmp_path)).runs({})["rows"]}
    assert "not JSON" in rows["bad"]["error"] and "report" in rows["eval"]
    with pytest.raises(BadInput, match="not JSON"):
        Browsing(Library(tmp_path)).evolution({"evolution": "bad"})


def test_arms_are_runs_of_the_same_tasks_in_the_same_folder(tmp_path: Path) -> None:
    for name, changed in (("a", {}), ("b", {"skill": "x"}), ("c", {"tasks": "other"})):
        write_run(tmp_path / name, {"t0": "pass"}, **changed)
    write_run(tmp_path / "deeper" / "d", {"t0": "pass"})
    library = Library(tmp_path)
    assert (library.arms("b"), library.arms("c")) == (["b", "a"], ["c"])
    assert isinstance(library.place("deeper/d", "eval"), Place)
    json.dumps(Browsing(library).run({"run": "b"}))

"""Graph view of a sample whose run had a skill: its own copy is enough, else it is played back."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from harness.debug.web import Library, open_view
from harness.evals import EvalSettings, run_evaluation_async
from tests.agents.scripted import Script, in_order, native
from tests.models.http_server import completion, serve

READ = native("read_skill_file", '{"path": "more.md"}')
OPEN = native("read_skill_file", '{"path": "SKILL.md"}')
FORTY_TWO = completion("42")
KINDS: dict[str, tuple[dict[str, str], str, Script, dict[str, Any], list[str]]] = {
    "a text": ({}, "", in_order(FORTY_TWO), {}, ["think"]),
    "with files": (
        {"more.md": "Three times."},
        "tools: [python]\n",
        in_order(READ, FORTY_TWO),
        {},
        ["think", "act", "think"],
    ),
    "discovered": (
        {"more.md": "Three times.", "deep/far.md": "Far."},
        "",
        in_order(OPEN, READ, FORTY_TWO),
        {"skill_mode": "discovered"},
        ["think", "act", "think", "act", "think"],
    ),
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def write_run(folder: Path, kind: str) -> Path:
    """Evaluate one task with a skill of the user's own, which is gone afterwards."""
    files, tools, script, settings, _ = KINDS[kind]
    skill = folder / "mine" / "count-twice"
    head = "---\nname: count-twice\ndescription: Count when asked how many.\n---\nCount twice.\n"
    for name, text in {"SKILL.md": head, **files}.items():
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text(text)
    (folder / "suite.yaml").write_text(f"name: small\ntasks: tasks.jsonl\n{tools}")
    task = {"id": "t1", "prompt": "How many?", "answer": "42", "check": "exact"}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    run = folder / "runs" / "own"
    with serve(lambda body: script(body["messages"])) as served:
        asked = EvalSettings(
            suite=str(folder / "suite.yaml"),
            agent="graph:react",
            skill=skill,
            out=run,
            models=("openai/scripted",),
            base_url=served.url,
            **settings,
        )
        [report] = asyncio.run(run_evaluation_async(asked))
    assert report.passed == 1
    shutil.rmtree(folder / "mine")
    return run


def viewed(runs: Path) -> tuple[dict[str, Any], list[str]]:
    """The session of the sample's graph view, and the nodes of its steps."""

    async def scenario() -> tuple[dict[str, Any], list[str]]:
        async with open_view(Library(runs)) as url:
            [token] = parse_qs(urlsplit(url).query)["token"]
            headers = {"x-harness-token": token}
            origin = url.partition("/runs.html")[0]
            async with httpx.AsyncClient(base_url=origin, headers=headers, timeout=60) as client:
                place = {"run": "own", "item": "t1"}
                session = (await client.get("/api/session", params=place)).json()
                branch = {**place, "branch": session["branch"]}
                steps = (await client.get("/api/timeline", params=branch)).json()["steps"]
        nodes = [task["node"] for step in steps for task in step["tasks"]]
        return session, [node for node in nodes if node != "__start__"]

    return asyncio.run(scenario())


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_keeps_its_skill_and_its_samples_run_again(kind: str, tmp_path: Path) -> None:
    write_run(tmp_path, kind)
    session, nodes = viewed(tmp_path / "runs")
    assert session["stop"]["reason"] == "done"
    assert nodes == KINDS[kind][-1]
    assert session["notes"] == []


@pytest.mark.parametrize("lost", ["removed", "changed", "cut short"])
def test_without_the_skill_messages_are_played_back_and_the_page_says_why(
    lost: str, tmp_path: Path
) -> None:
    [kept] = (write_run(tmp_path, "with files") / "skills").iterdir()
    if lost == "removed":
        shutil.rmtree(kept)
    elif lost == "changed":
        (kept / "count-twice" / "SKILL.md").write_text("Another.")
    else:
        kept.rename(kept.with_suffix(".part"))
    session, nodes = viewed(tmp_path / "runs")
    assert session["stop"]["reason"] == "done"
    assert nodes == ["system", "user", "agent", "tool", "agent"]
    [note] = session["notes"]
    assert "the skill 'count-twice' is not at hand; --skill names it" in note


def test_a_lock_leads_to_no_folder_outside_its_run(tmp_path: Path) -> None:
    run = write_run(tmp_path, "with files")
    [kept] = (run / "skills").iterdir()
    (kept / "count-twice").rename(tmp_path / "count-twice")
    (kept / "count-twice").symlink_to(tmp_path / "count-twice")
    session, _ = viewed(tmp_path / "runs")
    assert "not at hand" in session["notes"][0]


def test_a_copy_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    run = write_run(tmp_path, "with files")
    [kept] = (run / "skills").iterdir()
    kept.rename(kept.with_suffix(".part"))
    (kept.with_suffix(".part") / "count-twice" / "more.md").write_text("Thr")
    shutil.copytree(run / "skills", tmp_path / "cut")
    shutil.rmtree(run)
    shutil.copytree(tmp_path / "cut", run / "skills")
    write_run(tmp_path, "with files")
    session, _ = viewed(tmp_path / "runs")
    assert session["notes"] == []

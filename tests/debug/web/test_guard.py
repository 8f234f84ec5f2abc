"""Refusals, headers of every answer, and limits of a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from harness.checkpoints import open_store
from harness.debug import Debugger, load_graph
from harness.debug.web import open_page
from harness.models import responding
from tests.debug.web.agent import graph


@asynccontextmanager
async def client(
    folder: Path, made: Any = None, **settings: Any
) -> AsyncGenerator[tuple[httpx.AsyncClient, dict[str, str]]]:
    """A client of a page, and the headers that are let in."""
    with open_store(folder / "store.sqlite") as store:
        debugger = Debugger(made or graph.compile(), store)
        async with open_page(debugger, "agent", **settings) as url:
            [token] = parse_qs(urlsplit(url).query)["token"]
            origin = url.partition("/?")[0]
            async with httpx.AsyncClient(base_url=origin, timeout=30) as found:
                yield found, {"x-harness-token": token}


async def run(
    found: httpx.AsyncClient, good: dict[str, str], command: str, **arguments: Any
) -> Any:
    """Run a command to its end; the session then."""
    body = {"command": command, "arguments": arguments}
    answer = await found.post("/api/command", json=body, headers=good)
    assert answer.status_code == 200, answer.text
    for _ in range(100):
        session = (await found.get("/api/session", headers=good)).json()
        if session["busy"] is None:
            return session
        await found.get(f"/api/news?version={session['version']}", headers=good)
    raise AssertionError("still busy")


def test_only_the_page_with_the_token_is_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            assert (await found.get("/api/session", headers=good)).status_code == 200
            for path in ("/api/session", "/api/graph", "/api/news", "/api/timeline?branch=main"):
                assert (await found.get(path)).status_code == 403
                wrong = {"x-harness-token": "x" * 32}
                assert (await found.get(path, headers=wrong)).status_code == 403
            command: dict[str, Any] = {"command": "start", "arguments": {"input": {}}}
            assert (await found.post("/api/command", json=command)).status_code == 403
            for header in (
                {"origin": "http://evil.example"},
                {"origin": "null"},
                {"host": "evil.example"},
                {"host": "evil.example:80"},
            ):
                answer = await found.post("/api/command", json=command, headers={**good, **header})
                assert answer.status_code == 403, header
                assert (await found.get("/", headers=header)).status_code == 403
            session = (await found.get("/api/session", headers=good)).json()
            assert session["branches"] == []

    asyncio.run(scenario())


def test_every_answer_forbids_what_the_page_does_not_need(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            for path in ("/", "/main.js", "/style.css", "/api/session", "/nothing.js"):
                answer = await found.get(path, headers=good)
                policy = answer.headers["content-security-policy"]
                assert "default-src 'none'" in policy and "unsafe" not in policy
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["referrer-policy"] == "no-referrer"
            for path in ("/..%2fapp.py", "/app.py", "/%2e%2e/guard.py", "/static"):
                assert (await found.get(path, headers=good)).status_code == 404
            page = (await found.get("/")).text
            assert good["x-harness-token"] not in page
            assert "http://" not in page and "https://" not in page and "style=" not in page

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"command": "exec"}',
        b'{"command": "__class__"}',
        b'{"command": "break", "arguments": {"node": 3}}',
        b'{"command": "break", "arguments": {"node": "a", "condition": "__import__(\'os\')"}}',
        b'{"command": "watch", "arguments": {"expression": "().__class__"}}',
        b'{"command": "break", "arguments": [1]}',
        b"\xff\xfe",
        b'{"command": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"command": "start", "arguments": {"input": ' + b"[" * 600 + b"]" * 600 + b"}}",
        b'{"command": "\\ud800"}',
    ],
)
def test_what_is_no_command_is_refused(tmp_path: Path, body: bytes) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            answer = await found.post("/api/command", content=body, headers=good)
            assert answer.status_code == 400 and answer.json()["error"]

    asyncio.run(scenario())


def test_names_with_a_null_character_and_long_bodies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            for query in ("sheets?path=a%00b", "source?node=%00", "session?run=%00&item=t"):
                answer = await found.get(f"/api/{query}", headers=good)
                assert answer.status_code == 400 and "null character" in answer.json()["error"]
            assert (await found.get("/a%00.js", headers=good)).status_code == 404
            monkeypatch.setattr(responding, "MAX_BYTES", 1000)
            answer = await found.post("/api/command", content=b" " * 1001, headers=good)
            assert answer.status_code == 413

    asyncio.run(scenario())


def test_a_run_is_stepped_edited_forked_and_compared(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            started = await run(found, good, "start", input={"path": []})
            assert started["stop"]["task"]["node"] == "plan"
            refused = await run(found, good, "fork", checkpoint="x", task=0)
            assert refused["error"]["message"] == "expected a text as 'task', found 0"
            await run(found, good, "break", node="check", condition="n == 2")
            stopped = await run(found, good, "continue")
            assert (stopped["stop"]["reason"], stopped["stop"]["task"]["visit"]) == (
                "breakpoint",
                2,
            )
            refused = await run(found, good, "edit", values={"nonsense": 1})
            assert "nonsense" in refused["error"]["message"] and len(refused["branches"]) == 1
            edited = await run(found, good, "edit", values={"n": 9}, name="nine")
            assert edited["state"]["n"]["value"] == 9
            value = await found.get("/api/value", params={"key": "n"}, headers=good)
            assert value.json() == "9"
            failed = await run(found, good, "continue")
            assert failed["stop"]["failure"]["message"] == "too much: 9"
            assert failed["stop"]["failure"]["frames"][-1]["function"] == "write"
            query = {"a": "main", "b": failed["branch"]}
            both = (await found.get("/api/compare", params=query, headers=good)).json()
            parted = both["pairs"][both["parted"]]
            assert ["n"] in [change["path"] for change in parted["changes"]]
            line = await found.get(
                "/api/timeline", params={"branch": failed["branch"]}, headers=good
            )
            assert line.json()["visits"] == {"plan": 1, "work": 2, "work/read": 2, "check": 2}
            taken = [tuple(edge) for edge in line.json()["taken"]]
            assert ("check", "work") in taken and ("check", "write") in taken
            assert ("work/read", "work/__end__") in taken and ("write", "__end__") not in taken
            missing = await found.get("/api/timeline?branch=nobody", headers=good)
            assert missing.json() == {"steps": [], "visits": {}, "taken": []}

    asyncio.run(scenario())


def test_those_who_wait_for_news_do_not_keep_the_page_open(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with client(tmp_path) as (found, good):
            session = (await found.get("/api/session", headers=good)).json()
            path = f"/api/news?version={session['version']}"
            waiting = [asyncio.create_task(found.get(path, headers=good)) for _ in range(3)]
            await asyncio.sleep(0.2)
            body = {"command": "break", "arguments": {"node": "plan"}}
            assert (await found.post("/api/command", json=body, headers=good)).status_code == 200
            answers = await asyncio.gather(*waiting)
            assert {one.json()["version"] for one in answers} == {session["version"] + 1}
            left = asyncio.create_task(found.get(path.replace("=1", "=2"), headers=good))
            await asyncio.sleep(0.2)
        await asyncio.gather(left, return_exceptions=True)

    asyncio.run(asyncio.wait_for(scenario(), 20))


FLOW = """
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    n: int

def add(state):
    return {"n": 1}

graph = StateGraph(State).add_node("add", add).add_edge(START, "add").compile()
"""


def mine(tmp_path: Path) -> tuple[Path, Path, Callable[[], Any]]:
    """A folder of the user's, the source of a graph in it, and what loads that."""
    folder = tmp_path / "mine"
    folder.mkdir()
    file = folder / "flow.py"
    file.write_text(FLOW)
    return folder, file, lambda: load_graph(f"{file}:graph")


def test_a_source_is_written_only_where_and_as_it_was_shown(tmp_path: Path) -> None:
    folder, file, load = mine(tmp_path)

    async def status(settings: dict[str, Any], **changed: Any) -> tuple[int, str]:
        async with client(tmp_path, load(), **settings) as (found, good):
            shown = (await found.get("/api/source?node=add", headers=good)).json()
            asked = {"node": "add", "digest": shown.get("digest"), "text": "def add(_):\n    1/0\n"}
            body = {"command": "edit_source", "arguments": {**asked, **changed}}
            assert (await found.post("/api/command", json=body)).status_code == 403
            answer = await found.post("/api/command", json=body, headers=good)
            return answer.status_code, answer.text

    async def scenario() -> None:
        full = {"reload": load, "root": folder}
        for settings, changed, message in (
            ({}, {}, "expected a command"),
            ({"reload": load}, {}, "not edited here"),
            ({**full, "root": tmp_path / "other"}, {}, "outside"),
            (full, {"digest": "0" * 64}, "was changed meanwhile"),
            (full, {"node": "../flow"}, "expected a node"),
            (full, {"text": None}, "expected a text as"),
            (full, {"text": "def add(:"}, "expected Python"),
        ):
            code, answer = await status(settings, **changed)
            assert (code, message in answer) == (400, True), answer
        assert file.read_text() == FLOW
        assert [path.name for path in folder.iterdir() if path.is_file()] == ["flow.py"]
        assert (await status(full))[0] == 200
        assert "1/0" in file.read_text()

    asyncio.run(scenario())


def test_a_source_that_cannot_be_read_leaves_the_session_free(tmp_path: Path) -> None:
    folder, file, load = mine(tmp_path)

    async def scenario() -> None:
        async with client(tmp_path, load(), reload=load, root=folder) as (found, good):
            file.write_bytes(b"# \xff\n" + FLOW.encode())
            body = {"command": "edit_source", "arguments": {"node": "add"}}
            answer = await found.post("/api/command", json=body, headers=good)
            assert answer.status_code == 500
            assert (await found.get("/api/session", headers=good)).json()["busy"] is None
            file.write_text(FLOW)
            assert (await run(found, good, "start", input={}))["stop"] is not None

    asyncio.run(asyncio.wait_for(scenario(), 20))

"""Tools of real MCP servers: the reference time server in the sandbox, and one over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvalSettings, run_evaluation
from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.sandbox import Limits, select
from harness.tools import Bench, Tool, ToolArgumentError, get_tools
from tests.models.http_server import Answer, completion, serve

pytest.importorskip("mcp", reason="needs the extra mcp")
TIME = "mcp[convert_time]:mcp-server-time --local-timezone UTC"
NOON = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"}
NOTES = """
import sys
from pathlib import Path
from mcp.server import MCPServer

server = MCPServer("notes")
folder = Path(sys.argv[1])

@server.tool()
def write(text: str) -> str:
    "Write a note."
    (folder / "note.txt").write_text(text)
    return "written"

@server.tool()
def read() -> str:
    "Read the note."
    return (folder / "note.txt").read_text()

@server.tool()
def out() -> str:
    "Look where it is not allowed."
    return Path("/etc/hostname").read_text() + str(list(Path("/root").iterdir()))

if sys.argv[2:]:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    workdir = tmp_path / "work"
    workdir.mkdir()
    return Bench(workdir, select("auto"), Limits(wall_s=60))


def call(tool: Tool, bench: Bench, **arguments: Any) -> str:
    return asyncio.run(tool.call(arguments, bench))


def test_the_time_server_answers_in_the_sandbox(bench: Bench) -> None:
    (tool,) = get_tools([TIME], bench)
    assert (tool.name, tool.parameters["type"]) == ("convert_time", "object")
    assert json.loads(call(tool, bench, **NOON))["target"]["datetime"].endswith("08:30:00+05:30")
    with pytest.raises(ToolArgumentError, match="Nowhere"):
        call(tool, bench, **{**NOON, "target_timezone": "Nowhere"})
    assert list(bench.workdir.iterdir()) == []


def test_what_a_server_writes_into_the_work_folder_stays_and_no_more_is_open(bench: Bench) -> None:
    (bench.workdir / "notes.py").write_text(NOTES)
    write, read, out = get_tools([f"mcp:{sys.executable} {{workdir}}/notes.py {{workdir}}"], bench)
    assert call(write, bench, text="ein Über-Zettel") == "written"
    assert call(read, bench) == "ein Über-Zettel"
    with pytest.raises(ToolArgumentError):
        call(out, bench)


LIBRARY = """
import json, sys

TOOLS = {
    "shelf.read": {"type": "object", "properties": {}},
    "shelf_read": {"type": "object"},
    "index": {"type": "object"},
    "count": {"type": "object"},
    "cover": {"type": "object"},
}
CONTENT = {
    "shelf.read": [
        {"type": "text", "text": "one page"},
        {"type": "resource", "resource": {"uri": "book://7/1", "text": "It was a dark night."}},
    ],
    "shelf_read": [{"type": "text", "text": "another tool"}],
    "index": [{"type": "resource_link", "uri": "book://7", "name": "seven", "description": "Up"}],
    "count": [{"type": "text", "text": "2 books"}],
    "cover": [{"type": "resource", "resource": {"uri": "book://7/c", "blob": "AAAA"}}],
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    reply = {}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        reply = {"protocolVersion": version, "capabilities": {"tools": {}},
                 "serverInfo": {"name": "library", "version": "1"}}
    elif asked["method"] == "tools/list":
        reply = {"tools": [{"name": name, "inputSchema": schema} for name, schema in TOOLS.items()]}
    elif asked["method"] == "tools/call":
        name = asked["params"]["name"]
        reply = {"content": CONTENT[name]}
        if name == "count":
            reply["structuredContent"] = {"books": [7, 9]}
    elif asked["method"] != "ping":
        error = {"code": -32601, "message": "no " + asked["method"]}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": reply}), flush=True)
"""


def test_every_tool_and_every_text_of_a_result_is_kept(bench: Bench) -> None:
    (bench.workdir / "library.py").write_text(LIBRARY)
    server = f"{sys.executable} {{workdir}}/library.py"
    tools = {tool.name: tool for tool in get_tools([f"mcp:{server}"], bench)}
    assert [*tools] == ["shelf_read", "shelf_read_2", "index", "count", "cover"]
    assert all(tool.parameters["properties"] == {} for tool in tools.values())
    assert {name: call(tool, bench) for name, tool in tools.items()} == {
        "shelf_read": "one page\n[resource book://7/1]\nIt was a dark night.",
        "shelf_read_2": "another tool",
        "index": "[link to 'seven', book://7: Up]",
        "count": '2 books\n{"books": [7, 9]}',
        "cover": "[resource book://7/c left out: it is no text]",
    }
    (named,) = get_tools([f"mcp[shelf.read]:{server}"], bench)
    assert call(named, bench).startswith("one page")


@pytest.fixture
def address(tmp_path: Path) -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "notes.py").write_text(NOTES)
    command = [sys.executable, str(tmp_path / "notes.py"), str(tmp_path), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


def test_a_server_over_http(address: str, bench: Bench) -> None:
    write, read, _ = get_tools([f"mcp:{address}"], bench)
    assert (call(write, bench, text="x"), call(read, bench)) == ("written", "x")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mcp:", "expected a command"),
        ("mcp:no-such-server", "does not answer"),
        ("mcp:true", "does not answer"),
        ("mcp:http://127.0.0.1:9/mcp", "does not answer"),
        ("mcp[dance]:mcp-server-time", "has no tool 'dance'"),
    ],
)
def test_servers_that_are_not_there(name: str, message: str, bench: Bench) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        get_tools([name], bench)


def test_two_tools_of_one_name_are_refused(bench: Bench) -> None:
    with pytest.raises(BadInput, match="two tools are named 'convert_time'"):
        get_tools([TIME, f"{TIME} "], bench)


def ask_for_the_time(body: dict[str, Any]) -> Answer:
    messages = body["messages"]
    if messages[-1]["role"] != "tool":
        assert [tool["function"]["name"] for tool in body["tools"]] == ["convert_time"]
        function = {"name": "convert_time", "arguments": json.dumps(NOON)}
        return completion("", tool_calls=[{"id": "c1", "type": "function", "function": function}])
    (clock,) = re.findall(r"T(\d\d:\d\d):00\+05:30", messages[-1]["content"])
    return completion(clock)


def test_an_agent_uses_a_server_is_recorded_and_replayed(tmp_path: Path) -> None:
    task = {"id": "t", "prompt": "Noon in Tokyo: what time in Kolkata?", "answer": "08:30"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task | {"check": "exact"}))
    (tmp_path / "suite.yaml").write_text(f"name: s\ntasks: tasks.jsonl\ntools: ['{TIME}']\n")

    def settings(**more: Any) -> EvalSettings:
        return EvalSettings(suite=str(tmp_path / "suite.yaml"), agent="graph:react", **more)

    first, again = tmp_path / "first", tmp_path / "again"
    with serve(ask_for_the_time) as served:
        url = served.url
        report, *_ = run_evaluation(settings(out=first, models=("openai/x",), base_url=url))
    assert (report.passed, len(served.bodies)) == (1, 2)
    steps = next(iter(RunReader(first).trajectories()))["steps"]
    calls = [call for step in steps for call in step.get("tool_calls") or ()]
    assert [call["function_name"] for call in calls] == ["convert_time"]
    replayed, *_ = run_evaluation(settings(out=again, models=(f"replay/{first / 'calls.sqlite'}",)))
    assert replayed.passed == 1


def test_a_suite_that_asks_the_network_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"id": "t", "prompt": "x", "answer": "y"}')
    server = "mcp:http://127.0.0.1:9/mcp"
    (tmp_path / "suite.yaml").write_text(f"name: s\ntasks: tasks.jsonl\ntools: ['{server}']\n")
    with pytest.raises(BadInput, match="over the network: name it"):
        run_evaluation(EvalSettings(suite=str(tmp_path / "suite.yaml"), models=("openai/x",)))

"""The way of the data: how many files of the package a command enters, and how many it imports.

    python -m tests.house.ways

Each command runs in a process of its own with the profiler of the standard library, one in every
thread, which knows each function that was called; code that only runs at import does not count as
entered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TRACE = """
import atexit, cProfile, os, sys, threading
profiles = []
root = os.environ["TRACED_PACKAGE"]
def begin(*_):
    profiles.append(cProfile.Profile(builtins=False))
    profiles[-1].enable()
def write():
    for profile in profiles:
        profile.disable()  # what has not returned counts, too
    codes = [row.code for profile in profiles for row in profile.getstats()]
    # Neither a function of C nor a module nor the body of a class.
    called = {code.co_filename for code in codes if getattr(code, "co_flags", 0) & 1}
    entered = sorted(name for name in called if name.startswith(root))
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    row = {"entered": entered, "imported": sum(name.startswith(root) for name in files)}
    with open(os.path.join(os.environ["TRACED_OUT"], str(os.getpid())), "w") as out:
        import json
        json.dump(row, out)
atexit.register(write)
threading.setprofile(begin)
begin()
"""
CHAT = """
import asyncio
from harness.models import open_model
async def main():
    model = open_model("simulated/lookup")
    await model.complete([{"role": "user", "content": "What is the capital of France?"}])
    await model.aclose()
asyncio.run(main())
"""
NOTE = "The pump was replaced on 4 May 2021. It cost 1,200 euros. The old pump had failed twice.\n"
ANSWER = "The pump was replaced on 4 May 2021 and cost 1,300 euros.\n"
GRAPH = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    number: int
def double(state):
    return {"number": state["number"] * 2}
builder = StateGraph(State)
builder.add_node("double", double)
builder.add_edge(START, "double")
builder.add_edge("double", END)
graph = builder.compile()
"""
WAYS: Mapping[str, tuple[str, ...]] = {
    "chat call": ("-c", CHAT),
    "compress": ("-m", "harness", "compress", "--query", "When was it replaced?",
                 "--budget", "20", "--critic", "lexical", "note.txt"),
    "check": ("-m", "harness", "check", "--answer", "answer.txt", "--documents", "note.txt"),
    "sample": ("-m", "harness", "eval", "demo", "--limit", "1", "--model", "simulated/lookup",
               "--sandbox", "none", "--out", "run"),
    "debugger step": ("-m", "harness", "debug", "flow.py:graph", "--input", '{"number": 2}'),
    "demo": ("-m", "harness", "demo", "--out", "demo"),
}  # fmt: skip


def walk(name: str) -> tuple[list[str], int]:
    """Files of the package that a way enters, and the modules of it that are imported."""
    with tempfile.TemporaryDirectory() as folder:
        work, site, out = (Path(folder) / part for part in ("work", "site", "out"))
        for path in (work, site, out):
            path.mkdir()
        (site / "sitecustomize.py").write_text(TRACE)
        (work / "note.txt").write_text(NOTE)
        (work / "answer.txt").write_text(ANSWER)
        (work / "flow.py").write_text(GRAPH)
        package = str(REPOSITORY / "harness") + os.sep
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), str(REPOSITORY)]),
            "TRACED_PACKAGE": package,
            "TRACED_OUT": str(out),
            "HARNESS_CACHE": str(Path(folder) / "cache"),  # the same way on every machine
        }
        done = subprocess.run(
            [sys.executable, *WAYS[name]],
            cwd=work, env=environment, input="s\nq\n", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 5), done.stderr[-2000:]
        rows = [json.loads(path.read_text()) for path in out.iterdir()]
    entered = {file.removeprefix(package) for row in rows for file in row["entered"]}
    return sorted(entered), max(row["imported"] for row in rows)


def main() -> None:
    """Print every way."""
    for name in WAYS:
        entered, imported = walk(name)
        print(f"{name}: enters {len(entered)} files, imports {imported} modules")
        if "-v" in sys.argv:
            print(*entered, sep="\n")


if __name__ == "__main__":
    main()
